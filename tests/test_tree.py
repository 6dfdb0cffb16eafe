"""docs/tree.md names every file, with what the file says about itself."""

import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_the_tree_in_the_docs_is_that_of_the_project() -> None:
    made = runpy.run_path(str(ROOT / "docs" / "tree.py"))["page"]()
    assert (ROOT / "docs" / "tree.md").read_text("utf-8") == made, "run: python docs/tree.py"


def test_every_file_says_what_it_is_for() -> None:
    silent = [line for line in (ROOT / "docs" / "tree.md").read_text("utf-8").splitlines() if line.endswith("`: ")]
    assert not silent
