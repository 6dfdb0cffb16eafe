"""What the summary says of people's reviews."""

import polars as pl


def people_notes(people: pl.DataFrame | None) -> list[str]:
    """Say in one line how far the teacher agrees with people, in the last round that has reviewed candidates.

    Args:
        people: Rows of the view `agreement`, by round.
    """
    if people is None or people.is_empty():
        return []
    row = people.row(-1, named=True)
    precision = row["approved_precision"]
    approved = f"; of {row['approved']:,} that it approves, {precision:.0%} are relevant" if row["approved"] else ""
    return [
        f"Reviewed: of {row['reviewed']:,} candidates that people judged, the teacher agrees on {row['agree']:,} "
        f"({row['agreement']:.0%}){approved}. Rounds learn from these labels and warm doesn't, so a round's gain is "
        "partly theirs."
    ]
