"""Refresh: what is in use, where it came from, and what has changed in the data since."""
