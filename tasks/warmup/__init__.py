"""Train the base on the labels alone: the miner of round 1, and the control."""
