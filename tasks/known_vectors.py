"""Vectors that a student gave the same texts in an earlier state of the corpus: they need not be computed again."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasks.artifacts import Artifact

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import polars as pl


@dataclass(frozen=True)
class Encoder:
    """Who computes vectors, and how exactly: what has to agree for vectors to be exchangeable.

    Attributes:
        root: Folder of all artifacts.
        student: The student's fingerprint.
        code: Version of the step's code.
        device: Where tensors live; vectors of two devices differ by rounding.
        precision: Arithmetic; vectors in bf16 among vectors in fp32 would change near ties.
    """

    root: Path
    student: str
    code: int
    device: str
    precision: str

    def earlier(self) -> Iterator[tuple[Artifact, Artifact]]:
        """Finished vectors by this encoder with the corpora they belong to, the newest first."""
        found = []
        for path in (self.root / "encode").glob("*/artifact.json"):
            about = json.loads(path.read_text("utf-8"))
            if ".tmp-" not in path.parent.name and self._agrees(about):
                found.append((about["made_at"], path.parent, about))
        for _, folder, about in sorted(found, key=lambda each: each[0], reverse=True):
            corpus = about["inputs"]["corpus"]
            texts = Artifact(step="ingest", fingerprint=corpus, path=self.root / "ingest" / corpus[:16])
            if (texts.path / "artifact.json").exists():
                yield Artifact(step="encode", fingerprint=about["fingerprint"], path=folder), texts

    def _agrees(self, about: dict[str, Any]) -> bool:
        facts = about["facts"]
        return (about["inputs"]["student"], about["code"], facts["device"], facts["precision"]) == (
            self.student,
            self.code,
            self.device,
            self.precision,
        )


@dataclass
class Known:
    """Vectors of some texts, as far as they are there.

    Attributes:
        rows: Which texts are known, (n,).
        vectors: (n, d), undefined where a text is not known; None where none is.
        truncated: How many of the known ones are longer than the student reads: their share where they come from.
    """

    rows: "npt.NDArray[np.bool_]"
    vectors: "npt.NDArray[np.float32] | None" = None
    truncated: float = 0.0


def known_vectors(encoder: Encoder, name: str, hashes: "pl.Series") -> Known:
    """Look texts up among the vectors that are there.

    Args:
        encoder: Whose vectors.
        name: passages or queries.
        hashes: The texts, by hash.
    """
    import numpy as np
    import polars as pl

    wanted = hashes.to_numpy()
    known = Known(np.zeros(len(wanted), dtype=bool))
    for encoded, corpus in encoder.earlier():
        if known.rows.all():
            break
        theirs = pl.read_parquet(corpus.file(f"{name}.parquet"), columns=["hash"])["hash"].to_numpy()
        if not len(theirs):
            continue
        places = np.minimum(np.searchsorted(theirs, wanted), len(theirs) - 1)
        new = (theirs[places] == wanted) & ~known.rows
        rows = np.load(encoded.file(f"{name}.npy"), mmap_mode="r")
        if known.vectors is None:
            known.vectors = np.empty((len(wanted), rows.shape[1]), np.float32)
        known.vectors[new] = rows[places[new]]
        known.rows |= new
        known.truncated += int(new.sum()) * encoded.facts["truncated"][name] / len(theirs)
    return known
