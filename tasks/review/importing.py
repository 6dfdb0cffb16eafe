"""Making labels of people's answers."""

import re
from pathlib import Path

from tasks.record import warehouse_of
from tasks.review.beside import check_beside
from tasks.review.table import read_table
from tasks.where import Where
from warehouse.reviews import SOURCE, Reviewed, corpora, load_reviews, named_texts

REVIEWER = re.compile(r"[\w.@ -]{1,60}")


def import_answers(where: Where, path: Path, reviewer: str = "") -> Reviewed:
    """Make labels of the filled rows of a table, all or none.

    Args:
        where: The home folder.
        path: The table.
        reviewer: Whose answers they are; labels of several reviewers stand side by side.

    Raises:
        ValueError: Nothing is filled, rows cannot be read, ids or texts are not those of their row's pair, or the
            reviewer's name has signs that a source cannot.
        WarehouseError: Rows do not fit the warehouse; nothing was changed.
    """
    if reviewer and not REVIEWER.fullmatch(reviewer):
        raise ValueError(f"--reviewer {reviewer!r}: needed letters, digits, spaces, and . _ @ - at most 60 of them")
    warehouse = warehouse_of(where)
    known = corpora(warehouse)
    answers = read_table(path, known[0] if len(known) == 1 else "")
    if not answers.height:
        raise ValueError(f"{path}: no row has an answer in the column relevant; nothing was imported")
    for row, name in answers.select("row", "corpus").iter_rows():
        if name not in known:
            raise ValueError(
                f"{path}: row {row} names corpus {name!r}; the warehouse has {', '.join(map(repr, known))}"
            )
    check_beside(path, answers, named_texts(warehouse, answers))
    return load_reviews(warehouse, f"{SOURCE}:{reviewer}" if reviewer else SOURCE, answers)
