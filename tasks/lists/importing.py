"""Teacher scores made elsewhere, into the store: new pairs go in, scores that are there stay."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import polars as pl

from tasks.identity import fingerprint
from tasks.lists.reading import BY_ID, read_scores
from tasks.record import warehouse_of
from tasks.refs import Run, TeacherRef
from tasks.run import opened_run
from tasks.score.shards import COLUMNS, Shards, write_shard
from tasks.settings import Settings
from tasks.where import Where
from warehouse.connect import Warehouse
from warehouse.list_rows import add_texts, compared, id_hashes, teachers, unknown_texts
from warehouse.load import load_scores
from warehouse.reviews import corpora
from warehouse.texts import text_hash

KINDS = ("query", "passage")
KIND_NAMES = {"query": "queries", "passage": "passages"}
LEAST_HEX = 8
# Another arithmetic moves a logit by less; a larger difference is another teacher, another scale, other texts.
MOST_APART = 0.25


class Incoming(Settings):
    """What to import.

    `teacher` is a name or the beginning of a fingerprint of a registered teacher, or a cross-encoder on this machine.
    `scale` none: logits, refused where every score lies between 0 and 1. `corpus` is whose ids a TREC run or ColBERT
    folder has; empty: the only one there is.
    """

    path: Path
    format: Literal["sentence-transformers", "flagembedding", "colbert", "trec"]
    teacher: str
    corpus: str = ""
    scale: Literal["logit", "probability"] | None = None
    new_texts: bool = False


@dataclass(frozen=True)
class Imported:
    """Pairs in the file, those that are new in the store, texts that were added, and the teacher's name."""

    pairs: int
    new: int
    texts: int
    teacher: str


def import_scores(where: Where, incoming: Incoming) -> Imported:
    """Bring scores of a file into the store under a teacher, all or none.

    Raises:
        ValueError: The file cannot be read, its scale is in doubt, a pair has two scores, or its scores differ from
            those that the teacher gave before.
        LookupError: The teacher, an id or (without `new_texts`) a text is unknown.
    """
    warehouse = warehouse_of(where)
    pairs = on_scale(read_scores(incoming.path, incoming.format), incoming)
    added: dict[str, pl.DataFrame] = {}
    if incoming.format in BY_ID:
        named = by_id(warehouse, pairs, incoming)
    else:
        named, added = by_text(warehouse, pairs, incoming)
    scores = one_each(named, incoming.path)
    teacher = find_teacher(warehouse, incoming.teacher)
    check_like_before(warehouse, teacher, scores, incoming.path)
    with opened_run("import", incoming.path.stem, incoming, where) as run:
        register_new(run, teacher)
        texts = sum(add_texts(warehouse, kind, frame) for kind, frame in added.items())
        new = store(run, teacher, scores, incoming.path)
    return Imported(scores.height, new, texts, teacher.name)


def on_scale(pairs: pl.DataFrame, incoming: Incoming) -> pl.DataFrame:
    """Make logits of the scores: `query, passage, place, logit`.

    Raises:
        ValueError: Logits were not asked for and the scores look like probabilities, or a probability has no logit.
    """
    low, high = (float(str(value)) for value in (pairs["score"].min(), pairs["score"].max()))
    told = f"{incoming.path}: the scores lie between {low:.3f} and {high:.3f}"
    if incoming.scale is None and low >= 0 and high <= 1:
        raise ValueError(
            f"{told}, as probabilities do, and the store keeps logits: a threshold would let none or all through. "
            "Say --scale probability to have them turned into logits, or --scale logit if they are logits"
        )
    if incoming.scale != "probability":
        return pairs.select("query", "passage", "place", logit="score")
    if not 0 < low <= high < 1:
        raise ValueError(f"{told}; a probability needs to lie inside 0 and 1 to have a logit")
    odds = pl.col("score") / (1 - pl.col("score"))
    return pairs.select("query", "passage", "place", logit=odds.log())


def by_id(warehouse: Warehouse, pairs: pl.DataFrame, incoming: Incoming) -> pl.DataFrame:
    """Replace ids of a corpus by hashes: `query_hash, passage_hash, place, logit`.

    Raises:
        LookupError: There is no such corpus, or ids are unknown there.
    """
    known = corpora(warehouse)
    corpus = incoming.corpus or (known[0] if len(known) == 1 else "")
    if corpus not in known:
        raise LookupError(
            f"--corpus {corpus!r}: the ids need a corpus; there is {', '.join(map(repr, known)) or 'none'}"
        )
    for kind in KINDS:
        hashes = id_hashes(warehouse, corpus, kind).rename({"id": kind, "hash": f"{kind}_hash"})
        pairs = pairs.join(hashes, on=kind, how="left", maintain_order="left")
        lost = pairs.filter(pl.col(f"{kind}_hash").is_null())
        if lost.height:
            shown = ", ".join(map(repr, lost[kind].unique(maintain_order=True).head(3)))
            raise LookupError(
                f"{lost['place'][0]}: corpus {corpus!r} has no {kind} {shown} ({lost.height:,} of {pairs.height:,} "
                "pairs name unknown ones); nothing was imported"
            )
    return pairs


