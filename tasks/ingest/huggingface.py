"""Read pairs from a Hugging Face data set: a saved folder, or an id of the hub."""

import json
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from tasks.identity import canonical
from tasks.ingest.collection import Collection
from tasks.ingest.complaints import Complaints, CorpusError
from tasks.ingest.pairs import Pairs, require_columns
from tasks.ingest.settings import SPLIT_NAMES, Columns

Tables = dict[str, Any]  # split as the data set names it, or "" for a lone table -> datasets.Dataset


def load_tables(path: str, config: str) -> Tables:
    """Load a saved data set, or one of the hub; code of the data set is never run.

    Raises:
        ModuleNotFoundError: `datasets` is not installed.
        FileNotFoundError: There is no such data set, or the hub cannot be reached.
    """
    try:
        import datasets
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("reading Hugging Face data sets needs `pip install 'remine[hub]'`") from error
    folder = Path(path).expanduser()
    try:
        saved = any((folder / name).exists() for name in ("dataset_dict.json", "dataset_info.json"))
        loaded = datasets.load_from_disk(str(folder)) if saved else datasets.load_dataset(path, config or None)
    except (OSError, ValueError, RuntimeError) as error:
        raise FileNotFoundError(f"{path}: no data set could be loaded: {error}") from error
    return dict(loaded) if isinstance(loaded, dict) else {"": loaded}


def tables_fingerprint(tables: Tables, columns: Columns) -> str:
    """Hash the rows of the columns that are read, so that neither cache nor library version matters."""
    digest = blake2b(digest_size=16)
    for split in sorted(tables):
        digest.update(canonical(["split", split]).encode())
        for _, row in _rows(split, tables[split], columns):
            digest.update(json.dumps(list(row.items()), default=str).encode())
    return digest.hexdigest()


def read_tables(path: str, tables: Tables, columns: Columns) -> Collection:
    """Turn the tables of a data set into a collection.

    Raises:
        CorpusError: A named column or a known split is missing, or rows are malformed.
    """
    complaints = Complaints()
    pairs = Pairs(columns, complaints)
    for name, table in tables.items():
        place = f"{path}[{name}]" if name else path
        split = _split(place, name, columns)
        pairs.note_unread(table.column_names)
        pairs.add(place, split, _rows(place, table, columns))
    complaints.refuse()
    return pairs.collection()


def _split(place: str, name: str, columns: Columns) -> str:
    if columns.split or not name:
        return ""
    if name not in SPLIT_NAMES:
        raise CorpusError(
            f"{place}: {name!r} is no split that is known; needed one of {', '.join(SPLIT_NAMES)}. "
            "Save the data set without it, or under one of these names"
        )
    return SPLIT_NAMES[name]


def _rows(place: str, table: Any, columns: Columns) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield numbered rows (from 1) of the columns that are read."""
    require_columns(place, list(table.column_names), columns)
    names = list(columns.named().values())
    line = 0
    for batch in table.select_columns(names).iter(batch_size=1000):
        for values in zip(*(batch[name] for name in names), strict=True):
            line += 1
            yield line, dict(zip(names, values, strict=True))
