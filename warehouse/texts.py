"""What makes a text the same text, outside the warehouse as well as in it."""

from hashlib import blake2b


def text_hash(text: str) -> int:
    """Name a text by the 64-bit BLAKE2b hash of its UTF-8 bytes, as a signed integer (DuckDB BIGINT).

    Raises:
        UnicodeEncodeError: The text holds lone surrogates, which have no UTF-8 form.
    """
    return int.from_bytes(blake2b(text.encode("utf-8"), digest_size=8).digest(), "little", signed=True)


def passage_text(title: str, text: str) -> str:
    """Join title and text as the models see them: one space between, none where either is empty."""
    return f"{title} {text}" if title and text else title or text
