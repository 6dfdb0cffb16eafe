"""Write docs/sql.md: what stands above its marker, the reference that the schema tells, and the cookbook.

python docs/write.py                 # after a change of schema, views, comments or questions
python docs/write.py --record HOME   # also ask the questions again, in the warehouse of that folder
"""

import argparse
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from flows.cli.tables import names_and_rows
from flows.cli.terminal import drawn
from warehouse.catalog import Relation, catalog
from warehouse.connect import Warehouse
from warehouse.queries import select_arrow

HERE = Path(__file__).parent
PAGE = HERE / "sql.md"
COOKBOOK = HERE / "cookbook"
MARKER = "<!-- Below this line docs/write.py writes. -->\n"
KINDS = {"view": "Views: ask these", "macro": "Macros: views with arguments", "table": "Tables: what views stand on"}


@dataclass(frozen=True)
class Recipe:
    """A question of the cookbook.

    Attributes:
        name: Name of its files.
        title: The question.
        note: What helps to read the answer; may be empty.
        sql: The query, without the lines of title and note.
    """

    name: str
    title: str
    note: str
    sql: str

    @property
    def answer(self) -> Path:
        """The file of its recorded answer."""
        return COOKBOOK / f"{self.name}.txt"


def recipes() -> list[Recipe]:
    """All questions, in order: a file each, whose first comment is the question and whose second is a note."""
    found = []
    for file in sorted(COOKBOOK.glob("*.sql")):
        lines = file.read_text("utf-8").splitlines()
        said = [line.removeprefix("-- ") for line in lines if line.startswith("-- ")]
        sql = "\n".join(line for line in lines if not line.startswith("-- "))
        found.append(Recipe(file.stem, said[0], " ".join(said[1:]), sql.strip()))
    return found


def record(home: Path) -> None:
    """Ask every question and keep the answers."""
    warehouse = Warehouse(home / "warehouse.duckdb")
    for recipe in recipes():
        found = select_arrow(warehouse, recipe.sql)
        text = drawn(*names_and_rows(found)) if found.num_rows else "(no rows)\n"
        recipe.answer.write_text(text, "utf-8")


def page() -> str:
    """The whole page as it should stand."""
    above = PAGE.read_text("utf-8").split(MARKER)[0]
    return above + MARKER + "\n" + "\n".join([*cookbook(), *reference()])


def cookbook() -> Iterator[str]:
    """Questions, queries and recorded answers."""
    yield "## Cookbook\n"
    yield "Each query is a file in `docs/cookbook/`: `remine sql --file docs/cookbook/01_standing.sql`.\n"
    yield (
        "The answers are those of the sample after three runs: its recipe; that with a teacher of ten steps a fold,\n"
        "stopped during its first round; and its recipe again, for which nothing was left to compute. The last\n"
        "question was asked after a later run of the recipe, a choice by hand and its being taken back.\n"
    )
    for recipe in recipes():
        yield f"### {recipe.title}\n"
        if recipe.note:
            yield f"{recipe.note}\n"
        yield f"```sql\n{recipe.sql}\n```\n"
        # Four backticks: a passage may hold three.
        yield f"````text\n{recipe.answer.read_text('utf-8')}````\n"


def reference() -> Iterator[str]:
    """Every view, macro and table with its columns."""
    with tempfile.TemporaryDirectory() as folder:
        warehouse = Warehouse(Path(folder) / "warehouse.duckdb")
        with warehouse.write():
            pass
        relations = catalog(warehouse)
    yield "## Reference\n"
    for kind, title in KINDS.items():
        yield f"### {title}\n"
        for relation in relations:
            if relation.kind == kind:
                yield described(relation)


def described(relation: Relation) -> str:
    """One relation: its meaning and a table of its columns."""
    lines = [f"#### {relation.heading}\n", f"{escaped(relation.meaning)}\n"]
    if relation.kind == "macro":
        lines += ["| column | type |", "| --- | --- |"]
        lines += [f"| {column.name} | {column.type} |" for column in relation.columns]
    else:
        lines += ["| column | type | meaning |", "| --- | --- | --- |"]
        lines += [f"| {column.name} | {column.type} | {escaped(column.meaning)} |" for column in relation.columns]
    return "\n".join([*lines, ""])


def escaped(text: str) -> str:
    """Keep Markdown from reading a comment as anything but words."""
    for letter in "\\|*_<`":
        text = text.replace(letter, f"\\{letter}")
    return text


def main() -> None:
    """Record where that is asked for, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", type=Path, metavar="HOME", help="folder with a warehouse.duckdb")
    options = parser.parse_args()
    if options.record:
        record(options.record)
    PAGE.write_text(page(), "utf-8")


if __name__ == "__main__":
    main()
