"""Making the export: model, model card, and the proof that both say the same."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from tasks.artifacts import Artifact, make_artifact
from tasks.baseline.systems import describe_student
from tasks.export.card import Card, write_card
from tasks.export.folder import sample, save_student
from tasks.identity import fingerprint
from tasks.refs import Run, StudentRef

VERSION = 3


def export_student(
    run: Run,
    corpus: Artifact,
    winner: StudentRef,
    recipe: Mapping[str, Any],
    metrics: pl.DataFrame,
    cutoff: Artifact | None = None,
) -> Artifact:
    """Write model/, a sentence-transformers folder with README.md.

    Args:
        run: The run that chose the student.
        corpus: What it was measured on; some of its texts are encoded twice for comparison.
        winner: The student.
        recipe: How it was made: settings as JSON has them.
        metrics: `system, split, measure, value, chance, queries` of every system of the run.
        cutoff: What `threshold` found for the student.

    Raises:
        ValueError: sentence-transformers, given the folder, gives other vectors than the student.
    """
    passages, queries = (pl.read_parquet(corpus.file(f"{kind}.parquet"))["text"] for kind in ("passages", "queries"))
    found, model = cutoff.facts if cutoff else {}, describe_student(winner.path)
    sentence = found.get("sentence", "")
    card = write_card(Card(winner.system, run.recipe, recipe, metrics, len(passages), model, sentence))

    def build(folder: Path) -> Mapping[str, Any]:
        worst = save_student(winner, folder / "model", sample(passages.to_list()), sample(queries.to_list()))
        (folder / "model" / "README.md").write_text(card, "utf-8")
        told = {"system": winner.system, "student": winner.fingerprint, "recipe": run.recipe}
        return {**told, "largest_difference": worst, "threshold": found.get("threshold")}

    named = {"system": winner.system, "card": fingerprint(card)}
    inputs = {"corpus": corpus.fingerprint, "student": winner.fingerprint}
    return make_artifact(run.root, "export", VERSION, named, inputs, build)
