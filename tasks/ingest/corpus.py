"""The work of the step: from a source to the corpus artifact and the warehouse."""

import logging
from functools import partial
from pathlib import Path
from typing import Any

from tasks.artifacts import make_artifact
from tasks.identity import file_fingerprint
from tasks.ingest.assemble import Corpus, assemble
from tasks.ingest.beir import beir_files, read_beir
from tasks.ingest.collection import Collection
from tasks.ingest.huggingface import Tables, load_tables, read_tables, tables_fingerprint
from tasks.ingest.measured import measured_alone
from tasks.ingest.pairs import read_pairs
from tasks.ingest.retire import Once, retire
from tasks.ingest.settings import MeasuredSource, Source, pair_files
from tasks.record import record, warehouse_of
from tasks.refs import Artifact, Run
from warehouse.load import load_corpus
from warehouse.lookup import ids_ever

VERSION = 4

log = logging.getLogger("remine.ingest")


def ingest_corpus(run: Run, source: Source, retiring: bool = False) -> Artifact:
    """Make the corpus artifact of a source and load it into the warehouse; unchanged data changes nothing.

    Args:
        run: The run.
        source: Where the data is.
        retiring: Leave out labels of passages that this corpus has had and that are gone from the source.

    Raises:
        FileNotFoundError: The source or a file of it is not there.
        CorpusError: The data would mislead; nothing has been written.
    """
    warehouse = warehouse_of(run.where)
    had = partial(ids_ever, warehouse, source.corpus) if retiring else None
    artifact = make_corpus(run.root, source, had)
    for warning in artifact.facts["warnings"]:
        log.warning("%s: %s", source.corpus, warning)
    record(run, artifact, 0)
    load_corpus(warehouse, run.id, source.corpus, artifact.path, artifact.fingerprint)
    return artifact


def make_corpus(root: Path, source: Source, had: Once | None = None) -> Artifact:
    """Read, check and write a source as an artifact under `root`, without a warehouse.

    The name of the artifact holds the bytes of the files and the settings that matter, never where the files lie.

    Args:
        root: Folder of all artifacts.
        source: Where the data is.
        had: Of some passage ids, those that the corpus once had, whose labels are retired; None: they are refused.
    """
    source = source.resolved()
    tables = load_tables(source.path, source.config) if source.kind == "huggingface" else {}

    def build(folder: Path) -> dict[str, Any]:
        collection, retired = collect(source, tables), 0
        if had is not None:
            collection, retired = retire(collection, had)
        corpus = _assembled(source, collection)
        corpus.write(folder)
        measured = {"measured": source.as_split} if isinstance(source, MeasuredSource) else {}
        gone = {"retired": retired} if retired else {}
        return {"corpus": source.corpus, **corpus.facts, **measured, **gone}

    return make_artifact(root, "ingest", VERSION, _identity(source), _inputs(source, tables), build)


def read_source(source: Source) -> Corpus:
    """Read and check a source in memory; nothing is written.

    Raises:
        FileNotFoundError: The source or a file of it is not there.
        CorpusError: The data would mislead.
    """
    source = source.resolved()
    tables = load_tables(source.path, source.config) if source.kind == "huggingface" else {}
    return _assembled(source, collect(source, tables))


def _assembled(source: Source, collection: Collection) -> Corpus:
    if isinstance(source, MeasuredSource):
        return assemble(measured_alone(collection, source), None, source.chunk)
    return assemble(collection, source.dev_share, source.chunk, source.pairs)


def collect(source: Source, tables: Tables) -> Collection:
    """Read a source of a known kind; `tables` holds the loaded data set where it is one."""
    path = Path(source.path).expanduser()
    if source.kind == "beir":
        return read_beir(path, source.qrels, not isinstance(source, MeasuredSource), source.pairs is not None)
    if source.kind == "pairs":
        return read_pairs(path, source.columns)
    return read_tables(source.path, tables, source.columns)


def _identity(source: Source) -> dict[str, Any]:
    """What of the settings changes the corpus. Which label file is which split is told by the inputs."""
    settings: dict[str, Any] = {"kind": source.kind, "name": source.corpus, "dev_share": source.dev_share}
    if isinstance(source, MeasuredSource):
        settings |= {"as_split": source.as_split, "labels": source.labels}
    if source.chunk:
        settings["chunk"] = source.chunk.model_dump()
    if source.pairs:
        settings["pairs"] = source.pairs
    return settings if source.kind == "beir" else {**settings, "columns": source.columns.named()}


def _inputs(source: Source, tables: Tables) -> dict[str, str]:
    path = Path(source.path).expanduser()
    if source.kind == "huggingface":
        return {"rows": tables_fingerprint(tables, source.columns)}
    if source.kind == "beir":
        files = beir_files(path, source.qrels, not isinstance(source, MeasuredSource), source.pairs is not None)
    else:
        files = {file.name if split else "pairs": file for file, split in pair_files(path)}
    return {role: file_fingerprint(file) for role, file in files.items()}
