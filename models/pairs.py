"""Query and passage as one input of a cross-encoder: each text is tokenised once, pairs are put together from ids."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int32]
Pair = tuple[str, str]
SAMPLE = 32


FILLERS = ("0", "1 2 3 4")  # two passages of which a whole input has different tokens, whatever is around them


class PairTokens(NamedTuple):
    """One model input, special tokens included, padding not: token ids and segment ids of equal length."""

    ids: Ids
    types: Ids


Read = Callable[[Sequence[Pair]], list[PairTokens]]


@dataclass(frozen=True)
class Template:
    """What a tokenizer puts around two texts: special tokens with their segment ids, and the texts' segment ids."""

    before: PairTokens
    between: PairTokens
    after: PairTokens
    first: int
    second: int

    @property
    def special(self) -> int:
        """Special tokens in a pair."""
        return len(self.before.ids) + len(self.between.ids) + len(self.after.ids)

    def join(self, query: Ids, passage: Ids) -> PairTokens:
        """Put two token lists together."""
        ids = (self.before.ids, query, self.between.ids, passage, self.after.ids)
        types = (
            self.before.types,
            np.full(len(query), self.first, dtype=np.int32),
            self.between.types,
            np.full(len(passage), self.second, dtype=np.int32),
            self.after.types,
        )
        return PairTokens(np.concatenate(ids), np.concatenate(types))


class Prepared:
    """Pairs whose texts are tokenised: lengths are known, inputs are put together when asked for.

    Attributes:
        lengths: (N,) int32, tokens of each input after cutting, special tokens included.
        truncated: (N,) bool, True where the passage had to be cut.
    """

    def __init__(self, lengths: Ids, truncated: NDArray[np.bool_], rows: "_Joined | list[PairTokens]") -> None:
        self.lengths = lengths
        self.truncated = truncated
        self._rows = rows

    def inputs(self, numbers: Sequence[int]) -> list[PairTokens]:
        """Give the inputs at these positions."""
        return [self._rows[number] for number in numbers]


