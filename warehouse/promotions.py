"""Decisions on which student is in use: written once, never changed; the newest of a recipe holds."""

from collections.abc import Mapping
from typing import Any

from warehouse.connect import Warehouse
from warehouse.errors import WarehouseError
from warehouse.rows import first, only

COLUMNS = (
    "run_id",
    "system",
    "fingerprint",
    "path",
    "trust_remote_code",
    "evaluation",
    "made_by",
    "who",
    "why",
)


def add_promotion(wh: Warehouse, recipe: str, decision: Mapping[str, Any]) -> int:
    """Write a decision down and return its id.

    Args:
        wh: The warehouse.
        recipe: Whose users it is for.
        decision: run_id, system, fingerprint, path, trust_remote_code, evaluation, made_by, who, why.

    Raises:
        WarehouseError: There is no such run.
    """
    with wh.write("write down a promotion") as con:
        if first(con, "SELECT 1 FROM runs WHERE run_id = ?", [decision["run_id"]]) is None:
            raise WarehouseError(f"runs has no run {decision['run_id']}; the student in use would be nobody's")
        key = int(only(con, "SELECT coalesce(max(promotion_id), 0) + 1 FROM promotions")[0])
        con.execute(
            f"INSERT INTO promotions (promotion_id, recipe, {', '.join(COLUMNS)}, decided_at) "
            f"VALUES (?, ?, {', '.join('?' for _ in COLUMNS)}, now())",
            [key, recipe, *(decision[name] for name in COLUMNS)],
        )
    return key


def promotions_of(wh: Warehouse, recipe: str) -> list[dict[str, Any]]:
    """Decisions for a recipe's users, oldest first; decided_at in seconds since 1970."""
    return _rows(wh, "recipe = $value", recipe)


def promotions_from(wh: Warehouse, run_id: int) -> list[dict[str, Any]]:
    """Decisions for students of one run, oldest first; decided_at in seconds since 1970."""
    return _rows(wh, "run_id = $value", run_id)


def promoted_recipes(wh: Warehouse) -> list[str]:
    """Recipes that have a student in use, in alphabetical order."""
    with wh.read() as con:
        return [str(row[0]) for row in con.execute("SELECT DISTINCT recipe FROM promotions ORDER BY ALL").fetchall()]


def _rows(wh: Warehouse, condition: str, value: str | int) -> list[dict[str, Any]]:
    names = ("recipe", *COLUMNS, "decided_at")
    asked = (*names[:-1], "epoch(decided_at)")
    sql = f"SELECT {', '.join(asked)} FROM promotions WHERE {condition} ORDER BY promotion_id"
    with wh.read() as con:
        rows = con.execute(sql, {"value": value}).fetchall()
    return [dict(zip(names, row, strict=True)) for row in rows]
