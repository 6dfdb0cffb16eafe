"""Look at a student from within: how its vectors lie, and what its round was made of."""
