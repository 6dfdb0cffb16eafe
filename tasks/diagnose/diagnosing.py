"""Diagnosing a student: figures with sentences, as rows of the table `diagnostics`."""

from collections.abc import Mapping
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tasks.artifacts import Artifact, make_artifact
from tasks.denoise.blend import similarities
from tasks.diagnose import findings
from tasks.diagnose.findings import KEYS, Finding
from tasks.diagnose.geometry import geometry
from tasks.diagnose.seen import Seen

VERSION = 2
SCHEMA = {"name": pl.String, "value": pl.Float64, "note": pl.String}


def diagnose_student(root: Path, corpus: Artifact, seen: Seen) -> Artifact:
    """Write diagnostics.parquet: `name, value, note`; bad values are among the facts as `warnings`.

    Args:
        root: Folder of all artifacts.
        corpus: passages, queries and labels.
        seen: The student and its round.
    """

    def build(folder: Path) -> Mapping[str, Any]:
        found = [*_geometry(corpus, seen), *_round(corpus, seen)]
        rows = [astuple(each)[:3] for each in found]
        pl.DataFrame(rows, schema=SCHEMA, orient="row").write_parquet(
            folder / "diagnostics.parquet", compression="zstd"
        )
        return {"system": seen.system, "warnings": warnings(seen.system, found)}

    inputs = {"corpus": corpus.fingerprint, **seen.fingerprints()}
    return make_artifact(root, "diagnose", VERSION, {"system": seen.system}, inputs, build)


def warnings(system: str, found: list[Finding]) -> list[str]:
    """A sentence for each bad value."""
    return [f"{system}: {each.name} is {each.value:.3g}. {each.note}" for each in found if each.is_bad]


def _geometry(corpus: Artifact, seen: Seen) -> list[Finding]:
    """Figures of the vectors, by the labels of dev, else of any split."""
    passages, queries = (np.load(seen.vectors.file(f"{name}.npy"), mmap_mode="r") for name in ("passages", "queries"))
    labels = pl.read_parquet(corpus.file("labels.parquet")).filter(pl.col("grade") > 0)
    dev = labels.filter(pl.col("split") == "dev")
    chosen = dev if dev.height else labels
    if len(passages) < 2 or not chosen.height:
        return []
    rows = [
        np.searchsorted(pl.read_parquet(corpus.file(f"{name}.parquet"), columns=["hash"])["hash"].to_numpy(), hashes)
        for name, hashes in (
            ("queries", chosen["query_hash"].to_numpy()),
            ("passages", chosen["passage_hash"].to_numpy()),
        )
    ]
    return findings.of_geometry(geometry(passages, queries, np.stack(rows, axis=1)))


def _round(corpus: Artifact, seen: Seen) -> list[Finding]:
    if seen.mined is None or seen.scored is None or seen.judged is None:
        return []
    candidates = pl.read_parquet(seen.mined.file("candidates.parquet"), columns=KEYS)
    logits = pl.read_parquet(seen.scored.file("scores.parquet"), columns=[*KEYS, "logit"])
    pairs = candidates.join(logits, on=KEYS, how="inner")
    verdicts = pl.read_parquet(seen.judged.file("verdicts.parquet"), columns=[*KEYS, "verdict"])
    found = [findings.of_agreement(pairs.with_columns(similarities(seen.vectors, corpus, pairs)))]
    if seen.before is not None:
        found.append(findings.of_overlap(verdicts, pl.read_parquet(seen.before.file("verdicts.parquet"))))
    facts = (seen.mined.facts, seen.scored.facts, seen.vectors.facts)
    return [*found, *findings.of_verdicts(verdicts), *findings.of_facts(*facts)]
