"""Vectors as `encode` would leave them, chosen by hand."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from tasks.artifacts import Artifact, make_artifact


def write_vectors(root: Path, corpus: Artifact, vectors: Mapping[str, Sequence[float]], name: str = "x") -> Artifact:
    """Write vectors by text, row-aligned with the corpus."""

    def build(folder: Path) -> dict[str, object]:
        for kind in ("passages", "queries"):
            texts = pl.read_parquet(corpus.file(f"{kind}.parquet"))["text"]
            np.save(folder / f"{kind}.npy", np.array([vectors[text] for text in texts], dtype=np.float32))
        return {"similarity": "dot", "truncated_share": 0.0}

    content = {text: list(vector) for text, vector in vectors.items()}
    inputs = {"corpus": corpus.fingerprint, "student": name}
    return make_artifact(root, "encode", 1, {"vectors": content}, inputs, build)
