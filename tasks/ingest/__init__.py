"""Ingest: read a source, refuse what would mislead, and write the corpus as one artifact."""
