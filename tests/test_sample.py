"""The sample collection: made of a wheel, whole or not at all, the same everywhere."""

import json
import subprocess
import tomllib
import zipfile
from pathlib import Path

import pytest

from tasks import sample as making
from tasks.ingest.assemble import assemble
from tasks.ingest.beir import read_beir
from tasks.sample import collect, download_wheel, make_sample, sheet_pairs, split_of

FACTOR = """
language = "R"
title = "factor"
[create]
action = "From vector"
code = \"\"\"
factor(x)
\"\"\"
[create.levels]
action = "With   levels"
code = "factor(x, levels=1:3)"
[noted]
action = "Only words"
[empty]
action = " "
code = "x"
"""
LIST = """
language = "Python"
name = "list"
[a]
action = "Combine lists"
code = "a + b"
[b]
action = "Combine lists"
code = "[*a, *b]"
"""


def wheel_of(path: Path, sheets: dict[str, str], licence: str = "MIT License, word for word") -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in sheets.items():
            archive.writestr(f"actionsheets/data/{name}", text)
        archive.writestr("actionsheets/main.py", "print()")
        if licence:
            archive.writestr("actionsheets-0.3.0.dist-info/LICENSE", licence)
    return path


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    actions = "".join(f'[n{n}]\naction = "Do {n}"\ncode = "do({n})"\n' for n in range(60))
    sheets = {"r/factor.toml": FACTOR, "python/list.toml": LIST, "many.toml": 'language = "x"\n' + actions}
    return wheel_of(tmp_path / "actionsheets-0.3.0-py3-none-any.whl", sheets)


def test_query_and_title_name_language_and_sheet() -> None:
    assert list(sheet_pairs(tomllib.loads(FACTOR))) == [
        ("From vector [R factor]", "R: factor", "factor(x)"),
        ("With levels [R factor]", "R: factor", "factor(x, levels=1:3)"),
    ]
    assert next(sheet_pairs(tomllib.loads(LIST))) == ("Combine lists [Python list]", "Python: list", "a + b")


def test_a_query_with_two_snippets_keeps_its_first_and_equal_passages_are_one() -> None:
    made = collect([("a", "t", "1"), ("a", "t", "2"), ("b", "t", "1")])
    assert list(made.queries.values()) == ["a", "b"]
    assert list(made.passages.values()) == [("t", "1"), ("t", "2")]
    labels = [label for split in made.labels.values() for label in split]
    assert len(labels) == 2


def test_splits_follow_the_hash_of_the_query() -> None:
    """Pitfall 5. The values were computed apart from this code."""
    assert [split_of(str(n)) for n in range(12)] == [
        "train",
        "dev",
        "train",
        "train",
        "dev",
        "test",
        "train",
        "test",
        "dev",
        "dev",
        "train",
        "train",
    ]
    shares = [split_of(str(n)) for n in range(5000)]
    assert abs(shares.count("train") / 5000 - 0.6) < 0.02
    assert abs(shares.count("dev") / 5000 - 0.2) < 0.02


def test_the_sample_is_a_beir_folder_that_ingest_takes(tmp_path: Path, wheel: Path) -> None:
    counts = make_sample(wheel, tmp_path / "sample")
    made = assemble(read_beir(tmp_path / "sample", {}), 0.2)
    assert counts == {"passages": 64, "queries": 63, **made.facts["counts"]["queries"]}
    assert counts["train"] + counts["dev"] + counts["test"] == 63
    readme = (tmp_path / "sample" / "README.md").read_text()
    assert "MIT License, word for word" in readme
    assert "Niek Den Teuling" in readme
    assert f"train {counts['train']}" in readme


