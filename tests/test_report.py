"""The report: one file that loads nothing, shows texts as texts, and says what is true first."""

import json
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import cookbook_samples
import polars as pl
import pytest
import warehouse_samples as sample
from copies import copied
from typer.testing import CliRunner
from warehouse_samples import about, frame, query_hash

from flows.cli.main import app
from tasks.denoise.settings import PROBABILITIES, READ, Denoising
from tasks.report.page import report_page
from tasks.report.toml import as_toml
from warehouse import report_rows
from warehouse.connect import Warehouse
from warehouse.load import (
    link_round,
    load_corpus,
    load_metrics,
    load_query_metrics,
    register_artifact,
    start_run,
)

HOSTILE = "<script>alert(1)</script><img src=http://evil/x onerror=alert(1)> \"'&"
SETTINGS = '{"name": "toy", "denoising": {"policy": "drop", "approve": 0.5, "drop_below": 0.1}, "x": null}'


class Tags(HTMLParser):
    """What a browser would see of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A warehouse with one played round, whose texts are hostile."""
    monkeypatch.setitem(sample.PASSAGES, "d2", ("", f"green apple {HOSTILE}"))
    monkeypatch.setitem(sample.QUERIES, "q3", (f"sea {HOSTILE}", "test"))
    copied(played, tmp_path)
    return tmp_path


def played(folder: Path) -> None:
    wh = Warehouse(folder / "warehouse.duckdb")
    run = start_run(wh, "distill", "toy", SETTINGS, {"versions": {"duckdb": "2.0.1"}})
    load_corpus(wh, run, "toy", sample.corpus(folder / "ingest"), "corpus-1")
    sample.play_round(wh, run, folder)
    for system, value in (("chance", 0.1), ("base", 0.5), ("round-1", 0.75)):
        measured(wh, run, folder, system, value)


def measured(wh: Warehouse, run: int, folder: Path, system: str, value: float) -> None:
    key = register_artifact(wh, run, about("evaluate", f"e-{system}"), "artifacts/e")
    link_round(wh, run, 0, "evaluate", key)
    rows = [(system, split, "nDCG@10", value, 0.1, 1) for split in ("dev", "test")]
    columns: tuple[str, ...] = ("system", "split", "measure", "value", "chance", "queries")
    load_metrics(wh, run, key, frame(folder / f"{system}-m.parquet", rows, columns), f"m-{system}")
    told = [(system, split, query_hash("q3"), "nDCG@10", value) for split in ("dev", "test")]
    columns = ("system", "split", "query_hash", "measure", "value")
    load_query_metrics(wh, run, key, frame(folder / f"{system}-q.parquet", told, columns), f"q-{system}")


@pytest.fixture
def page(home: Path) -> str:
    page: str = copied(written, home)
    return page


def written(folder: Path) -> str:
    copied(played, folder)
    return report_page(Warehouse(folder / "warehouse.duckdb"), 1)


def test_the_first_sentence_is_the_verdict(page: str) -> None:
    heading = page[page.index("<h1>") : page.index("</h1>")]
    assert "Nothing is promoted" in heading
    assert page.index("<h1>") < page.index("<table>")


