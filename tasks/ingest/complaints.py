"""Faults in a user's data, gathered so that one error names the first few of each kind and counts all."""

from typing import Literal

Fault = Literal[
    "malformed",
    "surrogate",
    "empty",
    "duplicate",
    "orphan",
    "grade",
    "split",
    "two splits",
    "contradiction",
    "collision",
    "unknown",
]
SHOWN = 5

HARM: dict[Fault, str] = {
    "malformed": "skipping it would lose a text or a label without a word",
    "surrogate": "half a surrogate pair has no UTF-8 form, so it can be neither hashed nor stored",
    "empty": "an empty text can be retrieved only by chance and would teach nothing",
    "duplicate": "a label could mean either of them",
    "orphan": "training on it would teach an empty text, and the measures would be too low without saying why",
    "grade": "rounding or cutting it would change what counts as relevant",
    "split": "the row would be left out of training and of every measure",
    "two splits": "what is trained on would be measured as if it were new",
    "contradiction": "whether the passage is relevant would depend on the order of the lines",
    "collision": "one of the two texts would be given the other's scores",
    "unknown": "there is no text behind it to score, so nothing was scored",
}
MANY: dict[Fault, str] = {
    "malformed": "malformed lines",
    "surrogate": "texts with lone surrogates",
    "empty": "empty texts",
    "duplicate": "repeated ids",
    "orphan": "labels of texts that do not exist",
    "grade": "grades that are not whole numbers of at most nine digits",
    "split": "unknown splits",
    "two splits": "queries in two splits",
    "contradiction": "contradicting labels",
    "collision": "hash collisions",
    "unknown": "unknown ids",
}


class CorpusError(ValueError):
    """A source cannot be ingested; the message says where and why."""


class Complaints:
    """Faults found so far, by kind, in the order of their finding."""

    def __init__(self) -> None:
        self.examples: dict[Fault, list[str]] = {}
        self.counts: dict[Fault, int] = {}

    def add(self, fault: Fault, place: str, what: str) -> None:
        """Note one fault.

        Args:
            fault: Its kind.
            place: File and line.
            what: What came and what was needed.
        """
        self.counts[fault] = self.counts.get(fault, 0) + 1
        examples = self.examples.setdefault(fault, [])
        if len(examples) < SHOWN:
            examples.append(f"{place}: {what}")

    def refuse(self) -> None:
        """Raise one `CorpusError` if anything was found."""
        if self.counts:
            raise CorpusError("\n".join(self._message(fault) for fault in self.counts))

    def _message(self, fault: Fault) -> str:
        examples, count = self.examples[fault], self.counts[fault]
        if count == 1:
            return f"{examples[0]}; {HARM[fault]}"
        lines = [f"{count:,} {MANY[fault]} ({HARM[fault]}):", *(f"  {example}" for example in examples)]
        if count > len(examples):
            lines.append(f"  and {count - len(examples):,} more")
        return "\n".join(lines)
