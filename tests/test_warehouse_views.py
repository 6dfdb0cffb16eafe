"""What people see: every view on a corpus worked out by hand."""

import shutil
from math import exp
from pathlib import Path

import duckdb
import pytest
import warehouse_samples as sample

from warehouse.connect import Warehouse
from warehouse.load import link_round, register_artifact, start_run
from warehouse.queries import leaderboard, quality, run_rows, steps

Rows = list[tuple[object, ...]]


def sigmoid(x: float) -> float:
    return 1 / (1 + exp(-x))


@pytest.fixture(scope="module")
def wh(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    folder = tmp_path_factory.mktemp("views")
    opened, run = sample.open_warehouse(folder)
    sample.play_round(opened, run, folder)
    return opened


@pytest.fixture
def mine(wh: Warehouse, tmp_path: Path) -> Warehouse:
    """A copy that a test may spoil; nobody has the file open when it is copied."""
    return Warehouse(Path(shutil.copy(wh.path, tmp_path)))


def test_every_table_view_column_and_macro_is_described(wh: Warehouse) -> None:
    """A person who opens the file has nothing else to go by."""
    bare = sample.rows(
        wh,
        "SELECT table_name, '' FROM duckdb_tables() WHERE coalesce(comment, '') = '' UNION ALL "
        "SELECT view_name, '' FROM duckdb_views() WHERE NOT internal AND coalesce(comment, '') = '' UNION ALL "
        "SELECT table_name, column_name FROM duckdb_columns() WHERE NOT internal AND coalesce(comment, '') = '' "
        "UNION ALL SELECT function_name, '' FROM duckdb_functions() WHERE NOT internal AND coalesce(comment, '') = ''",
    )
    assert bare == []
    (counted,) = sample.rows(
        wh,
        "SELECT (SELECT count(*) FROM duckdb_tables() WHERE NOT internal), "
        "(SELECT count(*) FROM duckdb_views() WHERE NOT internal), "
        "(SELECT count(*) FROM duckdb_functions() WHERE NOT internal)",
    )
    assert counted == (22, 26, 2)


def test_what_mining_left_out_is_counted_by_miner(wh: Warehouse) -> None:
    """Pitfall 19: candidates that are silently fewer than asked for."""
    counts = sample.rows(wh, "SELECT run, round, miner, fate, passages, share FROM mining_counts ORDER BY fate")
    assert counts == [(1, 1, "warm", "kept", 6, 0.75), (1, 1, "warm", "near duplicate", 2, 0.25)]
    assert sample.rows(wh, "SELECT round, miner, recall FROM mining_recall") == [(1, "warm", 0.875)]


def test_scored_candidates_show_ids_texts_score_label_and_verdict(wh: Warehouse) -> None:
    found = sample.rows(
        wh,
        "SELECT query_id, query, passage_id, passage, rank, student_score, logit, probability, label, "
        "verdict, teacher, miner, split FROM scored_candidates WHERE run = 1 AND round = 1 ORDER BY query_id, rank",
    )
    assert len(found) == 6
    # The verdict's own probability comes before the teacher's calibration.
    assert found[0][:8] == ("q1", "apple", "d2", "green apple", 1, 0.75, 3.0, 0.875)
    assert found[0][8:] == (None, "approved", "big", "warm", "train")
    assert found[1][7] == pytest.approx(sigmoid(-2.0))
    assert [row[2] for row in found] == ["d2", "d3", "d6", "d2", "d5", "d6"]


def test_a_text_with_several_ids_is_shown_once_under_the_smallest(wh: Warehouse) -> None:
    """Pitfall 16: the same passage twice in a list."""
    found = sample.rows(wh, "SELECT query_id, passage_id, passage, logit FROM scored_positives ORDER BY query_id")
    assert found == [("q1", "d1", "Fruit red apple", 1.0), ("q2", "d3", "blue sky", 4.0)]


def test_verdicts_are_split_into_false_and_hard_negatives_and_the_review_queue(wh: Warehouse) -> None:
    def pairs(view: str) -> Rows:
        return sample.rows(wh, f"SELECT query_id, passage_id FROM {view} ORDER BY ALL")

    assert pairs("false_negatives") == [("q1", "d2"), ("q2", "d6")]
    assert pairs("hard_negatives") == [("q1", "d3"), ("q1", "d6"), ("q2", "d2")]
    assert pairs("ambiguous") == [("q2", "d5")]


def test_disagreements_are_candidates_that_move_by_half_the_list(wh: Warehouse) -> None:
    found = sample.rows(
        wh, "SELECT query_id, passage_id, student_rank, teacher_rank, gap, scored FROM disagreements ORDER BY gap"
    )
    assert found == [("q2", "d2", 1, 3, -2, 3), ("q2", "d6", 3, 1, 2, 3)]


def test_weak_positives_name_what_the_teacher_prefers(wh: Warehouse) -> None:
    found = sample.rows(
        wh,
        "SELECT query_id, passage_id, logit, better, best_passage_id, best_passage, best_logit, best_verdict "
        "FROM weak_positives",
    )
    assert found == [("q1", "d1", 1.0, 1, "d2", "green apple", 3.0, "approved")]


def test_training_lists_hold_ids_and_logits_in_the_same_order(wh: Warehouse) -> None:
    found = sample.rows(
        wh, "SELECT query_id, passage_ids, logits, targets, verdicts FROM training_lists ORDER BY query_id"
    )
    assert found[0] == (
        "q1",
        ["d1", "d2", "d3", "d6"],
        [1.0, 3.0, -2.0, -4.0],
        [2.0, 6.0, -4.0, -8.0],
        ["positive", "approved", "negative", "negative"],
    )
    assert found[1][1] == ["d3", "d2", "d5", "d6"]


def test_the_histogram_counts_each_score_once(wh: Warehouse) -> None:
    found = sample.rows(
        wh, "SELECT logit_from, logit_to, candidates, approved, positives FROM score_histogram ORDER BY logit_from"
    )
    assert found == [
        (-4.0, -3.5, 1, 0, 0),
        (-3.0, -2.5, 1, 0, 0),
        (-2.0, -1.5, 1, 0, 0),
        (0.0, 0.5, 1, 0, 0),
        (1.0, 1.5, 0, 0, 1),
        (2.5, 3.0, 1, 1, 0),
        (3.0, 3.5, 1, 1, 0),
        (4.0, 4.5, 0, 0, 1),
    ]


def test_coverage_counts_scored_candidates_and_positives(wh: Warehouse) -> None:
    found = sample.rows(
        wh, "SELECT teacher, queries, candidates, scored, share, judged, positives, positives_scored FROM coverage"
    )
    assert found == [("big", 2, 6, 6, 1.0, 6, 2, 2)]


def test_top_k_ranks_every_query_for_a_teacher_by_name_or_fingerprint(wh: Warehouse) -> None:
    wanted = [("q1", 1, "d2", 3.0), ("q1", 2, "d1", 1.0), ("q2", 1, "d3", 4.0), ("q2", 2, "d6", 2.5)]
    for teacher in ("big", "t1"):
        found = f"SELECT query_id, rank, passage_id, logit FROM top_k('{teacher}', 2) ORDER BY ALL"
        assert sample.rows(wh, found) == wanted


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("FROM top_k('nobody', 2)", r"no teacher is called nobody; there are: big \(t1\)"),
        ("SELECT count(*) FROM top_k('nobody', 2)", "no teacher is called nobody"),
        ("FROM threshold_sweep(1, 2)", r"no run 1 has mined a round 2; there are \(run\.round\): 1\.1"),
        ("SELECT 1 FROM threshold_sweep(9, 1) WHERE threshold = 0.5", "no run 9 has mined a round 1"),
    ],
)
def test_a_macro_says_what_is_not_there(wh: Warehouse, question: str, sentence: str) -> None:
    """An empty answer to a slip of the pen reads as: the teacher approves of nothing."""
    with pytest.raises(duckdb.Error, match=sentence):
        sample.rows(wh, question)