def by_text(
    warehouse: Warehouse, pairs: pl.DataFrame, incoming: Incoming
) -> tuple[pl.DataFrame, dict[str, pl.DataFrame]]:
    """Replace texts by hashes, and find those to add.

    Returns:
        `query_hash, passage_hash, place, logit`, and `hash, text` of unknown texts by kind.

    Raises:
        LookupError: The warehouse lacks texts, and they are not to be added.
        ValueError: A text is empty.
    """
    added = {}
    for kind in KINDS:
        hashes = pl.Series(f"{kind}_hash", [text_hash(text) for text in pairs[kind]], dtype=pl.Int64)
        pairs = pairs.with_columns(hashes)
        empty = pairs.filter(pl.col(kind) == "")
        if empty.height:
            raise ValueError(f"{empty['place'][0]}: the {kind} is empty; a score of nothing says nothing")
        texts = pairs.select(hash=f"{kind}_hash", text=kind).unique(maintain_order=True)
        unknown = unknown_texts(warehouse, kind, texts)
        if unknown.height and not incoming.new_texts:
            place = pairs.filter(pl.col(f"{kind}_hash") == unknown["hash"][0])["place"][0]
            raise LookupError(
                f"{place}: the warehouse does not have {unknown.height:,} of {texts.height:,} {KIND_NAMES[kind]}, "
                f"first {unknown['text'][0]!r:.80}; nothing was imported. Passages are title and text with "
                f"a space between. "
                "--new-texts takes them in, for a corpus that comes later"
            )
        added[kind] = unknown
    return pairs, added


def one_each(pairs: pl.DataFrame, path: Path) -> pl.DataFrame:
    """One score per pair, in the columns of a shard: `query_hash, passage_hash, logit, n_tokens, truncated`.

    Raises:
        ValueError: A pair has two scores.
    """
    scores = pairs.with_columns(pl.col("logit").cast(pl.Float32)).unique(["query_hash", "passage_hash", "logit"])
    twice = scores.filter(pl.struct("query_hash", "passage_hash").is_duplicated()).sort("query_hash", "passage_hash")
    if twice.height:
        first, second = twice["logit"][:2]
        raise ValueError(
            f"{path}: one pair has the scores {first:.4f} ({twice['place'][0]}) and {second:.4f} ({twice['place'][1]})"
            "; nothing was imported"
        )
    unknown = {"n_tokens": pl.lit(None, pl.Int32), "truncated": pl.lit(None, pl.Boolean)}
    return scores.with_columns(**unknown).select(*COLUMNS).sort("query_hash", "passage_hash")


def find_teacher(warehouse: Warehouse, named: str) -> TeacherRef:
    """A registered teacher by its name or the beginning of its fingerprint, else a cross-encoder on this machine.

    Raises:
        LookupError: There is none, or the name means several.
    """
    known = teachers(warehouse)
    found = [each for each in known if each[0] == named]
    if len(named) >= LEAST_HEX:
        found = found or [each for each in known if each[1].startswith(named)]
    if len(found) > 1:
        prints = ", ".join(fingerprint[:16] for _, fingerprint in found)
        raise LookupError(f"{len(found)} teachers are called {named!r}; say which by its fingerprint: {prints}")
    if found:
        return TeacherRef(name=found[0][0], fingerprint=found[0][1], path=Path())
    return _on_this_machine(named, known)


def _on_this_machine(named: str, known: list[tuple[str, str]]) -> TeacherRef:
    from tasks.teach.settings import TeacherSettings
    from tasks.teach.teaching import ready_teachers

    try:
        return ready_teachers(TeacherSettings(model=[named]))[0]
    except (OSError, ValueError) as error:
        listed = ", ".join(f"{name} ({fingerprint[:16]})" for name, fingerprint in known) or "none yet"
        raise LookupError(
            f"no teacher is called {named!r}; registered: {listed}. It is no cross-encoder on this machine "
            f"either: {error}"
        ) from error


def check_like_before(warehouse: Warehouse, teacher: TeacherRef, scores: pl.DataFrame, path: Path) -> None:
    """Compare with what the store has of the teacher.

    Raises:
        ValueError: They differ by more than another arithmetic explains.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scores.parquet"
        scores.write_parquet(file)
        count, largest = compared(warehouse, teacher.fingerprint, file)
    if largest > MOST_APART:
        raise ValueError(
            f"{path}: {count:,} pairs were scored by {teacher.name} before, and the scores differ by up to "
            f"{largest:.2f} logits (at most {MOST_APART} is arithmetic); these are of another teacher, scale or text"
        )


def register_new(run: Run, teacher: TeacherRef) -> None:
    """Enter a teacher that was found on this machine into the table `models`; a registered one stays as it is."""
    from tasks.score.stored import register

    if teacher.path != Path():
        register(run, teacher)


def store(run: Run, teacher: TeacherRef, scores: pl.DataFrame, path: Path) -> int:
    """Write the scores as a shard of the teacher, from which they come back if the warehouse is lost, and load it."""
    shards = Shards.of(run.root, teacher.fingerprint)
    shard = shards.folder / f"import-{scores_fingerprint(scores)}.parquet"
    unknown: dict[str, object] = {"precision": None, "device": None, "versions": {}, "seconds": None}
    write_shard(shard, scores, unknown)
    return load_scores(warehouse_of(run.where), run.id, teacher.fingerprint, shard, shards.name(shard), unknown)


def scores_fingerprint(scores: pl.DataFrame) -> str:
    """Name scores by what they say, whatever file they came in."""
    return fingerprint([list(row) for row in scores.select("query_hash", "passage_hash", "logit").rows()])[:16]
