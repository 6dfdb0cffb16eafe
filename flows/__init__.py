"""The reading order: flows whose bodies are calls, the recipe, and the command line."""
