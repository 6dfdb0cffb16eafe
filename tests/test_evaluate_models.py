"""`remine evaluate`: off-the-shelf models beside chance and BM25, through the same steps as a run."""

import json
from pathlib import Path
from typing import Any

import ir_measures
import polars as pl
import pytest
from sources import write_beir, write_words
from tiny import make_student, make_teacher
from tiny_corpus import make_corpus
from typer.testing import CliRunner

from flows.cli.main import app
from flows.comparison import comparison_of
from tasks.evaluate.own import own_passages, ranked_without_own
from tasks.report.tables import ORDER
from warehouse.connect import Warehouse
from warehouse.queries import quality

QUERIES = 60


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory, tiny_student: Path, prefect: str) -> tuple[Path, Any]:
    root = tmp_path_factory.mktemp("compared")
    data = write_words(root / "words", QUERIES)
    (data / "qrels" / "train.tsv").unlink()
    other = make_student(root / "warm", 9)
    options = ["--models", str(tiny_student), str(other), "--teacher", str(make_teacher(root / "judge"))]
    options += ["--trec-out", str(root / "trec"), "--home", str(root), "--format", "json"]
    options += ["--device", "cpu", "--precision", "fp32", "--threads", "1"]
    result = CliRunner().invoke(app, ["evaluate", str(data), *options], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return root, json.loads(result.stdout[result.stdout.index("[") :])


def test_every_model_stands_beside_chance_and_bm25(told: tuple[Path, Any]) -> None:
    """Pitfall 38: a model that looks good until somebody tries the words alone."""
    root, rows = told
    systems, named = {row["system"]: row for row in rows}, str(root / "warm")
    assert set(systems) == {"chance", "bm25", "hybrid", "student", named, "student+teacher", f"{named}+teacher"}
    assert systems["student"]["against"] is None
    for row in rows:
        assert row["low"] <= row["nDCG@10"] <= row["high"] and row["queries"] == 12
    other = systems[named]
    assert other["against"] == pytest.approx(other["nDCG@10"] - systems["student"]["nDCG@10"])
    assert other["against_low"] <= other["against"] <= other["against_high"] and 0 < other["p"] <= 1


def test_trec_files_give_the_same_measures_elsewhere(told: tuple[Path, Any]) -> None:
    root, rows = told
    qrels = list(ir_measures.read_trec_qrels(str(root / "trec" / "qrels.test.trec")))
    assert len(qrels) == 12
    assert len(list((root / "trec").iterdir())) == 1 + 6
    for system in ("bm25", "hybrid", "student", f"{root}/warm+teacher"):
        ranked = list(ir_measures.read_trec_run(str(root / "trec" / f"{system.replace('/', '%2F')}.trec")))
        found = ir_measures.calc_aggregate([ir_measures.nDCG @ 10], qrels, ranked)[ir_measures.nDCG @ 10]
        assert found == pytest.approx(next(row["nDCG@10"] for row in rows if row["system"] == system), abs=1e-6)


def test_it_is_a_run_of_its_own_on_a_corpus_of_its_own(told: tuple[Path, Any]) -> None:
    """A comparison on data that is trained on elsewhere must not close that corpus' train labels."""
    warehouse = Warehouse(told[0] / "warehouse.duckdb")
    with warehouse.read() as connection:
        runs = connection.execute("SELECT flow, corpus, status FROM runs").fetchall()
    assert runs == [("evaluate", "words:test", "completed")]
    assert quality(warehouse).is_empty()


def test_names_that_would_be_mistaken_are_refused_or_told_apart() -> None:
    assert comparison_of("d", ["a/small", "b/small", "c", "."], [], {}).systems == ["a/small", "b/small", "c", "."]
    with pytest.raises(ValueError, match="no model is named"):
        comparison_of("d", [], [], {})
    with pytest.raises(ValueError, match="same: named twice"):
        comparison_of("d", ["same", "same"], [], {})
    with pytest.raises(ValueError, match=r"evaluation\.depth"):
        comparison_of("d", ["a"], ["evaluation.depth=3"], {})
    assert comparison_of("d", ["a"], ["source.labels=dev"], {}).source.labels == "dev"


@pytest.mark.parametrize("name", [*ORDER, "round-2", "BM25"])
def test_a_model_with_the_name_of_a_system_of_remines_stands_under_its_path(name: str) -> None:
    """Re-ranked, a folder called warm would be the row `teacher`, and one called round-1 the student of a round."""
    assert comparison_of("d", [f"x/{name}", f"./{name}/"], [], {}).systems == [f"x/{name}", f"./{name}/"]
    assert comparison_of("d", [f"x/{name}", "y/small"], [], {}).systems == [f"x/{name}", "small"]
    with pytest.raises(ValueError, match=rf"{name}: remine calls systems of its own so .* by its path \(\./NAME\)"):
        comparison_of("d", ["y/small", name], [], {})


@pytest.mark.parametrize("name", ["models/small+teacher", "models/small@64"])
def test_a_model_whose_name_says_what_was_done_with_another_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"rename one that ends in \+teacher or @D"):
        comparison_of("d", ["models/small", name], [], {})