def test_the_same_wheel_gives_the_same_bytes_and_is_not_made_twice(tmp_path: Path, wheel: Path) -> None:
    for name in ("a", "b"):
        make_sample(wheel, tmp_path / name)
    files = sorted(path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*") if path.is_file())
    assert len(files) == 7
    assert all((tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes() for file in files)
    before = (tmp_path / "a").stat().st_ino
    make_sample(wheel, tmp_path / "a")
    assert (tmp_path / "a").stat().st_ino == before


def test_another_wheel_or_code_version_makes_it_anew(
    tmp_path: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pitfall 2: a stage skipped because a file exists."""
    out = tmp_path / "sample"
    make_sample(wheel, out)
    monkeypatch.setattr(making, "VERSION", making.VERSION + 1)
    before = out.stat().st_ino
    make_sample(wheel, out)
    assert out.stat().st_ino != before
    wheel_of(wheel, {"list.toml": LIST})
    assert make_sample(wheel, out)["passages"] == 2


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path, wheel: Path) -> None:
    out = tmp_path / "sample"
    out.mkdir()
    (out / "corpus.jsonl").write_text("mine")
    with pytest.raises(ValueError, match="not an earlier sample"):
        make_sample(wheel, out)
    assert (out / "corpus.jsonl").read_text() == "mine"


def test_a_failure_leaves_no_half_folder(tmp_path: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pitfall 4: half a folder that the next run takes for whole."""
    monkeypatch.setattr(making, "publish_folder", lambda beside, out: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        make_sample(wheel, tmp_path / "new" / "sample")
    assert list((tmp_path / "new").iterdir()) == []


@pytest.mark.parametrize(
    ("sheets", "licence", "said"),
    [
        ({"bad.toml": "action = "}, "MIT", "bad.toml is not TOML"),
        ({"notes.txt": ""}, "MIT", "holds no sheets"),
        ({"list.toml": LIST}, "", "holds no licence"),
    ],
)
def test_a_wheel_that_is_not_as_expected_is_refused(
    tmp_path: Path, sheets: dict[str, str], licence: str, said: str
) -> None:
    path = wheel_of(tmp_path / "w.whl", sheets, licence)
    with pytest.raises(ValueError, match=said):
        make_sample(path, tmp_path / "sample")
    assert not (tmp_path / "sample").exists()


def test_a_file_that_is_no_wheel_is_refused(tmp_path: Path) -> None:
    (tmp_path / "w.whl").write_text("<html>")
    with pytest.raises(ValueError, match="not a wheel"):
        make_sample(tmp_path / "w.whl", tmp_path / "sample")


class Pip:
    """Stands in for the pip process: remembers its commands, and leaves a wheel or fails."""

    def __init__(self, code: int, content: bytes = b"") -> None:
        self.code, self.content = code, content
        self.commands: list[list[str]] = []

    def __call__(self, command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        self.commands.append(command)
        if self.content:
            Path(command[-1], "actionsheets-0.3.0-py3-none-any.whl").write_bytes(self.content)
        return subprocess.CompletedProcess(command, self.code, "", "no matching distribution")


def test_the_wheel_is_downloaded_once(tmp_path: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pip = Pip(0, wheel.read_bytes())
    monkeypatch.setattr(subprocess, "run", pip)
    first = making.sample(tmp_path / "data" / "sample", tmp_path / "wheels")
    assert "actionsheets==0.3.0" in pip.commands[0]
    assert "--no-deps" in pip.commands[0]
    assert download_wheel(tmp_path / "wheels").parent == tmp_path / "wheels"
    assert making.sample(tmp_path / "data" / "sample", tmp_path / "gone") == first
    assert len(pip.commands) == 1
    monkeypatch.setattr(making, "VERSION", making.VERSION + 1)
    assert making.sample(tmp_path / "data" / "sample", tmp_path / "again") == first
    assert len(pip.commands) == 2
    about = json.loads((tmp_path / "data" / "sample" / "sample.json").read_text())
    assert about["requirement"] == "actionsheets==0.3.0"


@pytest.mark.parametrize("pip", [Pip(1), Pip(0), Pip(0, b"<html>")])
def test_a_failed_download_says_what_pip_said_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pip: Pip
) -> None:
    monkeypatch.setattr(subprocess, "run", pip)
    with pytest.raises(RuntimeError, match=r"no matching distribution(.|\n)*put the wheel"):
        making.sample(tmp_path / "sample", tmp_path / "wheels")
    assert not (tmp_path / "sample").exists()
