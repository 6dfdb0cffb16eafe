"""Artifacts exist only when whole, and are named by everything that determines them."""

import json
from pathlib import Path
from typing import Any

import pytest

from tasks.artifacts import NotMade, looking, make_artifact, make_resumable, name_artifact


def writes(text: str, calls: list[str]) -> Any:
    def build(folder: Path) -> dict[str, Any]:
        calls.append(text)
        (folder / "out.txt").write_text(text)
        return {"length": len(text)}

    return build


def test_what_is_there_is_not_built_again(tmp_path: Path) -> None:
    calls: list[str] = []
    first = make_artifact(tmp_path, "mine", 1, {"depth": 3}, {"corpus": "aa"}, writes("x", calls))
    again = make_artifact(tmp_path, "mine", 1, {"depth": 3}, {"corpus": "aa"}, writes("y", calls))
    assert first == again and calls == ["x"]
    assert again.file("out.txt").read_text() == "x"
    assert again.facts == {"length": 1}


@pytest.mark.parametrize(
    "change",
    [{"code": 2}, {"settings": {"depth": 4}}, {"inputs": {"corpus": "bb"}}, {"step": "score"}],
    ids=["code", "settings", "inputs", "step"],
)
def test_any_change_makes_another_artifact(tmp_path: Path, change: dict[str, Any]) -> None:
    """Pitfall 2: a stage skipped because a file exists, though what determines it changed."""
    same: dict[str, Any] = {"step": "mine", "code": 1, "settings": {"depth": 3}, "inputs": {"corpus": "aa"}}
    assert name_artifact(tmp_path, **same) != name_artifact(tmp_path, **{**same, **change})


def test_an_interrupted_step_leaves_nothing_that_could_be_taken_for_whole(tmp_path: Path) -> None:
    """Pitfall 4: half a file that the next run takes for whole."""

    def breaks(folder: Path) -> dict[str, Any]:
        (folder / "out.txt").write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_artifact(tmp_path, "mine", 1, {}, {}, breaks)
    named = name_artifact(tmp_path, "mine", 1, {}, {})
    assert not named.path.exists()
    assert list((tmp_path / "mine").iterdir()) == []
    assert make_artifact(tmp_path, "mine", 1, {}, {}, writes("whole", [])).file("out.txt").read_text() == "whole"


def test_the_note_beside_the_result_says_what_it_was_made_of(tmp_path: Path) -> None:
    artifact = make_artifact(tmp_path, "mine", 3, {"depth": 3}, {"corpus": "aa"}, writes("x", []))
    about = json.loads((artifact.path / "artifact.json").read_text())
    assert about["settings"] == {"depth": 3} and about["inputs"] == {"corpus": "aa"} and about["code"] == 3
    assert about["fingerprint"] == artifact.fingerprint
    assert "torch" in about["versions"] and about["seconds"] >= 0


def test_a_file_that_went_missing_is_named(tmp_path: Path) -> None:
    artifact = make_artifact(tmp_path, "mine", 1, {}, {}, writes("x", []))
    (artifact.path / "out.txt").unlink()
    with pytest.raises(FileNotFoundError, match=r"out\.txt.*incomplete"):
        artifact.file("out.txt")


def test_what_a_killed_process_left_is_cleared_away(tmp_path: Path) -> None:
    """Pitfall 4: nothing is cleaned up after a kill but by the next start."""
    named = name_artifact(tmp_path, "mine", 1, {}, {})
    left = named.path.with_name(f"{named.path.name}.tmp-999999")
    left.mkdir(parents=True)
    (left / "out.txt").write_text("half")
    make_artifact(tmp_path, "mine", 1, {}, {}, writes("whole", []))
    assert [path.name for path in (tmp_path / "mine").iterdir()] == [named.path.name]


def test_looking_names_what_is_missing_and_makes_nothing(tmp_path: Path) -> None:
    """A plan that builds, or clears the state of an interrupted training, is no plan."""
    calls: list[str] = []
    named = name_artifact(tmp_path, "train", 1, {}, {})
    state = tmp_path / "state" / named.fingerprint[:16]
    state.mkdir(parents=True)
    with looking(), pytest.raises(NotMade) as told:
        make_resumable(tmp_path, "train", 1, {}, {}, lambda folder, kept: writes("x", calls)(folder))
    assert told.value.artifact == named and calls == [] and not named.path.exists()
    make_artifact(tmp_path, "train", 1, {}, {}, writes("x", calls))
    with looking():
        found = make_resumable(tmp_path, "train", 1, {}, {}, lambda folder, kept: writes("y", calls)(folder))
    assert found == named and calls == ["x"] and state.exists()
    make_resumable(tmp_path, "train", 1, {}, {}, lambda folder, kept: writes("y", calls)(folder))
    assert calls == ["x"] and not state.exists()
