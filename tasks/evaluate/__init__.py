"""Measure systems on dev and test: every value beside the one that chance gets."""
