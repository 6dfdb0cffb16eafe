"""Hand the winner over: a sentence-transformers folder that gives the same vectors anywhere."""

from tasks.export.chosen import export_to

__all__ = ["export_to"]