class PairTokenizer:
    """Makes a cross-encoder's inputs; only ever cuts the passage.

    Args:
        tokenizer: A fast tokenizer.
        max_length: Tokens in an input, special tokens included.
        prompt: Put before every query.
        read: Gives pairs their whole inputs where the model reads more than two texts that its tokenizer joins, such
            as messages in a chat template; None: the tokenizer joins them.
    """

    def __init__(self, tokenizer: Any, max_length: int, prompt: str = "", read: Read | None = None) -> None:
        self.tokenizer = tokenizer
        self.max_length = max_length
        self.prompt = prompt
        self.read = read or self._whole
        self.template = _template(tokenizer) if read is None else None

    def prepare(self, pairs: Sequence[Pair]) -> Prepared:
        """Tokenise every distinct text once, or pair by pair where that gives other tokens.

        Whether joining ids equals the tokenizer's own encoding of a pair is checked on a sample of
        these very pairs.

        Raises:
            ValueError: A query alone fills the input; cutting it would score another question.
        """
        pairs = [(self.prompt + query, passage) for query, passage in pairs] if self.prompt else pairs
        if self.template is not None:
            joined = self._joined(pairs, self.template)
            step = max(1, len(pairs) // SAMPLE)
            sample = list(range(0, len(pairs), step))
            own = self._encode([pairs[number] for number in sample])
            if all(_same(joined.inputs([number])[0], row) for number, row in zip(sample, own, strict=True)):
                return joined
        return self._one_by_one(pairs)

    def _joined(self, pairs: Sequence[Pair], template: Template) -> Prepared:
        numbers: dict[str, int] = {}
        index = np.array(
            [[numbers.setdefault(text, len(numbers)) for text in pair] for pair in pairs], dtype=np.int64
        ).reshape(len(pairs), 2)
        texts = list(numbers)
        tokens = [np.asarray(row, dtype=np.int32) for row in self._ids(texts)]
        lengths = np.fromiter((len(row) for row in tokens), dtype=np.int32, count=len(tokens))
        queries, passages = lengths[index[:, 0]], lengths[index[:, 1]]
        room = self.max_length - template.special - queries
        self._refuse_long_queries(pairs, queries + template.special, (room < np.minimum(passages, 1)))
        kept = np.minimum(passages, room)
        total = (queries + kept + template.special).astype(np.int32)
        return Prepared(total, passages > kept, _Joined(index, tokens, kept, template))

    def _one_by_one(self, pairs: Sequence[Pair]) -> Prepared:
        rows = self.read(pairs)
        full = np.array([len(row.ids) for row in rows], dtype=np.int32)
        long = np.flatnonzero(full > self.max_length).tolist()
        queries = list(dict.fromkeys(pairs[number][0] for number in long))
        around = dict(zip(queries, self._around(queries), strict=True))
        fixed = np.zeros(len(pairs), dtype=np.int32)
        for number in long:
            head, tail = around[pairs[number][0]]
            fixed[number] = head + len(tail.ids)
            rows[number] = _cut(rows[number], tail, self.max_length)
        self._refuse_long_queries(pairs, fixed, fixed >= self.max_length)
        return Prepared(np.minimum(full, self.max_length), full > self.max_length, rows)

    def _around(self, queries: Sequence[str]) -> list[tuple[int, PairTokens]]:
        """Find what stands around the passage of each query: tokens before it, and all that follows it.

        Two inputs that differ in the passage alone have it in common. What follows is what a language model's
        answer hangs on, so it may be cut as little as the query.
        """
        some = [self.read([(query, filler) for query in queries]) for filler in FILLERS]
        found = []
        for one, other in zip(*some, strict=True):
            head = _common(one.ids, other.ids)
            most = min(len(one.ids), len(other.ids)) - head
            tail = min(_common(one.ids[::-1], other.ids[::-1]), most)
            start = len(one.ids) - tail
            found.append((head, PairTokens(one.ids[start:], one.types[start:])))
        return found

    def _whole(self, pairs: Sequence[Pair]) -> list[PairTokens]:
        return self._encode(pairs, cut=False)

    def _refuse_long_queries(self, pairs: Sequence[Pair], lengths: Ids, broken: NDArray[np.bool_]) -> None:
        if broken.any():
            number = int(broken.argmax())
            raise ValueError(
                f"the query {_short(pairs[number][0])} takes {int(lengths[number])} tokens with what is put around it, "
                f"and the teacher reads {self.max_length} in all: no room is left for the passage, and cutting the "
                "query would score another question; shorten it or raise the teacher's max_length"
            )

    def _ids(self, texts: list[str]) -> list[list[int]]:
        if not texts:
            return []
        made = self.tokenizer(
            texts,
            add_special_tokens=False,
            padding=False,
            truncation=False,
            return_attention_mask=False,
            return_token_type_ids=False,
            verbose=False,
        )
        return made["input_ids"]  # type: ignore[no-any-return]

    def _encode(self, pairs: Sequence[Pair], cut: bool = True) -> list[PairTokens]:
        """Encode pairs as the tokenizer itself does."""
        if not pairs:
            return []
        limit = {"truncation": "only_second", "max_length": self.max_length} if cut else {"truncation": False}
        made = self.tokenizer(
            [query for query, _ in pairs],
            [passage for _, passage in pairs],
            padding=False,
            return_attention_mask=False,
            return_token_type_ids=True,
            verbose=False,
            **limit,
        )
        return [
            PairTokens(np.asarray(ids, dtype=np.int32), np.asarray(types, dtype=np.int32))
            for ids, types in zip(made["input_ids"], made["token_type_ids"], strict=True)
        ]


@dataclass(frozen=True)
class _Joined:
    """Inputs that are put together on demand, so that only distinct texts are held."""

    index: NDArray[np.int64]
    tokens: list[Ids]
    kept: Ids
    template: Template

    def __getitem__(self, number: int) -> PairTokens:
        query, passage = self.index[number]
        return self.template.join(self.tokens[query], self.tokens[passage][: self.kept[number]])


def _template(tokenizer: Any) -> Template | None:
    """Read off one encoded pair what the tokenizer puts around texts; None where that cannot be told."""
    made = tokenizer(["a"], ["b"], return_token_type_ids=True)
    encodings = getattr(made, "encodings", None)
    if not encodings:
        return None
    sources = encodings[0].sequence_ids
    ids = np.asarray(made["input_ids"][0], dtype=np.int32)
    types = np.asarray(made["token_type_ids"][0], dtype=np.int32)
    first = [place for place, source in enumerate(sources) if source == 0]
    second = [place for place, source in enumerate(sources) if source == 1]
    if not first or not second or first[-1] > second[0]:
        return None
    cuts = [(0, first[0]), (first[-1] + 1, second[0]), (second[-1] + 1, len(ids))]
    around = [PairTokens(ids[start:stop], types[start:stop]) for start, stop in cuts]
    return Template(around[0], around[1], around[2], int(types[first[0]]), int(types[second[0]]))


def _cut(row: PairTokens, tail: PairTokens, length: int) -> PairTokens:
    """Shorten an input to a length by cutting the end of its passage, which is what stands before the tail."""
    kept = max(length - len(tail.ids), 0)
    return PairTokens(
        np.concatenate([row.ids[:kept], tail.ids])[:length], np.concatenate([row.types[:kept], tail.types])[:length]
    )


def _common(one: Ids, other: Ids) -> int:
    """Tokens that two lists begin with alike."""
    length = min(len(one), len(other))
    differ = np.flatnonzero(one[:length] != other[:length])
    return int(differ[0]) if differ.size else length


def _same(one: PairTokens, other: PairTokens) -> bool:
    return np.array_equal(one.ids, other.ids) and np.array_equal(one.types, other.types)


def _short(text: str, most: int = 80) -> str:
    return repr(text if len(text) <= most else text[: most - 1] + "…")
