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
from tasks.diagnose.margins import Margins, margins_of
from tasks.diagnose.seen import Seen
from tasks.where import Where

VERSION = 4
SCHEMA = {"name": pl.String, "value": pl.Float64, "note": pl.String}


def diagnose_student(where: Where, corpus: Artifact, seen: Seen) -> Artifact:
    """Write diagnostics.parquet: `name, value, note`; among the facts are bad values as `warnings`, and `margins`.

    Args:
        where: Folder of all artifacts, and the machine that encodes probes.
        corpus: passages, queries and labels.
        seen: The student and its round.
    """

    def build(folder: Path) -> Mapping[str, Any]:
        margins = _margins(corpus, seen)
        found = [*_geometry(corpus, seen), *_round(corpus, seen), *margins.findings, *_probed(where, seen)]
        rows = [astuple(each)[:3] for each in found]
        pl.DataFrame(rows, schema=SCHEMA, orient="row").write_parquet(
            folder / "diagnostics.parquet", compression="zstd"
        )
        return {"system": seen.system, "warnings": warnings(seen.system, found), "margins": margins.histogram}

    inputs = {"corpus": corpus.fingerprint, **seen.fingerprints()}
    return make_artifact(where.artifacts_path, "diagnose", VERSION, seen.named, inputs, build)


def warnings(system: str, found: list[Finding]) -> list[str]:
    """A sentence or two for each bad value: what it is, and what its note says a bad one looks like."""
    told = []
    for each in filter(lambda finding: finding.is_bad, found):
        what, _, limit = each.note.partition(". ")
        what = what.rstrip(".")
        told.append(f"{system}, {each.name}: {each.value:.3g} ({what[0].lower()}{what[1:]}). {limit}".rstrip())
    return told


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


def _margins(corpus: Artifact, seen: Seen) -> Margins:
    """How far the student holds negatives away from positives."""
    if seen.judged is None:
        return margins_of(pl.DataFrame(schema={"query_hash": pl.Int64, "verdict": pl.String, "similarity": pl.Float32}))
    verdicts = pl.read_parquet(seen.judged.file("verdicts.parquet"), columns=[*KEYS, "verdict"])
    used = verdicts.filter(pl.col("verdict").is_in(["positive", "negative"]))
    return margins_of(used.with_columns(similarities(seen.vectors, corpus, used)))


def _probed(where: Where, seen: Seen) -> list[Finding]:
    """The similarity of the user's own pairs."""
    if not seen.probes or seen.student is None:
        return []
    from models.runtime import configure
    from models.student import Student

    runtime = configure(where.device, where.precision, where.threads)
    student = Student.load(seen.student.path, runtime, trust_remote_code=seen.student.trust_remote_code)
    queries, passages = ([pair[place] for pair in seen.probes] for place in (0, 1))
    vectors = student.encode_queries(queries).vectors, student.encode_passages(passages).vectors
    return findings.of_probes(seen.probes, np.einsum("nd,nd->n", *vectors).tolist())
