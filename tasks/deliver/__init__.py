"""Handing scores out: the pairs as they came, each with its logit, and what the scoring cost."""
