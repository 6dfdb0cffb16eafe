"""Write a first recipe for the data that was looked at."""

import json
import re
from pathlib import Path

from tasks.ingest.look import Look
from tasks.ingest.settings import Columns
from tasks.replacing import write_whole

MODELS = {  # (student, teacher), both small enough for a CPU
    "latin": ("sentence-transformers/all-MiniLM-L6-v2", "cross-encoder/ms-marco-MiniLM-L6-v2"),
    "other": (
        "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2",
        "cross-encoder/mmarco-mMiniLMv2-L12-H384-v1",
    ),
}


def write_recipe(look: Look, out: Path) -> None:
    """Write a commented TOML recipe; everything it does not name keeps its default.

    Raises:
        FileExistsError: There is a file already, which may hold somebody's changes.
    """
    if out.exists():
        raise FileExistsError(f"{out}: there is a recipe already; remove it, or write to another name")
    write_whole(out, recipe_text(look, out).encode("utf-8"))


def recipe_text(look: Look, out: Path) -> str:
    """The recipe as TOML, named after the file that it will be in."""
    student, teacher = MODELS["latin" if next(iter(look.facts["scripts"]), "Latin") == "Latin" else "other"]
    lines = [
        f"# Run it with: remine run {out}",
        f"name = {_quoted(re.sub(r'[^A-Za-z0-9._-]+', '-', out.stem))}",
        "rounds = 2",
        "",
        *_source(look),
        "",
        "[student]",
        "# A hub id, a sentence-transformers folder, or package:NAME/folder inside an installed package.",
        f"model = {_quoted(student)}",
        "",
        "[teacher]",
        "# A ready cross-encoder (hub id or folder). Without one, a teacher is trained on your train labels first.",
        f"# model = {_quoted(teacher)}",
        "# With a teacher that is not proven to know more than the labels, no round is made, unless:",
        '# gate = "warn"',
    ]
    return "\n".join(lines) + "\n"


def _source(look: Look) -> list[str]:
    source, counts = look.source, look.facts["counts"]
    splits = ", ".join(f"{split} {number:,}" for split, number in counts["queries"].items())
    lines = [f"# {counts['passages']:,} passages; queries: {splits}."]
    lines += [f"# ! {note}" for note in (*look.guesses, *look.warnings)]
    lines += ["[source]", f"path = {_quoted(source.path)}", f"kind = {_quoted(source.kind)}"]
    lines.append(f"name = {_quoted(source.corpus)}")
    if any("no dev split" in note for note in look.warnings):
        lines.append(f"dev_share = {source.dev_share}  # of the train queries, chosen by hash")
    if source.kind == "beir":
        lines.append('# qrels.train = "qrels/another.tsv"  # a label file by another name; "" leaves a split out')
    elif source.columns != Columns():
        lines += ["", "[source.columns]"]
        lines += [f"{role} = {_quoted(column)}" for role, column in source.columns.named().items()]
    return lines


def _quoted(text: str) -> str:
    """A TOML basic string; JSON's escapes are TOML's, but for DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
