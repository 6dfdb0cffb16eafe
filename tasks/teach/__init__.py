"""Train a teacher on the labels, and calibrate any teacher on dev."""
