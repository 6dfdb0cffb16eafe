"""`remine review` and `remine lists` from the command line: what they say, and what they leave behind."""

import csv
import sys
from pathlib import Path

import pytest
import warehouse_samples as sample
from typer.testing import CliRunner

from flows.cli.main import app, main

GROUPS = [("review", "export"), ("review", "import"), ("lists", "export"), ("lists", "import")]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    sample.played(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("REMINE_HOME", raising=False)
    return tmp_path


def told(*arguments: str) -> str:
    """What a command says when it succeeds."""
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stderr


@pytest.mark.parametrize(("group", "command"), GROUPS)
def test_every_command_explains_itself_with_an_example(group: str, command: str) -> None:
    result = CliRunner().invoke(app, [group, command, "--help"])
    assert result.exit_code == 0
    assert "Example:" in result.stdout
    assert f"remine {group} {command}" in " ".join(result.stdout.split())


def test_candidates_go_out_and_answers_come_back(home: Path) -> None:
    said = told("review", "export", "--out", "review.csv", "--certain-share", "1")
    assert "run 1, round 1, 1 doubtful candidates and 1 certain ones as a check" in said
    with Path("review.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["relevant"] = "yes"
    with Path("review.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    assert "2 labels are new, 0 changed" in told("review", "import", "review.csv", "--reviewer", "ann")
    assert "0 labels are new, 0 changed, 0 withdrawn, 2 as they were" in told(
        "review", "import", "review.csv", "--reviewer", "ann"
    )


def test_lists_go_out_and_scores_come_back(home: Path) -> None:
    said = told("lists", "export", "1", "--format", "trec", "--out", "run.trec")
    assert "Wrote run.trec: 2 lists of run 1, round 1." in said
    assert "8 pairs of big, 0 of them new in the store" in told(
        "lists", "import", "run.trec", "--format", "trec", "--teacher", "big"
    )
    said = told("lists", "export", "1", "--format", "colbert", "--out", "lists", "--negatives", "2")
    assert "1 lists of run 1, round 1; 1 queries have too few negatives and are left out" in said


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["review", "import", "none.csv"], "none.csv: no such file; `remine review export` writes one"),
        (["review", "export", "--run", "7", "--out", "x.csv"], "run 7 does not exist or has not come as far"),
        (
            ["lists", "export", "7", "--format", "trec", "--out", "x"],
            "run 7 has no lists of round 1; it does not exist",
        ),
        (["lists", "import", "none", "--format", "trec", "--teacher", "big"], "none: no such file or folder"),
    ],
)
def test_an_error_is_one_sentence(
    home: Path,
    arguments: list[str],
    sentence: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["remine", *arguments])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 1
    said = capsys.readouterr().err
    assert said.startswith("remine: ") and sentence in said
    assert "not foreseen" not in said and "Traceback" not in said


@pytest.mark.parametrize(("group", "command"), GROUPS)
def test_without_a_warehouse_nothing_is_made(
    tmp_path: Path, group: str, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    needed = {
        ("review", "export"): ["--out", "x"],
        ("review", "import"): ["x"],
        ("lists", "export"): ["1", "--format", "trec", "--out", "x"],
        ("lists", "import"): ["x", "--format", "trec", "--teacher", "big"],
    }
    with pytest.raises(FileNotFoundError, match="there is no warehouse yet"):
        CliRunner().invoke(app, [group, command, *needed[group, command]], catch_exceptions=False)
    assert list(tmp_path.iterdir()) == []
