"""`remine score` from the command line, over every format of pairs and of scores: what comes out is the teacher's."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
from command import Remine, Told, process
from scoring_bench import PASSAGES, QUERIES, open_bench

from tasks.refs import TeacherRef
from warehouse.connect import Warehouse
from warehouse.queries import quality, run_rows
from warehouse.texts import text_hash

ASKED = list(QUERIES)
TEXTS = [*PASSAGES[:5], '=1+1 "red", cat', "-2 trees"]  # cells that a spreadsheet would run stay as they are
WRITERS: dict[str, Callable[[pl.DataFrame, Path], None]] = {
    ".jsonl": lambda frame, path: frame.write_ndjson(path),
    ".csv": lambda frame, path: frame.write_csv(path),
    ".tsv": lambda frame, path: frame.write_csv(path, separator="\t", quote_style="never"),
    ".parquet": lambda frame, path: frame.write_parquet(path),
    ".trec": lambda frame, path: write_trec(frame, path),
    ".run": lambda frame, path: write_trec(frame, path),
}
READERS = {".jsonl": pl.read_ndjson, ".csv": pl.read_csv, ".parquet": pl.read_parquet}
OUT = {
    ".jsonl": ".csv",
    ".csv": ".parquet",
    ".tsv": ".jsonl",
    ".parquet": ".csv",
    ".trec": ".parquet",
    ".run": ".jsonl",
}
HERE = ("--device", "cpu", "--precision", "fp32", "--threads", "1")


def write_trec(frame: pl.DataFrame, path: Path) -> None:
    rows = frame.select("query_id", "passage_id").rows()
    path.write_text("".join(f"{query} Q0 {passage} 1 0.5 bm25\n" for query, passage in rows), "utf-8")


@pytest.fixture
def folder(tmp_path: Path, tiny_teacher: Path) -> Path:
    """A home with an ingested corpus: queries q0, q1 … and passages p0, p1 …"""
    open_bench(tmp_path, TeacherRef(fingerprint="bench", path=tiny_teacher, name="bench"))
    return tmp_path


@pytest.fixture
def score(
    remine: Remine, prefect: str, folder: Path, tiny_teacher: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Told]:
    """`remine score` with the tiny teacher, in the folder."""
    monkeypatch.setenv("PREFECT_API_URL", prefect)
    return lambda *more: remine("score", "--teacher", str(tiny_teacher), *HERE, *more, cwd=folder)


def by_text() -> pl.DataFrame:
    rows = [(query, passage) for query in ASKED[:3] for passage in TEXTS]
    return pl.DataFrame(rows, schema=["query", "passage"], orient="row")


def by_id() -> pl.DataFrame:
    rows = [(f"q{query}", f"p{passage}") for query in (1, 0) for passage in range(6)]
    return pl.DataFrame(rows, schema=["query_id", "passage_id"], orient="row")


def texts_of(pairs: pl.DataFrame, folder: Path) -> list[tuple[str, str]]:
    if "query" in pairs.columns:
        return pairs.select("query", "passage").rows()
    with Warehouse(folder / "warehouse.duckdb").read() as con:
        sql = "SELECT external_id, text FROM {0}_ids JOIN {1} USING ({0}_key)"
        queries = dict(con.execute(sql.format("query", "queries")).fetchall())
        passages = dict(con.execute(sql.format("passage", "passages")).fetchall())
    return [(queries[query], passages[passage]) for query, passage in pairs.select("query_id", "passage_id").rows()]


def logits(teacher: Path, pairs: list[tuple[str, str]]) -> np.ndarray:
    from sentence_transformers import CrossEncoder

    scores: np.ndarray = CrossEncoder(str(teacher), device="cpu").predict(pairs, activation_fn=torch.nn.Identity())
    return scores


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pairs", "suffix"),
    [*((by_text, name) for name in (".jsonl", ".csv", ".tsv", ".parquet")), *((by_id, name) for name in WRITERS)],
)
def test_every_format_is_scored_and_comes_back(
    score: Callable[..., Told], folder: Path, tiny_teacher: Path, pairs: Callable[[], pl.DataFrame], suffix: str
) -> None:
    """Pitfalls 7 and 33: a logit beside another row's pair, or a probability in its place."""
    asked, out = pairs(), folder / f"scores{OUT[suffix]}"
    WRITERS[suffix](asked, folder / f"pairs{suffix}")
    told = score("--pairs", f"pairs{suffix}", "--out", out.name)
    assert told.returncode == 0, told.stderr
    assert f"{asked.height} pairs: {asked.height} new" in told.stdout and f"Wrote {out}" in told.stdout
    found = READERS[OUT[suffix]](out)
    assert found.select(asked.columns).rows() == asked.rows()
    wanted = logits(tiny_teacher, texts_of(asked, folder))
    np.testing.assert_allclose(found["logit"].to_numpy(), wanted, atol=1e-5)
    again = score("--pairs", f"pairs{suffix}", "--out", "run.trec")
    assert f"{asked.height} pairs: 0 new (0 tokens, 0.0 s), {asked.height} reused" in again.stdout
    assert len((folder / "run.trec").read_text("utf-8").splitlines()) == asked.height
    assert quality(Warehouse(folder / "warehouse.duckdb")).is_empty()


