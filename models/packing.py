"""Several short texts in one row while a transformer learns, so that no work goes into padding.

Texts of a training batch have mixed lengths. Padded to the longest of even small chunks, half of all positions were
padding on short passages, and more chunks cost more than they saved: every chunk's backward writes every weight's
gradient again. So a chunk's texts are laid end to end into rows between the embeddings and the pooling, where nearly
all work is done, and each sees itself alone (the idea of arXiv 2107.02027).
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

SHORTEST_ROW = 64  # tokens; longer rows cost attention, shorter ones leave gaps
MULTIPLE = 8
CLOSE = 1e-3  # largest difference of vectors in float32 at which two ways compute the same


class Layout(NamedTuple):
    """Where N padded texts (N, T) lie in R rows of W places.

    Attributes:
        take: Padded position of each place, (R * W,); empty places take some position.
        back: Place of each padded position, (N, T); padding takes some place.
        apart: True where two places of a row belong to different texts, (R, 1, W, W).
    """

    take: Tensor
    back: Tensor
    apart: Tensor


_layout: ContextVar[Layout | None] = ContextVar("layout", default=None)


def lay_out(lengths: Sequence[int], width: int, device: str) -> Layout:
    """Fill rows with texts, the longest first, each into the fullest row that has room.

    Args:
        lengths: Tokens of each text.
        width: T, of the padded texts.
        device: Where the layout is used.
    """
    row_width = max(SHORTEST_ROW, -(-max(lengths) // MULTIPLE) * MULTIPLE)
    room: list[int] = []
    rows, starts = np.zeros(len(lengths), np.int64), np.zeros(len(lengths), np.int64)
    for text in np.argsort(-np.asarray(lengths), kind="stable").tolist():
        length = lengths[text]
        fits = [row for row, free in enumerate(room) if free >= length]
        row = min(fits, key=lambda row: room[row]) if fits else len(room)
        if not fits:
            room.append(row_width)
        rows[text], starts[text] = row, row_width - room[row]
        room[row] -= length
    owner = np.full((len(room), row_width), -1, np.int64)
    take = np.zeros((len(room), row_width), np.int64)
    back = np.zeros((len(lengths), width), np.int64)
    for text, length in enumerate(lengths):
        row, own = rows[text], np.arange(length)
        places = starts[text] + own
        owner[row, places] = text
        take[row, places] = text * width + own
        back[text, own] = row * row_width + places
    apart = (owner[:, None, :, None] != owner[:, None, None, :]).astype(bool)
    return Layout(*(torch.from_numpy(part).to(device) for part in (take.reshape(-1), back, apart)))


@contextmanager
def laid_out(layout: Layout | None) -> Iterator[None]:
    """Let prepared encoders that run inside of this block work on rows; None leaves them as they are."""
    token = _layout.set(layout)
    try:
        yield
    finally:
        _layout.reset(token)


def prepare(transformer: nn.Module) -> bool:
    """Make the encoder of a transformers model work on rows where there is a layout; False where it has none."""
    base = getattr(transformer, getattr(transformer, "base_model_prefix", "") or "", transformer)
    encoder = getattr(base, "encoder", None)
    if not isinstance(encoder, nn.Module):
        return False
    if _into_rows not in encoder._forward_pre_hooks.values():
        encoder.register_forward_pre_hook(_into_rows, with_kwargs=True)
        encoder.register_forward_hook(_out_of_rows)
    return True


def packed_chunks(lengths: Sequence[int], tokens: int) -> list[list[int]]:
    """Cut texts, the longest first, into the fewest chunks of about equal and at most `tokens` tokens.

    Args:
        lengths: Tokens of each text.
        tokens: The budget; a text longer than it gets a chunk of its own.

    Returns:
        Positions in `lengths`; every position exactly once.

    Raises:
        ValueError: The budget is below 1.
    """
    if tokens < 1:
        raise ValueError(f"a chunk needs room for one token, got tokens={tokens}")
    sizes = np.asarray(lengths, dtype=np.int64)
    even = -(-int(sizes.sum()) // max(1, -(-int(sizes.sum()) // tokens)))
    chunks: list[list[int]] = []
    used = 0
    for text in np.argsort(-sizes, kind="stable"):
        if not chunks or used + sizes[text] > max(even, int(sizes[chunks[-1][0]])):
            chunks.append([])
            used = 0
        chunks[-1].append(int(text))
        used += int(sizes[text])
    return chunks


def same(one: NDArray[np.float32], other: NDArray[np.float32]) -> bool:
    """Whether two ways gave the same numbers."""
    return one.shape == other.shape and bool(np.isfinite(other).all()) and float(np.abs(one - other).max()) < CLOSE


def _into_rows(encoder: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    layout = _layout.get()
    if layout is None:
        return None
    hidden = args[0] if args else kwargs["hidden_states"]
    rows, width = layout.apart.shape[0], layout.apart.shape[-1]
    packed = hidden.reshape(-1, hidden.shape[-1]).index_select(0, layout.take).view(rows, width, -1)
    mask = torch.zeros(layout.apart.shape, dtype=packed.dtype, device=packed.device)
    mask.masked_fill_(layout.apart, torch.finfo(packed.dtype).min)
    others = {name: value for name, value in kwargs.items() if name not in ("hidden_states", "attention_mask")}
    return (packed,), {**others, "attention_mask": mask}


def _out_of_rows(encoder: nn.Module, args: tuple[Any, ...], output: Any) -> Any:
    layout = _layout.get()
    if layout is None:
        return None
    rows = output[0]
    texts = rows.reshape(-1, rows.shape[-1]).index_select(0, layout.back.view(-1)).view(*layout.back.shape, -1)
    output["last_hidden_state"] = texts
    return output
