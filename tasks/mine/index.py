"""Approximate search by FAISS, and how much of the exact lists it finds."""

import math
from typing import Any

import numpy as np
import torch

from tasks.mine.mapped import Rows, Scores, let_go, read_block
from tasks.mine.order import ordered
from tasks.mine.search import PASSAGE_BLOCK, check_finite, check_shapes, top_k
from tasks.mine.settings import Index

PER_CLUSTER = (39, 256)  # passages of a cluster that k-means needs (FAISS warns below) and reads at most


class ApproximateIndex:
    """A FAISS index over passage vectors; it holds all of them in memory."""

    def __init__(self, passages: Scores, settings: Index) -> None:
        """Build it, block by block.

        Args:
            passages: Vectors, (P, d), float32.
            settings: Kind and parameters.

        Raises:
            ValueError: There are fewer passages than the clusters need, or a vector isn't finite.
        """
        import faiss

        self.settings, self.size = settings, len(passages)
        # Threads that link passages at the same time make another graph every time.
        faiss.omp_set_num_threads(1 if settings.kind == "hnsw" else torch.get_num_threads())
        self.index: Any = self._hnsw(passages) if settings.kind == "hnsw" else self._ivf(passages)
        for first in range(0, self.size, PASSAGE_BLOCK):
            block = read_block(passages, first, first + PASSAGE_BLOCK)
            check_finite("passage", block, first)
            self.index.add(block)

    def ask(self, queries: Scores, k: int) -> tuple[Scores, Rows]:
        """Search: scores and passage rows, both (Q, min(k, P)), best first; row -1 where nothing more was found."""
        import faiss

        wanted = min(k, self.size)
        check_finite("query", queries, 0)
        faiss.omp_set_num_threads(torch.get_num_threads())
        if self.settings.kind == "hnsw":
            self.index.hnsw.efSearch = max(self.settings.looking, wanted)
        scores, rows = self.index.search(np.ascontiguousarray(queries, np.float32), wanted)
        return ordered(np.where(rows < 0, np.float32(-np.inf), scores), rows, wanted)

    def _ivf(self, passages: Scores) -> Any:
        import faiss

        clusters = self.settings.clusters or max(1, min(int(4 * math.sqrt(self.size)), self.size // PER_CLUSTER[0]))
        if self.size < PER_CLUSTER[0] * clusters:
            raise ValueError(
                f"{self.size} passages are too few for {clusters} clusters ({PER_CLUSTER[0]} a cluster are needed); "
                "set fewer, or search exactly"
            )
        check_shapes(passages[:1], passages, 1)
        width = passages.shape[1]
        index = faiss.IndexIVFFlat(faiss.IndexFlatIP(width), width, clusters, faiss.METRIC_INNER_PRODUCT)
        index.nprobe = min(self.settings.probes, clusters)
        step = max(1, self.size // (PER_CLUSTER[1] * clusters))
        sample = np.ascontiguousarray(passages[::step], np.float32)
        let_go(passages)
        check_finite("passage", sample, 0)
        index.train(sample)
        return index

    def _hnsw(self, passages: Scores) -> Any:
        import faiss

        check_shapes(passages[:1], passages, 1)
        index = faiss.IndexHNSWFlat(passages.shape[1], self.settings.links, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = self.settings.building
        return index


def recall(index: ApproximateIndex, queries: Scores, passages: Scores, k: int) -> float:
    """The share of the exact first k that the index finds, over a sample of the queries, evenly spaced.

    Args:
        index: What is measured.
        queries: Vectors of the queries that are mined for, (Q, d).
        passages: Vectors, (P, d).
        k: How deep the lists are.
    """
    places = np.unique(np.linspace(0, len(queries) - 1, min(index.settings.sample, len(queries))).astype(np.int64))
    asked = queries[places]
    _, exact = top_k(asked, passages, k)
    _, found = index.ask(asked, k)
    return float(np.mean([np.isin(right, mine).mean() for right, mine in zip(exact, found, strict=True)]))
