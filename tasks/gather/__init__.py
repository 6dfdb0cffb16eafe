"""Gathering pairs to score from a file, by their texts or by the ids of a corpus."""