def test_the_heading_is_one_sentence_and_what_follows_is_text(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A heading of ten lines is not read on a telephone."""
    monkeypatch.setattr("tasks.report.page.verdict", lambda figures: "Promoted x: 0.5 of 1. It could be less. Or not.")
    page = report_page(Warehouse(home / "warehouse.duckdb"), 1)
    assert "<h1>Promoted x: 0.5 of 1.</h1>" in page
    assert "<p>It could be less. Or not.</p>" in page


def test_a_passage_with_a_script_is_a_text(page: str) -> None:
    """A passage that runs in the reader's browser could send the whole report away."""
    seen = Tags(page)
    assert {"script", "img", "iframe", "object", "embed", "form"} & {tag for tag, _ in seen.tags} == set()
    assert not [attrs for _, attrs in seen.tags if any(name.startswith("on") for name in attrs)]
    assert seen.text.count("<script>alert(1)</script>") >= 2, "the passage and the query, to be read"


def test_a_report_asks_nobody_for_anything(page: str) -> None:
    seen = Tags(page)
    links = [value for _, attrs in seen.tags for name, value in attrs.items() if name in ("src", "href")]
    assert links == ["data:,"]
    assert "default-src 'none'" in page
    assert "@import" not in page and not re.search(r"url\((?!#)", page), "only parts of the page itself"


def test_false_negatives_stand_beside_what_was_labelled(page: str) -> None:
    text = Tags(page).text
    start = text.index("False negatives to read")
    assert "green apple" in text[start:]
    assert text.index("Fruit red apple", start) > text.index("green apple", start)
    assert "by hand" in text[start:], "why the teacher approves"


def test_every_drawing_has_words_for_those_who_cannot_see_it(page: str) -> None:
    drawings = [ElementTree.fromstring(text) for text in re.findall(r"<svg.*?</svg>", page, re.DOTALL)]
    assert len(drawings) >= 2
    assert page.count("<use xlink:href") == page.count("<use "), "HTML knows no other prefix, and dots would be lost"
    for drawing in drawings:
        assert drawing.get("role") == "img"
        assert len(drawing.get("aria-label") or "") > 30


def test_colours_can_be_read_in_both_themes(page: str) -> None:
    """WCAG: 4.5 for text, 3 for lines and bars."""
    for theme in re.findall(r":root \{(.*?)\}", page):
        colours = dict(re.findall(r"--(\w+): (#\w+);", theme))
        assert len(colours) == 8
        for name in ("ink", "soft"):
            assert contrast(colours[name], colours["ground"]) >= 4.5
            assert contrast(colours[name], colours["panel"]) >= 4.5
        assert all(contrast(colours[name], colours["ground"]) >= 3 for name in ("c1", "c2", "c3"))


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(letter * 2 for letter in colour[1:])
    parts = [int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_queries_that_changed_show_what_came_first(tmp_path: Path) -> None:
    wh = cookbook_samples.play(tmp_path)
    rows = report_rows.changed(wh, 2, ("base", "round-2"), ("test", "nDCG@10"), 5)
    (row,) = rows.rows(named=True)
    assert (row["outcome"], row["before"], row["after"]) == ("lost", 0.5, 0.25)
    assert (row["first_before"], row["right_before"]) == ("deep sea", True)
    assert (row["first_after"], row["right_after"]) == ("tall tree", False)
    assert row["labelled"] == ["deep sea"]
    assert report_rows.changed(wh, 2, ("round-2", "base"), ("test", "nDCG@10"), 5)["outcome"].to_list() == ["won"]


def test_where_the_base_stays_it_is_compared_with_the_best_student_whole(home: Path) -> None:
    wh = Warehouse(home / "warehouse.duckdb")
    for system in ("round-1@8", "round-1+teacher", "warm@8"):
        measured(wh, 1, home, system, 0.9)
    assert "base before, round-1 after" in report_page(wh, 1)


def test_judgements_are_spread_by_log_odds(home: Path) -> None:
    """Logits and probabilities mixed would draw the threshold in the wrong place (pitfall 7)."""
    rows = report_rows.spread(Warehouse(home / "warehouse.duckdb"), 1)
    assert rows["positives"].sum() == 2 and rows["approved"].sum() == 2 and rows["kept"].sum() == 4
    # 0.875 is ln(7) = 1.95 in log-odds
    assert rows.filter(pl.col("start") == 1.5)["approved"].to_list() == [1]


@pytest.mark.parametrize("policy", sorted(READ))
def test_the_thresholds_that_a_policy_reads_are_drawn_and_no_others(home: Path, policy: str) -> None:
    """A line that decided nothing, or none where one decided, and the reader blames the wrong setting."""
    settings = Denoising.model_validate({"policy": policy}).model_dump(mode="json")
    wh = Warehouse(home / "warehouse.duckdb")
    with wh.write() as con:
        con.execute("UPDATE runs SET settings = ?", [json.dumps({"name": "toy", "denoising": settings})])
    page = report_page(wh, 1)
    drawn = {name for name in PROBABILITIES if f">{name} {settings[name]:g}</text>" in page}
    assert drawn == set(READ[policy]) & set(PROBABILITIES)
    assert ("to the right of “approve”" in page) == ("approve" in drawn)


def test_the_recipe_can_be_read_back() -> None:
    settings = {
        "name": 'q"\\\x7f\n',
        "rounds": 2,
        "none": None,
        "source": {"path": "d", "qrels": {}, "columns": {"a b": "é"}},
        "training": {"lr": 5e-05, "on": True, "objectives": [{"name": "kl", "tau": 0.05, "margin": None}]},
    }
    read = tomllib.loads(as_toml(settings))
    assert read["training"] == {"lr": 5e-05, "on": True, "objectives": [{"name": "kl", "tau": 0.05}]}
    assert read["source"] == settings["source"]
    assert (read["name"], read["rounds"]) == (settings["name"], 2)
    assert "none" not in read


def test_the_command_writes_the_page_whole(home: Path) -> None:
    told = CliRunner().invoke(app, ["report", "1", "--home", str(home), "--out", str(home / "r.html")])
    assert told.exit_code == 0, told.output
    assert (home / "r.html").read_text("utf-8").startswith("<!doctype html>")


def test_a_run_without_anything_to_report_is_named(home: Path) -> None:
    wh = Warehouse(home / "warehouse.duckdb")
    started = start_run(wh, "distill", "other", "{}", {})
    with pytest.raises(LookupError, match=f"run {started} .* has not measured the base"):
        report_page(wh, started)
    with pytest.raises(LookupError, match="no run 99"):
        report_page(wh, 99)
    scoring = start_run(wh, "score", "other", "{}", {})
    with pytest.raises(LookupError, match="of the flow 'score'"):
        report_page(wh, scoring)


@pytest.fixture
def browser() -> Iterator[str]:
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("no Chromium on this machine")
    yield found


@pytest.mark.slow
@pytest.mark.parametrize("width", [1200, 390])
def test_a_browser_shows_it_without_a_complaint_or_a_request(
    page: str, browser: str, tmp_path: Path, width: int
) -> None:
    """What the page would load is blocked by its own policy, and a blocked request is a message of the console."""
    file, log = tmp_path / "page.html", tmp_path / "net.json"
    file.write_text(page, "utf-8")
    command = [browser, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    command += ["--enable-logging=stderr", "--v=0", f"--log-net-log={log}", f"--window-size={width},900", "--dump-dom"]
    done = subprocess.run([*command, file.as_uri()], capture_output=True, text=True, timeout=90)
    assert done.returncode == 0
    assert "Every system, beside chance" in done.stdout
    assert [line for line in done.stderr.splitlines() if "CONSOLE" in line] == []
    assert "evil" not in log.read_text("utf-8", errors="replace")