def test_a_passage_with_the_querys_own_id_is_no_result(tmp_path: Path) -> None:
    """ArguAna's queries are its passages: each finds itself first, and every measure is lost."""
    data = write_beir(
        tmp_path / "data",
        passages={"a": ("", "one text"), "b": ("", "another"), "c": ("", "third")},
        queries={"a": "one text", "x": "what else"},
        labels={"test": [("a", "b", "1"), ("x", "c", "1")]},
    )
    from tasks.ingest.corpus import make_corpus as ingested
    from tasks.ingest.settings import MeasuredSource

    corpus = ingested(tmp_path, MeasuredSource(path=str(data)))
    (own,) = own_passages(corpus).rows()
    ranking = pl.DataFrame(
        {
            "query_hash": [own[0]] * 3 + [7] * 3,
            "passage_hash": [own[1], 2, 3, own[1], 2, 3],
            "rank": [1, 2, 3] * 2,
            "score": [0.9, 0.5, 0.1] * 2,
        },
        schema_overrides={"rank": pl.Int32},
    )
    asked: list[int] = []

    def rank(depth: int) -> pl.DataFrame:
        asked.append(depth)
        return ranking.filter(pl.col("rank") <= depth)

    found = ranked_without_own(corpus, rank, 2)
    assert asked == [3], "one deeper, so that no list is short"
    assert found.filter(pl.col("query_hash") == own[0])["passage_hash"].to_list() == [2, 3]
    assert found.filter(pl.col("query_hash") == 7)["passage_hash"].to_list() == [own[1], 2]
    assert found["rank"].to_list() == [1, 2, 1, 2]


def test_bm25_and_students_leave_own_passages_out(tmp_path: Path) -> None:
    from vectors import write_vectors

    from tasks.baseline.systems import evaluate_bm25
    from tasks.evaluate.settings import Evaluation
    from tasks.evaluate.systems import evaluate_student

    corpus = make_corpus(tmp_path, ["red cat", "blue dog"], {"red cat": "dev"}, [("red cat", "blue dog", 1)])
    ids = pl.read_parquet(corpus.file("passage_ids.parquet"))
    own = pl.read_parquet(corpus.file("queries.parquet"))["hash"][0]
    names = [("q0" if each == own else "p1") for each in ids["hash"]]
    ids.with_columns(external_id=pl.Series(names), document=pl.Series(names)).write_parquet(
        corpus.path / "passage_ids.parquet"
    )
    vectors = write_vectors(tmp_path, corpus, {"red cat": [1.0, 0.0], "blue dog": [0.5, 0.5]})
    for ignored, expected in ((False, 2), (True, 1)):
        settings = Evaluation(ignore_identical_ids=ignored)
        made = evaluate_student(tmp_path, "base", corpus, vectors, settings)
        assert pl.read_parquet(made.file("ranking.parquet")).height == expected
        words = evaluate_bm25(tmp_path, corpus, 100, ignored)
        assert pl.read_parquet(words.file("ranking.parquet")).height == (0 if ignored else 1)