@pytest.mark.slow
def test_the_question_that_is_printed_finds_the_scores(
    score: Callable[..., Told], remine: Remine, folder: Path
) -> None:
    by_text().write_csv(folder / "pairs.csv")
    question = (
        score("--pairs", "pairs.csv").stdout.splitlines()[-1].removeprefix('Look: remine sql "').removesuffix('"')
    )
    found = json.loads(remine("sql", question, "--format", "json", cwd=folder).stdout)
    assert len(found) == 20 and {text_hash(row["query"]) for row in found} <= set(map(text_hash, ASKED))


REFUSED = {
    "a folder of pairs": (["--pairs", "ingest"], "ingest is a folder; needed one file of pairs as .jsonl"),
    "no pairs": (["--pairs", "none.csv"], "none.csv: no such file"),
    "an unknown format": (["--pairs", "pairs.txt"], "pairs.txt: cannot be read as pairs"),
    "an unknown format of scores": (["--out", "x.xlsx"], "needed one of .parquet, .csv, .jsonl, .trec"),
    "scores over pairs": (["--out", "pairs.csv"], "is the file that the pairs come from"),
    "scores in a folder that is not there": (["--out", "no/x.csv"], "there is no such folder to write x.csv into"),
    "scores in place of a folder": (["--out", "taken.csv"], "taken.csv is a folder; needed the name of a file"),
    "a column that is nothing": (["--column", "qurey=x"], "needs ROLE=NAME with one of query, passage"),
}


@pytest.mark.parametrize("fault", REFUSED)
def test_what_cannot_be_done_is_said_before_anything_is_begun(remine: Remine, folder: Path, fault: str) -> None:
    """An hour of scoring for a file that then cannot be written."""
    arguments, sentence = REFUSED[fault]
    by_text().write_csv(folder / "pairs.csv")
    for name in ("ingest", "taken.csv"):
        (folder / name).mkdir(exist_ok=True)
    (folder / "pairs.txt").touch()
    before = run_rows(Warehouse(folder / "warehouse.duckdb")).height
    pairs = [] if "--pairs" in arguments else ["--pairs", "pairs.csv"]
    told = remine("score", "--teacher", "no/such/teacher", *pairs, *arguments, cwd=folder)
    assert told.returncode == 1 and sentence in told.stderr
    assert "Traceback" not in told.stderr and "not foreseen" not in told.stderr
    assert run_rows(Warehouse(folder / "warehouse.duckdb")).height == before
    assert not (folder / ".prefect").exists()


FAILED = {
    "more tokens than positions": (
        ["--max-length", "500"],
        "inputs may have 500 tokens, and the model has 64 positions; longer ones would fail",
    ),
    "no teacher": (["--teacher", "no/such/teacher"], "model 'no/such/teacher': there is no such folder"),
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAILED)
def test_a_teacher_that_cannot_score_is_one_sentence_and_no_shard(
    prefect: str, folder: Path, tiny_teacher: Path, fault: str
) -> None:
    """Every text that is short enough would be scored, and the first long one fail its shard."""
    arguments, sentence = FAILED[fault]
    by_text().write_csv(folder / "pairs.csv")
    asked = ("score", "--pairs", "pairs.csv", "--out", "x.csv", "--teacher", str(tiny_teacher), *HERE, *arguments)
    told = process(*asked, cwd=folder, PREFECT_API_URL=prefect)
    assert told.returncode == 1 and f"remine: {sentence}" in told.stderr.replace(f"{tiny_teacher}: ", "")
    assert "shard" not in told.stderr and "Traceback" not in told.stderr and "foreseen" not in told.stderr
    assert not list((folder / "data" / "artifacts" / "shards").rglob("*.parquet"))
    assert not (folder / "x.csv").exists()
