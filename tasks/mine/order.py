"""One number that orders finds: by score descending, then by row; sorting it sorts them."""

import numpy as np
import numpy.typing as npt

from tasks.mine.mapped import Rows, Scores

Keys = npt.NDArray[np.uint64]

NOTHING = np.uint64(0xFFFF_FFFF_FFFF_FFFF)  # sorts behind every find
SIGN = np.uint32(0x8000_0000)


def keys_of(scores: Scores, rows: Rows) -> Keys:
    """Keys of finds, any shape; the smallest key is the best find.

    The upper half is the score's bits, turned so that they ascend where the score descends; the lower half the row.

    Args:
        scores: Finite or -inf, float32.
        rows: At least -1 (nothing was found; behind every other row of the same score), below 2**31.
    """
    bits = (np.ascontiguousarray(scores, np.float32) + np.float32(0)).view(np.uint32)  # + 0: -0.0 ties with 0.0
    turned = np.where(bits & SIGN, bits, ~bits & ~SIGN)
    keys: Keys = (turned.astype(np.uint64) << np.uint64(32)) | rows.astype(np.uint32)
    return keys


def finds_of(keys: Keys) -> tuple[Scores, Rows]:
    """Scores and rows of keys, in the keys' shape."""
    turned = (keys >> np.uint64(32)).astype(np.uint32)
    bits = np.where(turned & SIGN, turned, ~turned & ~SIGN)
    return bits.view(np.float32), keys.astype(np.uint32).view(np.int32).astype(np.int64)


def ordered(scores: Scores, rows: Rows, k: int) -> tuple[Scores, Rows]:
    """Sort each query's finds by (score descending, row) and keep k: (q, n) → (q, k)."""
    return finds_of(np.sort(keys_of(scores, rows), axis=1)[:, :k])
