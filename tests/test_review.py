"""People's answers: what goes out is harmless, what comes back is checked, and training alone learns from it."""

import csv
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import warehouse_samples as sample

from tasks.review.exporting import Wanted, choose, export_queue
from tasks.review.importing import import_answers
from tasks.review.table import grade_of, harmless, read_table, restored
from tasks.where import Where
from warehouse.errors import WarehouseError
from warehouse.queries import quality
from warehouse.reviews import Reviewed, agreement, review_queue

HOSTILE = ["=1+1", "+1", "-2", "@x", "\tx", "\rx", "\nx", "  =1+1", "＝1", "'=1", "'quoted'", "plain", "", " a"]


@pytest.fixture
def home(tmp_path: Path) -> Where:
    return sample.played(tmp_path)


def exported(where: Where, **wanted: Any) -> Path:
    path = where.home / "review.csv"
    export_queue(where, Wanted(**wanted), path)
    return path


def fill(path: Path, answers: dict[tuple[str, str], str], delimiter: str = ",") -> Path:
    """Answer as a person does in a spreadsheet, which writes the file anew."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["relevant"] = answers.get((row["query_id"], row["passage_id"]), "")
    filled = path.with_name(f"filled-{len(answers)}{len(delimiter)}.csv")
    with filled.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return filled


def labels(where: Where) -> list[tuple[Any, ...]]:
    sql = (
        "SELECT qi.external_id, pi.external_id, grade, l.split, source, l.until IS NULL FROM labels AS l "
        "JOIN query_ids AS qi USING (query_key) JOIN passage_ids AS pi USING (passage_key) "
        "WHERE source <> 'given' AND qi.shown AND pi.shown ORDER BY ALL"
    )
    return sample.rows(sample.warehouse(where), sql)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_cell_that_would_run_is_made_harmless_and_restored(text: str) -> None:
    """A passage of somebody's corpus would run as a formula in the reviewer's spreadsheet."""
    cell = harmless(text)
    assert not cell.lstrip(" ").startswith(("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"))
    assert restored(cell) == text


def test_the_queue_holds_the_doubtful_and_a_share_of_certain_ones(home: Where) -> None:
    with exported(home, certain_share=2, with_verdicts=True).open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3
    assert [(row["query_id"], row["passage_id"]) for row in rows if row["verdict"] == "ambiguous"] == [("q2", "d5")]
    assert {row["relevant"] for row in rows} == {""}
    found = next(row for row in rows if row["passage_id"] == "d5")
    assert (found["query"], found["passage"], found["rank"], found["reason"]) == ("sky", "deep sea", "2", "by hand")
    assert float(found["probability"]) == pytest.approx(1 / (1 + 2.718281828**-0.25), abs=1e-3)


def test_the_draw_of_certain_ones_is_the_seeds(home: Where) -> None:
    queue = review_queue(sample.warehouse(home), 1, 1)
    drawn = [choose(queue, Wanted(certain_share=2, seed=seed))[1]["passage_hash"].to_list() for seed in (1, 1, 2, 3, 4)]
    assert drawn[0] == drawn[1]
    assert len({tuple(sorted(each)) for each in drawn}) > 1


def test_a_band_of_probabilities_stands_in_where_no_verdict_is_ambiguous(home: Where) -> None:
    doubtful, certain = choose(review_queue(sample.warehouse(home), 1, 1), Wanted(band=(0.8, 0.95), certain_share=0))
    assert sorted(doubtful["passage_id"]) == ["d2", "d6"]
    assert certain.is_empty()
    limited = choose(review_queue(sample.warehouse(home), 1, 1), Wanted(band=(0.8, 0.95), limit=1))[0]
    assert limited["passage_id"].to_list() == ["d2"], "the least certain first"
    with pytest.raises(ValueError, match=r"--band 0\.9 0\.2: needed two probabilities, the lower one first"):
        choose(review_queue(sample.warehouse(home), 1, 1), Wanted(band=(0.9, 0.2)))


def test_answers_that_are_there_are_never_written_over(home: Where) -> None:
    path = exported(home)
    with pytest.raises(FileExistsError, match="somebody's answers may be in it"):
        export_queue(home, Wanted(run=9), path)


@pytest.mark.parametrize("delimiter", [",", ";"])
def test_answers_become_labels_of_their_own_source_and_leave_the_queue(home: Where, delimiter: str) -> None:
    filled = fill(
        exported(home, certain_share=9), {("q2", "d5"): "Yes", ("q1", "d2"): "no", ("q2", "d6"): "2"}, delimiter
    )
    assert import_answers(home, filled, "ann") == Reviewed(3, 0, 0, 0)
    assert labels(home) == [
        ("q1", "d2", 0, "train", "review:ann", True),
        ("q2", "d5", 1, "train", "review:ann", True),
        ("q2", "d6", 2, "train", "review:ann", True),
    ]
    assert import_answers(home, filled, "ann") == Reviewed(0, 0, 0, 3), "the same file again changes nothing"
    left = review_queue(sample.warehouse(home), 1, 1)
    assert sorted(left["passage_id"]) == ["d2", "d3", "d6"]
    assert quality(sample.warehouse(home)).is_empty()


def test_a_changed_answer_closes_the_old_label_and_withdraw_takes_it_back(home: Where) -> None:
    path = exported(home)
    import_answers(home, fill(path, {("q2", "d5"): "yes"}))
    assert import_answers(home, fill(path, {("q2", "d5"): "no"})) == Reviewed(0, 1, 0, 0)
    assert [row[2:] for row in labels(home)] == [(0, "train", "review", True), (1, "train", "review", False)]
    assert import_answers(home, fill(path, {("q2", "d5"): "withdraw"})) == Reviewed(0, 0, 1, 0)
    assert [row[-1] for row in labels(home)] == [False, False]


def write(where: Where, text: str) -> Path:
    path = where.home / "hand.csv"
    path.write_bytes(text.encode("utf-8"))
    return path


@pytest.mark.parametrize(
    ("rows", "error"),
    [
        ("q3,d1,yes", r"1 rows review queries outside train.*row 3: sea is a query of test"),
        ("q9,d1,yes", r"1 rows name a query that corpus 'toy' does not have.*row 3"),
        ("q1,d9,yes", r"1 rows name a passage that corpus 'toy' does not have.*row 3"),
        ("q1,d3,yes\nq1,d3,no", r"2 rows answer for one pair differently.*row 3 says 1; row 4 says 0"),
        ("q1,d1,no", r"1 rows say no to what the corpus itself labels relevant.*correct the label in the source"),
        (
            "q1,d3,perhaps\nq1,d3,-1",
            r"2 rows cannot be read.*\n  row 3: relevant is 'perhaps'; needed yes, no.*\n  row 4",
        ),
        ("q1,,yes", r"row 3: query_id is 'q1' and passage_id ''; needed both"),
    ],
)
def test_an_answer_that_cannot_be_used_refuses_the_whole_file(home: Where, rows: str, error: str) -> None:
    """Half an import would leave people guessing which answers count; dev and test must stay as they are."""
    path = write(home, f"query_id,passage_id,relevant\nq1,d6,yes\n{rows}\n")
    with pytest.raises((ValueError, WarehouseError), match=f"(?s){error}") as told:
        import_answers(home, path)
    assert "nothing was imported" in str(told.value)
    assert labels(home) == []


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ("query_id,relevant\nq1,yes\n", "needed relevant, and pair or query_id and passage_id"),
        ("query_id,passage_id,relevant\nq1,d3,\n", "no row has an answer"),
        ("pair,relevant\nq12-p34,yes\n", "row 2: pair is 'q12-p34'"),
        ("relevant,pair\nyes\n", "row 2: pair is ''"),
        ("relevant,query_id,passage_id\nyes,q1\n", "row 2: query_id is 'q1' and passage_id ''"),
        (
            "query_id,passage_id,relevant,corpus\nq1,d3,yes,other\n",
            "row 2 names corpus 'other'; the warehouse has 'toy'",
        ),
        ("relevant,relevant,pair\n,,\n", "2 columns are called 'relevant'"),
    ],
)
def test_what_is_no_table_of_answers_is_refused_with_what_was_needed(home: Where, content: str, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        import_answers(home, write(home, content))


def test_a_folder_is_no_table_of_answers(home: Where) -> None:
    with pytest.raises(IsADirectoryError, match="is a folder; needed one CSV file"):
        import_answers(home, home.home)


def test_a_table_in_another_encoding_says_how_to_save_it(home: Where) -> None:
    path = home.home / "latin.csv"
    path.write_bytes("query_id,passage_id,relevant\nä,d1,yes\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"not UTF-8 .* save it as “CSV UTF-8”"):
        read_table(path, "toy")


def test_a_reviewers_name_that_a_source_cannot_hold_is_refused(home: Where) -> None:
    with pytest.raises(ValueError, match="--reviewer 'a,b'"):
        import_answers(home, exported(home), "a,b")


def test_words_of_people_become_grades() -> None:
    assert [grade_of(word) for word in ("yes", "Y", "TRUE", "no", " n ", "0", "3", "withdraw")] == [
        1, 1, 1, 0, 0, 0, 3, None,
    ]  # fmt: skip


def test_agreement_counts_the_teacher_against_people(home: Where) -> None:
    answers = {("q1", "d2"): "yes", ("q2", "d6"): "no", ("q1", "d3"): "no", ("q2", "d2"): "yes", ("q2", "d5"): "yes"}
    import_answers(home, fill(exported(home, certain_share=9), answers))
    # Approved by probability >= 0.5: d2 of q1 (0.875), d6 (0.92) and d5 (0.56) of q2; people say yes, no, yes.
    # Not approved: d3 of q1 (no) and d2 of q2 (yes).
    (row,) = agreement(sample.warehouse(home), 1).rows(named=True)
    assert (row["reviewed"], row["relevant"], row["approved"], row["agree"]) == (5, 3, 3, 3)
    assert (row["agreement"], row["missed_share"]) == (0.6, 0.5)
    assert row["approved_precision"] == pytest.approx(2 / 3)


def test_two_reviewers_stand_side_by_side_and_the_higher_grade_counts(home: Where) -> None:
    path = exported(home)
    import_answers(home, fill(path, {("q2", "d5"): "yes"}), "ann")
    import_answers(home, fill(path, {("q2", "d5"): "no"}), "bob")
    found = sample.rows(sample.warehouse(home), "SELECT grade, reviewers FROM review_labels")
    assert found == [(1, 2)]


def test_nothing_in_doubt_says_what_to_do(home: Where) -> None:
    import_answers(home, fill(exported(home), {("q2", "d5"): "yes"}))
    with pytest.raises(LookupError, match=r"no candidate is in doubt .* --band 0\.3 0\.7"):
        export_queue(home, Wanted(), home.home / "again.csv")
    with pytest.raises(LookupError, match="run 9 does not exist or has not come as far as denoising"):
        export_queue(home, Wanted(run=9), home.home / "again.csv")
    with pytest.raises(LookupError, match="run 1 has no verdicts of round 9; its last round that has is 1"):
        export_queue(home, Wanted(number=9), home.home / "again.csv")
    assert not (home.home / "again.csv").exists()


def test_texts_of_the_corpus_never_run_and_long_ones_are_cut(home: Where) -> None:
    queue = review_queue(sample.warehouse(home), 1, 1).head(1)
    hostile = queue.with_columns(query=pl.lit("=HYPERLINK(1)"), passage=pl.lit("+" + "x" * 40_000))
    from tasks.review.table import write_table

    write_table(home.home / "hostile.csv", hostile)
    with (home.home / "hostile.csv").open(encoding="utf-8-sig", newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["query"] == "'=HYPERLINK(1)"
    assert row["passage"].startswith("'+xx")
    assert len(row["passage"]) < 32_767
