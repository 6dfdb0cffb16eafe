"""Tables for the Prefect pages: verdicts counted, and false negatives that a person can read."""

from pathlib import Path

import polars as pl
from test_summary import JUDGED, artifact_of

from tasks.report.shown import LONGEST, to_read, verdicts_table
from tasks.report.summary import Placed
from tasks.report.tables import as_records


def test_verdicts_are_counted_round_by_round(tmp_path: Path) -> None:
    second = {**JUDGED, "verdicts": {**JUDGED["verdicts"], "approved": 1234}, "empty_lists": 3}
    placed = [Placed(1, artifact_of(tmp_path, "denoise", JUDGED)), Placed(2, artifact_of(tmp_path, "denoise", second))]
    rows = {row["verdict"]: row for row in as_records(verdicts_table(placed))}
    assert rows["approved"] == {"verdict": "approved", "round 1": "42", "round 2": "1,234"}
    assert rows["negative"]["round 2"] == "1,400"
    assert rows["queries without a training list"]["round 2"] == "3"
    assert verdicts_table([]).rows == [], "a run that came to no round has no such table"


def test_a_false_negative_is_a_row_with_what_was_labelled_and_stays_text() -> None:
    row = {"round": 1, "query": "how\nto <b>join</b>", "passage": "word " * 100, "labelled": ["first", "[x](y)"]}
    found = pl.DataFrame([{**row, "rank": 3, "probability": 0.97, "logit": 4.0, "reason": "0.97 is above 0.95"}])
    _, rule, line = to_read(found).splitlines()
    assert rule == "| :--- | :--- | :--- | :--- |"
    query, passage, said, labelled = line.strip("| ").split(" | ")
    assert query == "how to &lt;b&gt;join&lt;/b&gt;"
    assert len(passage) == LONGEST and passage.endswith("…")
    assert (said, labelled) == ("rank 3; 0.97 is above 0.95", "first — or — \\[x\\]\\(y\\)")
    assert to_read(found.clear()) == ""
