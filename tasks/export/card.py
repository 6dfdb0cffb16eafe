"""The model card: what the model is, how good, how it was made, how to use it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import polars as pl

from tasks.promote.incumbent import INCUMBENT
from tasks.report.tables import leaderboard, markdown, plain

USE = """```python
from sentence_transformers import SentenceTransformer

model = SentenceTransformer("path/to/this/folder")
passages = model.encode_document(["first passage", "second passage"])
queries = model.encode_query(["what somebody asks"])
print(model.similarity(queries, passages))
```"""


@dataclass(frozen=True)
class Card:
    """What a model card is written from.

    Attributes:
        system: base, warm, warm-long, incumbent or round-N.
        name: Name of the recipe.
        recipe: The recipe's settings.
        metrics: `system, split, measure, value, queries` of every system of the run.
        passages: How many distinct passages the figures were measured on.
        model: similarity, max_length and prompts, as the folder states them.
        cutoff: From which similarity on an answer is one, in a sentence; empty where that is unknown.
    """

    system: str
    name: str
    recipe: Mapping[str, Any]
    metrics: pl.DataFrame
    passages: int
    model: Mapping[str, Any]
    cutoff: str = ""


def write_card(card: Card) -> str:
    """Write the card as Markdown with the front matter that model hubs read."""
    sections = [
        _front(),
        f"# {plain(card.name)}: {plain(card.system)}",
        _what(card),
        f"## How to use it\n\n{USE}\n\n{_serving(card.model)}",
        *([f"## When there is no answer\n\n{_cutoff(card.cutoff)}"] if card.cutoff else []),
        f"## How good it is\n\n{_measured(card)}\n\n{markdown(leaderboard(card.metrics))}",
        f"## How it was made\n\n{_made(card)}",
    ]
    return "\n\n".join(sections) + "\n"


def public(settings: Any) -> Any:
    """Settings without where they came from: a folder's path is cut to its last part."""
    if isinstance(settings, Mapping):
        return {name: public(value) for name, value in settings.items() if name != "where"}
    if isinstance(settings, list | tuple):
        return [public(value) for value in settings]
    if isinstance(settings, str) and PurePath(settings).is_absolute():
        return PurePath(settings).name
    return settings


def _front() -> str:
    fields = {
        "library_name": "sentence-transformers",
        "pipeline_tag": "sentence-similarity",
        "tags": ["sentence-transformers", "sentence-similarity", "feature-extraction", "remine"],
    }
    lines = [f"{name}: {json.dumps(value)}" for name, value in fields.items()]
    return "\n".join(["---", *lines, "---"])


def _what(card: Card) -> str:
    distilled = card.metrics["system"].str.starts_with("round-").any()
    others = "no distilled student was better on dev" if distilled else "no student was distilled"
    labels = f"trained on labelled pairs with in-batch negatives; {others}"
    how = {
        "base": "the student as it came: nothing that was trained was better on dev",
        "warm": labels,
        "warm-long": labels,
        INCUMBENT: "the student that was in use before this refresh: no retrained one was proven better on dev",
    }.get(card.system, "trained to give passages the order that a cross-encoder gives them")
    return f"A bi-encoder for retrieval, {how}."


def _serving(model: Mapping[str, Any]) -> str:
    prompts = {name: text for name, text in model["prompts"].items() if text}
    listed = ", ".join(f"{name} {json.dumps(text, ensure_ascii=False)}" for name, text in sorted(prompts.items()))
    written = f"Prompts: {plain(listed)}; the methods above put them in front." if listed else "It uses no prompts."
    cut = f"after {model['max_length']} tokens" if model["max_length"] else "where the tokenizer says"
    return (
        f"Similarity: {model['similarity']}. Texts are cut {cut}. {written}\n\n"
        "Vectors of this model and of the one it started from lie in different spaces: encode every passage again, "
        "and never search the vectors of one with the queries of the other."
    )


def _cutoff(sentence: str) -> str:
    return (
        f"{sentence[0].upper()}{plain(sentence[1:])}. Another student has another cut-off, also one that was trained "
        "from this one: it is found again for each."
    )


def _measured(card: Card) -> str:
    counts = dict(card.metrics.group_by("split").agg(pl.col("queries").max()).iter_rows())
    on = " and ".join(f"{counts[split]} {split} queries" for split in ("test", "dev") if split in counts)
    return (
        f"This model is the row `{card.system}`. Measured on {on} over {card.passages} passages; `chance` is a random "
        "order, `warm` is trained on the labels alone, `teacher` re-orders what a student found. Dev chose the model; "
        "other data can give other figures."
    )


def _made(card: Card) -> str:
    settings = json.dumps(public(card.recipe), indent=1, ensure_ascii=False, sort_keys=True)
    # A fence longer than any run of backticks inside keeps the settings text.
    fence = "`" * max(3, _longest_run(settings) + 1)
    return f"With remine, by these settings:\n\n{fence}json\n{settings}\n{fence}"


def _longest_run(text: str) -> int:
    longest = run = 0
    for character in text:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    return longest
