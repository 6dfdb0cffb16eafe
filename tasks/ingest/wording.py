"""Numbers with their nouns, for messages."""


def counted(number: int, one: str) -> str:
    """A number with its noun: 1 query, 1,204 queries."""
    many = f"{one[:-1]}ies" if one.endswith("y") else f"{one}s"
    return f"{number:,} {one if number == 1 else many}"
