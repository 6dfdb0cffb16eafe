"""The work of the step: the pairs of a file with their texts, as an artifact that the step `score` takes."""

from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

import polars as pl

from tasks.artifacts import Artifact, make_artifact
from tasks.gather.resolving import Asked, Role, resolve
from tasks.gather.settings import PairsFile
from tasks.gather.table import Table, read_table
from tasks.identity import file_fingerprint
from tasks.record import record, warehouse_of
from tasks.refs import Run
from warehouse.connect import Warehouse
from warehouse.load import load_texts
from warehouse.lookup import corpora, texts_of_ids

VERSION = 1
KEYS = ["query_hash", "passage_hash"]


def gather_pairs(run: Run, source: PairsFile) -> Artifact:
    """Read pairs, find their texts and enter the texts that are new into the warehouse.

    The artifact holds queries.parquet and passages.parquet (`hash, text`), pairs.parquet (`query_hash, passage_hash`,
    each pair once), rows.parquet (`query_id, passage_id, query_hash, passage_hash`, a row for each of the file) and
    came.parquet (the file's own columns). It is named by the file's bytes and by the texts: an edited corpus makes
    another one only where it changes a text that the file asks about.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: A row cannot be read, an id is unknown, or it is unclear which corpus is meant; nothing is kept.
    """
    source.check()
    warehouse = warehouse_of(run.where)
    table = read_table(source.path)
    asked = resolve(table, source.columns, lambda role, ids: _lookup(warehouse, source, role, ids))
    artifact = make_artifact(
        run.root,
        "gather",
        VERSION,
        source.columns,
        {"file": file_fingerprint(source.path), "texts": _digest(asked)},
        lambda folder: _write(folder, table, asked),
    )
    record(run, artifact, 0)
    load_texts(warehouse, artifact.path)
    return artifact


def _lookup(warehouse: Warehouse, source: PairsFile, role: Role, ids: pl.Series) -> pl.DataFrame:
    return texts_of_ids(warehouse, choose_corpus(corpora(warehouse), source), role, ids)


def choose_corpus(known: list[str], source: PairsFile) -> str:
    """The corpus that ids belong to: the one that is named, or the only one.

    Raises:
        ValueError: There is none, or it isn't clear which.
    """
    listed = ", ".join(map(repr, known))
    if not known:
        raise ValueError(
            f"{source.path} names texts by ids, and the warehouse has no corpus that knows any; "
            "`remine run` ingests one, or give texts in the columns query and passage"
        )
    if source.corpus and source.corpus not in known:
        raise ValueError(f"--corpus {source.corpus!r}: the warehouse has no such corpus; it has {listed}")
    if not source.corpus and len(known) > 1:
        raise ValueError(
            f"{source.path} names texts by ids, and the warehouse has {len(known)} corpora, in which one id can mean "
            f"different texts; say which with --corpus: {listed}"
        )
    return source.corpus or known[0]


def _digest(asked: Asked) -> str:
    return blake2b(asked.rows.select(KEYS).to_numpy().tobytes(), digest_size=16).hexdigest()


def _write(folder: Path, table: Table, asked: Asked) -> Mapping[str, Any]:
    pairs = asked.rows.select(KEYS).unique().sort(KEYS)
    frames = {"queries": asked.queries, "passages": asked.passages, "pairs": pairs, "rows": asked.rows}
    for name, frame in {**frames, "came": table.rows}.items():
        frame.write_parquet(folder / f"{name}.parquet", compression="zstd")
    return {
        "file": Path(table.file).name,
        "rows": asked.rows.height,
        "pairs": pairs.height,
        "queries": asked.queries.height,
        "passages": asked.passages.height,
    }