def test_threshold_sweep_says_what_would_be_dropped(wh: Warehouse) -> None:
    found = sample.rows(
        wh,
        "SELECT dropped, candidates, queries_emptied, positives, positives_above FROM threshold_sweep(1, 1) "
        "WHERE threshold IN (0.01, 0.5, 0.8, 0.9) ORDER BY threshold",
    )
    # Probabilities: q1 0.875, 0.119, 0.018; q2 0.047, 0.562, 0.924; positives 0.731 and 0.982.
    assert found == [(6, 6, 2, 2, 2), (3, 6, 0, 2, 2), (2, 6, 0, 2, 1), (1, 6, 0, 2, 1)]


def test_a_healthy_warehouse_passes_every_check(wh: Warehouse) -> None:
    assert quality(wh).is_empty()
    assert sample.rows(wh, "SELECT count(*), sum(problems) FROM data_quality") == [(16, 0)]


def cost(wh: Warehouse, run: int) -> list[tuple[object, ...]]:
    columns = "round, pairs, scored, reused, tokens, truncated, scoring_seconds, seconds"
    return sample.rows(wh, f"SELECT {columns} FROM cost WHERE run = {run} ORDER BY round")


def test_leaderboard_cost_steps_and_false_negatives_of_a_run(wh: Warehouse) -> None:
    assert leaderboard(wh, 1).rows() == [
        ("round-1", "test", "nDCG@10", 0.75, 0.1, 1),
        ("base", "test", "nDCG@10", 0.5, 0.1, 1),
    ]
    assert cost(wh, 1) == [(1, 8, 6, 2, 42, 1, 2.5, 10.0)]
    assert steps(wh, 1)["step"].to_list() == ["denoise", "evaluate", "mine", "score"]
    found = sample.rows(wh, "SELECT query_id, passage_id FROM false_negatives WHERE run = 1 ORDER BY probability DESC")
    assert found[0] == ("q2", "d6") and len(found) == 2
    assert run_rows(wh).select("run", "status", "corpus", "rounds").rows() == [(1, "running", "toy", 1)]


