"""Scoring: the teacher's raw logits of every pair, each computed once and never lost."""
