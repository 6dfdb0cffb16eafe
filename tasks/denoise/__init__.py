"""Denoising: a verdict and a reason for every mined candidate."""