def test_a_run_that_finds_everything_done_costs_nothing(mine: Warehouse) -> None:
    """Otherwise the summary of an unchanged re-run would claim the first run's work."""
    again = start_run(mine, "distill", "sample", "{}", {})
    told = sample.about("score", "s1", {"teacher": "t1"}, pairs=8, new=6, tokens=42, truncated=1)
    link_round(mine, again, 1, "score", register_artifact(mine, again, told, "artifacts/score"))
    assert cost(mine, again) == [(1, 8, 0, 8, 0, 1, 0.0, 0.0)]
    assert cost(mine, 1) == [(1, 8, 6, 2, 42, 1, 2.5, 10.0)]


def test_an_artifact_from_before_the_run_is_found_not_made(mine: Warehouse) -> None:
    """A new warehouse beside old artifacts: the first run to register them did not pay for them."""
    again = start_run(mine, "distill", "sample", "{}", {})
    told = {**sample.about("score", "s0", pairs=8, new=8, tokens=42), "made_at": "2020-01-01T00:00:00+00:00"}
    link_round(mine, again, 1, "score", register_artifact(mine, again, told, "artifacts/old"))
    assert cost(mine, again) == [(1, 8, 0, 8, 0, None, 0.0, 0.0)]


def test_an_unscored_candidate_is_shown_and_is_in_no_list(mine: Warehouse) -> None:
    """Pitfall 8: a missing score filled with a default."""
    with mine.write() as con:
        con.execute("DELETE FROM teacher_scores WHERE logit = -4.0")
        con.execute("UPDATE verdicts SET probability = NULL, judgement = NULL WHERE judgement = -8.0")
    missing = "SELECT query_id, passage_id, logit, probability FROM scored_candidates WHERE logit IS NULL"
    assert sample.rows(mine, missing) == [("q1", "d6", None, None)]
    assert sample.rows(mine, "SELECT scored, candidates FROM coverage") == [(5, 6)]
    listed = "SELECT passage_ids FROM training_lists WHERE query_id = 'q1'"
    assert sample.rows(mine, listed) == [(["d1", "d2", "d3"],)]
    assert quality(mine)["name"].to_list() == ["score_ledger"]


