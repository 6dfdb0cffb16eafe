"""Mining: the passages that the student ranks high for a train query and nobody has labelled."""
