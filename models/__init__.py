"""Tensors in, tensors out: students, teachers, objectives, batching and the training loop."""