BROKEN = {
    "duplicate_scores": "INSERT INTO teacher_scores FROM teacher_scores WHERE logit = 4.0",
    "duplicate_candidates": "INSERT INTO candidates FROM candidates WHERE rank = 1",
    "duplicate_verdicts": "INSERT INTO verdicts FROM verdicts WHERE verdict = 'positive'",
    "duplicate_rankings": "INSERT INTO rankings VALUES (1, 1, 1, 1, 0.5), (1, 1, 2, 1, 0.4)",
    "orphan_scores": "UPDATE teacher_scores SET passage_key = 99 WHERE logit = 4.0",
    "orphan_pairs": "UPDATE candidates SET query_key = 99 WHERE rank = 1",
    "orphan_measures": "UPDATE metrics SET artifact_id = 99",
    "orphan_ids": "UPDATE labels SET passage_key = 99",
    "orphan_rounds": "DELETE FROM artifacts WHERE step = 'evaluate'",
    "ambiguous_ids": "UPDATE passage_ids SET shown = true",
    "score_ledger": "UPDATE shard_loads SET n_new = 7 WHERE table_name = 'teacher_scores'",
    "fact_ledger": "DELETE FROM metrics WHERE system = 'base'",
    "known_positives_mined": "UPDATE labels SET passage_key = (SELECT max(passage_key) FROM candidates WHERE rank = 1)",
    "candidates_without_verdict": "DELETE FROM verdicts WHERE verdict = 'ambiguous'",
    "measures_out_of_range": "UPDATE metrics SET value = 1.5",
}


@pytest.mark.parametrize("check", BROKEN)
def test_each_check_finds_what_it_is_for(mine: Warehouse, check: str) -> None:
    with mine.write() as con:
        con.execute(BROKEN[check])
    assert check in quality(mine)["name"].to_list()


def test_views_work_where_the_file_is_attached_under_another_name(wh: Warehouse) -> None:
    """BI tools attach; a view that says its own file's name would break there."""
    con = duckdb.connect()
    con.execute(f"ATTACH '{wh.path}' AS elsewhere (READ_ONLY)")
    assert con.execute("SELECT count(*) FROM elsewhere.scored_candidates").fetchone() == (6,)
    assert con.execute("SELECT sum(problems) FROM elsewhere.data_quality").fetchone() == (0,)
    con.close()


def test_what_two_rounds_share_was_made_in_the_first_of_them(tmp_path: Path) -> None:
    """Counted in both, a second round that found nothing new would look as dear as the first."""
    opened, run = sample.open_warehouse(tmp_path)
    sample.play_round(opened, run, tmp_path)
    (before,) = sample.rows(opened, "SELECT sum(scored) FROM cost")
    assert before[0] > 0
    shared = sample.rows(opened, "SELECT step, artifact_id FROM rounds WHERE round = 1 AND step = 'score'")
    for step, artifact in shared:
        link_round(opened, run, 2, step, artifact)
    assert shared
    assert sample.rows(opened, "SELECT sum(scored) FROM cost") == [before]
    assert sample.rows(opened, "SELECT DISTINCT made FROM steps WHERE round = 2") == [(False,)]
