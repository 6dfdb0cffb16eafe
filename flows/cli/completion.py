"""What Tab offers in the prompt of `remine sql`."""

import re
from collections.abc import Iterable, Iterator, Sequence

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from warehouse.catalog import Relation

WORD = re.compile(r"[A-Za-z_]\w*$")
AFTER_FROM = re.compile(r"\b(from|join|describe|summarize|table|,)\s+$", re.IGNORECASE)
NAMES = re.compile(r"[A-Za-z_]\w*")


class SqlCompleter(Completer):
    """Names of the warehouse and SQL's words: relations after FROM, columns of the relations that a query names."""

    def __init__(self, relations: Sequence[Relation], keywords: Sequence[str], commands: Sequence[str]) -> None:
        self.relations = relations
        self.keywords = keywords
        self.commands = commands

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Offer what starts like the word before the cursor."""
        before = document.text_before_cursor
        if before.startswith(".") and " " not in before:
            yield from (Completion(name, -len(before)) for name in self.commands if name.startswith(before))
            return
        found = WORD.search(before)
        word = found.group() if found else ""
        offered: set[str] = set()
        for name, kind in self._names(before[: len(before) - len(word)], document.text):
            if name.lower().startswith(word.lower()) and name not in offered:
                offered.add(name)
                yield Completion(name, -len(word), display_meta=kind)

    def _names(self, before: str, text: str) -> Iterator[tuple[str, str]]:
        relations = [(relation.name, relation.kind) for relation in self.relations]
        if before.startswith(".schema ") or AFTER_FROM.search(before):
            yield from relations
            return
        yield from self._columns(text)
        if not before.endswith("."):
            yield from relations
            yield from ((word, "keyword") for word in self.keywords)

    def _columns(self, text: str) -> Iterator[tuple[str, str]]:
        """Columns of the relations that the text names; of all, where it names none yet."""
        named = {name.lower() for name in NAMES.findall(text)}
        meant = [relation for relation in self.relations if relation.name in named] or self.relations
        return ((column.name, relation.name) for relation in meant for column in relation.columns)
