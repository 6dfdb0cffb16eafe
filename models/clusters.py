"""Queries by topic, so that a batch can be drawn from one (TAS-B, Hofstätter et al. 2021, arXiv 2104.06967)."""

import numpy as np
from numpy.typing import NDArray

ITERATIONS = 20


def query_clusters(vectors: NDArray[np.float32], count: int, seed: int) -> NDArray[np.int64]:
    """Sort queries into clusters of near vectors by k-means.

    Args:
        vectors: One per query, (L, d).
        count: Clusters; TAS-B took 2,000 for 400,000 queries.
        seed: Where the centres start.

    Returns:
        The cluster of each, (L,); the same on every run, because one thread adds up.

    Raises:
        ValueError: There are more clusters than queries.
    """
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    if count > len(vectors):
        raise ValueError(
            f"training.clusters is {count} and there are {len(vectors)} queries to train on; a cluster needs a query, "
            "and one of a batch's size or more makes batches of one topic"
        )
    with threadpool_limits(1):
        means = KMeans(count, n_init=1, max_iter=ITERATIONS, random_state=seed).fit(vectors)
    return np.asarray(means.labels_, dtype=np.int64)
