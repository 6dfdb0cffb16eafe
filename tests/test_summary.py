"""The first line says what is true; the tables beneath show it; texts from the data stay texts."""

import io
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from rich.console import Console
from sources import write_beir

from tasks.artifacts import Artifact, make_artifact
from tasks.baseline.settings import StudentSettings
from tasks.baseline.systems import base_student
from tasks.baseline.task import baseline
from tasks.encode import encode
from tasks.evaluate.settings import Evaluation
from tasks.evaluate.task import evaluate
from tasks.export import export_to
from tasks.export.task import export
from tasks.ingest.corpus import ingest_corpus
from tasks.ingest.settings import Source
from tasks.promote.incumbent import name_incumbent, roll_back
from tasks.promote.settings import Promotion
from tasks.promote.task import promote
from tasks.record import record, warehouse_of
from tasks.refs import Run
from tasks.report.summary import Placed, Summary, as_markdown, show, summarise
from tasks.report.tables import Table, as_records, leaderboard, markdown, place, plain
from tasks.report.task import report
from tasks.run import opened_run
from tasks.where import Where
from warehouse.queries import leaderboard as warehouse_leaderboard

RUN = Run(id=7, recipe="sample", where=Where())
COUNTS = {"positive": 10, "promoted": 0, "negative": 1400, "approved": 42, "ambiguous": 48, "unscored": 0}
JUDGED = {"false_negatives": 42, "verdicts": COUNTS, "queries": 10, "queries_without_negatives": 1, "empty_lists": 0}


def test_systems_stand_in_the_order_of_the_loop() -> None:
    names = ["round-10", "warm-long", "round-2+teacher", "base", "chance", "round-2", "teacher", "bm25", "warm"]
    ordered = ["chance", "bm25", "base", "warm", "warm-long", "teacher", "round-2", "round-2+teacher", "round-10"]
    assert sorted(names, key=place) == ordered


def test_the_leaderboard_shows_test_before_dev_and_gaps_as_gaps() -> None:
    rows = [("base", "dev", "nDCG@10", 0.5), ("chance", "test", "nDCG@10", 0.01), ("base", "test", "RR@10", 0.4)]
    table = leaderboard(pl.DataFrame(rows, schema=["system", "split", "measure", "value"], orient="row"))
    assert table.head[:3] == ["system", "test nDCG@10", "test RR@10"]
    assert table.head[5:] == ["dev nDCG@10"]
    assert table.rows == [
        ["chance", "0.010", "–", "–", "–", "–"],
        ["base", "–", "0.400", "–", "–", "0.500"],
    ]


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a|b", "a\\|b"),
        ("<script>x</script>", "&lt;script&gt;x&lt;/script&gt;"),
        ("two\nlines", "two lines"),
        ("AT&T", "AT&amp;T"),
        ("[x](http://y)", "\\[x\\]\\(http://y\\)"),
        ("`code` *b* _i_", "\\`code\\` \\*b\\* \\_i\\_"),
        ("a\\", "a\\\\"),
        ("0.123", "0.123"),
    ],
)
def test_markdown_cells_hold_text_only(text: str, escaped: str) -> None:
    assert plain(text) == escaped


def test_a_cell_cannot_add_a_column() -> None:
    lines = markdown(Table("t", ["a", "b"], [["x | y\nz", "<b>"]])).splitlines()
    assert lines == ["| a | b |", "| :--- | ---: |", "| x \\| y z | &lt;b&gt; |"]


def artifact_of(
    root: Path,
    step: str,
    facts: Mapping[str, Any],
    frames: Mapping[str, pl.DataFrame] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Artifact:
    def build(folder: Path) -> Mapping[str, Any]:
        for name, frame in (frames or {}).items():
            frame.write_parquet(folder / name)
        return facts

    named = {"facts": dict(facts), "frames": sorted(frames or {}), **(settings or {})}
    return make_artifact(root, step, 1, named, {}, build)


def measured(root: Path, system: str, value: float) -> Artifact:
    measures = ("nDCG@10", "RR@10", "R@10", "R@100")
    rows = [(system, split, measure, value, 0.01, 2) for split in ("dev", "test") for measure in measures]
    metrics = pl.DataFrame(rows, schema=["system", "split", "measure", "value", "chance", "queries"], orient="row")
    per_query = metrics.select("system", "split", "measure", "value").join(
        pl.DataFrame({"query_hash": [1, 2]}), how="cross"
    )
    step = "baseline" if system in ("chance", "bm25") else "evaluate"
    frames = {"metrics.parquet": metrics, "query_metrics.parquet": per_query}
    return artifact_of(root, step, {"system": system, "value": value}, frames)


@pytest.fixture
def placed(tmp_path: Path) -> list[Placed]:
    sentence = "round-1 replaces warm: nDCG@10 on 2 dev queries +0.1"
    made: list[Placed] = [
        Placed(0, artifact_of(tmp_path, "ingest", {"warnings": ["3 ids like <b>[red]x|y[/red]</b> share a text"]})),
        Placed(0, measured(tmp_path, "chance", 0.01)),
        Placed(0, measured(tmp_path, "base", 0.5)),
        Placed(0, measured(tmp_path, "warm", 0.6)),
        Placed(1, artifact_of(tmp_path, "encode", {"truncated_share": 0.25})),
        Placed(1, artifact_of(tmp_path, "score", {"pairs": 1500, "new": 1200, "reused": 300, "truncated": 15})),
        Placed(1, artifact_of(tmp_path, "score", {"pairs": 500, "new": 400, "reused": 100, "truncated": 5})),
        Placed(1, artifact_of(tmp_path, "denoise", JUDGED)),
        Placed(1, artifact_of(tmp_path, "train", {"unfinished": True, "lists": 32}, settings={"batch": 32})),
        Placed(1, measured(tmp_path, "round-1", 0.7)),
        Placed(1, artifact_of(tmp_path, "promote", {"sentence": sentence, "winner": "round-1", "halved": False})),
    ]
    return made


def printed(summary: Summary) -> str:
    console = Console(file=io.StringIO(), width=160, color_system=None)
    show(summary, console)
    stream = console.file
    assert isinstance(stream, io.StringIO)
    return stream.getvalue()


def test_the_first_line_printed_is_the_verdict(placed: list[Placed]) -> None:
    lines = printed(summarise(RUN, placed, "round-1")).splitlines()
    assert lines[0].startswith("Promoted round-1: test nDCG@10 0.700, base 0.500 (+0.200)")


def test_pairs_false_negatives_and_truncation_are_counted_per_round(placed: list[Placed]) -> None:
    table = summarise(RUN, placed, "round-1").tables[1]
    assert dict(zip(table.head, table.rows[0], strict=True)) == {
        "round": "round 1",
        "pairs": "2,000",
        "scored": "1,600",
        "reused": "400",
        "false negatives": "42",
        "pairs truncated": "1.0%",
        "passages truncated": "25.0%",
    }
    assert len(table.rows) == 1


def test_seconds_add_up(placed: list[Placed]) -> None:
    table = summarise(RUN, placed, "round-1").tables[2]
    assert table.head == ["step", "outside rounds", "round 1", "total"]
    assert [row[0] for row in table.rows] == [
        "ingest", "baseline", "evaluate", "encode", "score", "denoise", "train", "promote", "total",
    ]  # fmt: skip
    assert table.rows[0][2] == "–"
    total = sum(artifact.about()["seconds"] for artifact in (each.artifact for each in placed))
    assert float(table.rows[-1][-1]) == pytest.approx(total, abs=0.11)


def test_what_an_earlier_run_made_costs_nothing_again(placed: list[Placed]) -> None:
    """An unchanged run scored nothing, and its summary must not say that it did."""
    found = [replace(each, made=False) for each in placed]
    summary = summarise(RUN, found, "round-1")
    assert summary.tables[1].rows[0][1:4] == ["2,000", "0", "2,000"]
    assert summary.tables[2].rows[-1][-1] == "0.0"
    assert summary.tables[0] == summarise(RUN, placed, "round-1").tables[0]


def test_notes_warn_of_data_of_unfinished_training_and_of_optimism(placed: list[Placed]) -> None:
    """Pitfalls 29 and 39c."""
    notes = summarise(RUN, placed, "round-1").notes
    assert any(note.startswith("Data: 3 ids like") for note in notes)
    assert any("train: the best checkpoint is the last one" in note for note in notes)
    assert any("round-1 replaces warm" in note for note in notes)
    assert any("optimistic" in note for note in notes)


@pytest.mark.parametrize(
    ("lists", "said"),
    [(1, "only 1 train query has a list, and a batch was to hold 512"), (511, "only 511 train queries"), (512, "")],
)
def test_notes_tell_of_batches_that_could_not_be_filled(
    placed: list[Placed], tmp_path: Path, lists: int, said: str
) -> None:
    """Batch size sets the number of in-batch negatives; a small set, or a rehearsal, has fewer than the recipe says."""
    facts = {"unfinished": False, "lists": lists}
    trained = [Placed(1, artifact_of(tmp_path, step, facts, settings={"batch": 512})) for step in ("train", "warmup")]
    notes = summarise(RUN, [*placed, *trained], "round-1").notes
    told = [note for note in notes if "a batch was to hold" in note]
    assert [note.split(": ")[0] for note in told] == (["Round 1, train", "Round 1, warmup"] if said else [])
    assert all(said in note for note in told)


@pytest.mark.parametrize(
    ("names", "in_batch", "fewer"),
    [(["kl", "contrastive"], True, 1), (["triplet"], True, 1), (["contrastive"], False, 0), (["margin_mse"], True, 0)],
)
def test_fewer_in_batch_negatives_are_told_of_where_an_objective_takes_any(
    placed: list[Placed], tmp_path: Path, names: list[str], in_batch: bool, fewer: int
) -> None:
    settings = {"batch": 512, "in_batch": in_batch, "objectives": [{"name": name} for name in names]}
    trained = artifact_of(tmp_path, "train", {"unfinished": False, "lists": 3}, settings=settings)
    told = [note for note in summarise(RUN, [*placed, Placed(1, trained)], "round-1").notes if "was to hold" in note]
    assert [note.count("fewer in-batch negatives") for note in told] == [fewer]


def test_texts_from_the_data_are_not_taken_for_markup(placed: list[Placed]) -> None:
    summary = summarise(RUN, placed, "round-1")
    assert "<b>[red]x|y[/red]</b>" in printed(summary)
    written = as_markdown(summary)
    assert "<b>" not in written
    assert "&lt;b&gt;\\[red\\]x\\|y\\[/red\\]&lt;/b&gt;" in written


def test_the_summary_ends_with_where_to_look_next(placed: list[Placed]) -> None:
    summary = summarise(RUN, placed, "round-1")
    for text in (printed(summary), as_markdown(summary)):
        assert text.index("remine ui") < text.index("remine sql") < text.index("remine search")


def test_a_run_without_rounds_sends_nobody_to_what_a_round_finds(placed: list[Placed]) -> None:
    before = [each for each in placed if not each.number]
    assert "false_negatives" not in printed(summarise(RUN, before, "warm"))
    assert "false_negatives" in printed(summarise(RUN, placed, "round-1"))


def test_records_carry_the_head(placed: list[Placed]) -> None:
    assert as_records(summarise(RUN, placed, "round-1").tables[0])[0]["test nDCG@10"] == "0.010"


def test_a_system_that_was_recorded_twice_stands_once(placed: list[Placed]) -> None:
    table = summarise(RUN, [*placed, placed[2]], "round-1").tables[0]
    assert [row[0] for row in table.rows] == ["chance", "base", "warm", "round-1"]


def test_a_winner_that_was_not_measured_is_refused(placed: list[Placed]) -> None:
    with pytest.raises(ValueError, match="round-9 was not measured"):
        summarise(RUN, placed, "round-9")


def test_baseline_promotion_export_and_report_work_on_one_warehouse(
    tmp_path: Path, tiny_student: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = Where(home=tmp_path, device="cpu", precision="fp32", threads=1)
    recipe = Promotion()
    with opened_run("distill", "small", recipe, where) as run:
        corpus = ingest_corpus(run, Source(path=str(write_beir(tmp_path / "beir"))))
        base = plain_task(baseline)(run, corpus, StudentSettings(model=str(tiny_student)), Evaluation())
        vectors = plain_task(encode)(run, 0, corpus, base)
        measured_base = plain_task(evaluate)(run, 0, corpus, base, vectors, Evaluation())
        warm = base.model_copy(update={"system": "warm"})
        measured_warm = plain_task(evaluate)(run, 0, corpus, warm, vectors, Evaluation())
        decision = plain_task(promote)(run, 0, (base, measured_base), (warm, measured_warm), recipe, "nDCG@10")
        exported = plain_task(export)(run, corpus, decision.winner, recipe)
        summary = plain_task(report)(run, decision.contender, exported, "nDCG@10")
    assert decision.winner.system == "base"
    assert summary.verdict.startswith("Nothing is promoted")
    assert summary.verdict[:60] in capsys.readouterr().out.replace("\n", " ")
    assert [row[0] for row in summary.tables[0].rows] == ["chance", "bm25", "base", "warm"]
    assert (exported.path / "model" / "README.md").read_text().count("| warm |") == 1
    assert json.loads((run.root / "current" / "small.json").read_text())["system"] == "base"
    folder, system = export_to(where, run.id, tmp_path / "mine")
    assert system == "base"
    assert json.loads((folder / "remine.json").read_text())["student"] == base.fingerprint
    with pytest.raises(LookupError, match="run 99 has no student to export"):
        export_to(where, 99, tmp_path / "other")
    shorter = base_student(where, StudentSettings(model=str(tiny_student), max_length=20))
    other = shorter.model_copy(update={"system": "warm"})
    name_incumbent(run, other, measured_warm, "hand", "people like it better")
    folder, system = export_to(where, run.id, tmp_path / "mine")
    assert (system, json.loads((folder / "remine.json").read_text())["student"]) == ("warm", other.fingerprint)
    with opened_run("distill", "small", recipe, where) as again:
        record(again, decision.artifact, 0)
        for measured in (measured_base, measured_warm):
            record(again, measured, 0)
        plain_task(report)(again, decision.contender, exported, "nDCG@10")
    assert json.loads((run.root / "current" / "small.json").read_text())["by"] == "hand", "nothing was compared anew"
    roll_back(where, "small")
    assert export_to(where, run.id, tmp_path / "mine")[1] == "base", "export follows what is in use"
    board = warehouse_leaderboard(warehouse_of(where), run.id)
    assert set(board["system"]) == {"chance", "bm25", "base", "warm"}
    assert board["chance"].null_count() == 0


def plain_task(task: Any) -> Any:
    """The function in a Prefect task, to be called without a server."""
    return task.fn
