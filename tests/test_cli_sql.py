"""`remine sql` and `remine runs` from the command line: results that pipe, and nothing that writes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
import warehouse_samples as sample
from command import HOSTILE, ROOT, Remine
from test_readme import QUERIES

from flows.cli.terminal import plain


def test_an_answer_pipes_as_csv_and_json(remine: Remine, home: Path) -> None:
    query = "SELECT run_id, recipe, [run_id, 2] AS list FROM runs ORDER BY run_id"
    csv = remine("sql", query, "--format", "csv", cwd=home).stdout
    assert csv.splitlines()[:2] == ["run_id,recipe,list", '1,nightly,"[1, 2]"']
    answer = json.loads(remine("sql", query, "--format", "json", cwd=home).stdout)
    assert answer[0] == {"run_id": 1, "recipe": "nightly", "list": [1, 2]}


def test_a_query_may_come_from_standard_input(remine: Remine, home: Path) -> None:
    told = remine("sql", "-", "--format", "csv", cwd=home, stdin="SELECT count(*) AS n FROM runs")
    assert told.stdout == "n\n2\n"


def test_a_query_may_come_from_a_file_and_go_to_one(remine: Remine, home: Path, tmp_path: Path) -> None:
    (home / "question.sql").write_text("SELECT run_id, recipe FROM runs ORDER BY run_id -- both\n", "utf-8")
    for name in ("answer.csv", "answer.json", "answer.parquet"):
        told = remine("sql", "--file", "question.sql", "--out", name, cwd=home)
        assert (told.returncode, told.stdout, told.stderr) == (0, "", "")
    rows = [{"run_id": 1, "recipe": "nightly"}, {"run_id": 2, "recipe": "nightly"}]
    assert pl.read_csv(home / "answer.csv").to_dicts() == rows
    assert json.loads((home / "answer.json").read_text("utf-8")) == rows
    assert pl.read_parquet(home / "answer.parquet").to_dicts() == rows
    assert remine("sql", "FROM runs", "--out", "rows.dat", "--format", "csv", cwd=home).returncode == 0
    assert (home / "rows.dat").read_text("utf-8").startswith("run_id,flow,recipe")


def test_parquet_pipes(home: Path) -> None:
    command = f"{sys.executable} -m flows.cli.main sql 'SELECT 7 AS seven' --format parquet | cat"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    told = subprocess.run(command, shell=True, cwd=home, env=environment, capture_output=True, check=True)
    assert pl.read_parquet(told.stdout).to_dicts() == [{"seven": 7}]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["FROM runs", "--out", "answer.txt"], "answer.txt: a file is written as csv, spreadsheet, json or parquet"),
        (
            ["FROM runs", "--out", "answer.csv", "--format", "table"],
            "a file is written as csv, spreadsheet, json or parquet",
        ),
        (
            ["FROM runs", "--out", "warehouse.duckdb", "--format", "csv"],
            "would be taken for a warehouse, or replace it",
        ),
        (["FROM runs", "--out", "warehouse.snapshot.duckdb", "--format", "csv"], "or replace it"),
        (["FROM runs", "--out", "missing/answer.csv"], "missing: there is no such folder to write answer.csv into"),
        (["FROM nothing", "--out", "answer.csv"], "nothing does not exist"),
        (["SELECT 1 AS x, 2 AS x", "--out", "answer.csv"], "x: a column name comes twice"),
        (["SELECT 1", "--file", "question.sql"], "a query and --file were both given"),
        (["--file", "missing.sql"], "missing.sql"),
        (["--file", "latin.sql"], "latin.sql: not UTF-8"),
    ],
)
def test_an_answer_that_cannot_be_written_leaves_nothing(
    remine: Remine, home: Path, arguments: list[str], sentence: str
) -> None:
    (home / "latin.sql").write_bytes("SELECT 'café'".encode("latin-1"))
    before = {path: path.read_bytes() for path in home.iterdir()}
    told = remine("sql", *arguments, cwd=home)
    assert told.returncode == 1
    assert sentence in told.stderr
    assert {path: path.read_bytes() for path in home.iterdir()} == before


@pytest.mark.parametrize("format", ["table", "csv", "json", "parquet"])
def test_every_type_of_a_column_can_be_written(remine: Remine, home: Path, format: str) -> None:
    """DuckDB has types that Arrow, Polars or JSON lack; an answer must not end in a panic."""
    told = remine(
        "sql",
        "SELECT INTERVAL 2 DAY AS a, '\\x00b'::BLOB AS b, '101'::BIT AS c, MAP {'k': 1} AS d, {'x': [1, NULL]} AS e, "
        "1::HUGEINT AS f, uuid() AS g, TIME '10:00' AS h, now() AS i, NULL AS j, 'x'::ENUM ('x') AS k, "
        "union_value(n := 1) AS l, 1.50::DECIMAL(5, 2) AS m, [INTERVAL 1 DAY] AS n, DATE '2026-01-01' AS o",
        *("--format", format, "--out", f"answer.{format}") if format != "table" else ("--format", "table"),
        cwd=home,
    )
    assert (told.returncode, told.stderr) == (0, "")
    if format != "table":
        text = (home / f"answer.{format}").read_bytes()
        assert b"2 days" in text


def test_a_name_in_capital_letters_says_the_format_too(remine: Remine, home: Path) -> None:
    told = remine("sql", "SELECT sum(7) AS a, 1.5 AS b, DATE 'infinity' AS c", "--out", "ANSWER.JSON", cwd=home)
    assert (told.returncode, told.stderr) == (0, "")
    assert json.loads((home / "ANSWER.JSON").read_text("utf-8")) == [{"a": 7, "b": 1.5, "c": "infinity"}]


def test_json_and_csv_carry_texts_as_they_are_stored(remine: Remine, home: Path) -> None:
    query = "SELECT error FROM runs WHERE run_id = 2"
    assert json.loads(remine("sql", query, "--format", "json", cwd=home).stdout) == [{"error": HOSTILE}]


@pytest.mark.parametrize("command", [["runs"], ["sql", "SELECT error FROM runs"]])
def test_a_table_shows_control_characters_and_obeys_none(remine: Remine, home: Path, command: list[str]) -> None:
    """A passage of somebody else's corpus could retitle the terminal, hide text or fake lines."""
    told = remine(*command, cwd=home)
    assert told.returncode == 0, told.stderr
    assert not set(told.stdout) & {"\x1b", "\x07", "\r", "\u202e"}
    assert "\\x1b]0;owned\\x07" in told.stdout


def test_plain_text_stays_as_it_is() -> None:
    assert plain("Größe: 5 µm, 日本語 🙂") == "Größe: 5 µm, 日本語 🙂"
    assert plain("a\tb\nc\x9b1m") == "a b⏎c\\x9b1m"


@pytest.mark.parametrize(
    "query", ["DROP TABLE runs", "COPY runs TO 'out.csv'", "ATTACH 'x.duckdb'", "SELECT 1; SELECT 2", "SELEC 1"]
)
def test_sql_only_reads(remine: Remine, home: Path, query: str) -> None:
    before = sorted(home.iterdir())
    told = remine("sql", query, cwd=home)
    assert told.returncode == 1
    assert told.stderr.startswith("remine: ")
    assert "Traceback" not in told.stderr
    assert sorted(home.iterdir()) == before


def test_sql_waits_for_a_writer(remine: Remine, home: Path) -> None:
    """Pitfall 45: the pipeline must not turn readers away while it loads."""
    script = (
        "import sys, time\nfrom pathlib import Path\nfrom warehouse.connect import Warehouse\n"
        "with Warehouse(Path(sys.argv[1])).write():\n    print('open', flush=True)\n    time.sleep(2)\n"
    )
    writer = subprocess.Popen(
        [sys.executable, "-c", script, str(home / "warehouse.duckdb")], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert writer.stdout is not None
    assert writer.stdout.readline() == "open\n"
    told = remine("sql", "SELECT count(*) AS n FROM runs", "--format", "csv", cwd=home)
    assert told.stdout == "n\n2\n", told.stderr
    writer.communicate()


def test_a_reader_that_has_seen_enough_is_no_error(home: Path) -> None:
    command = f"{sys.executable} -m flows.cli.main sql 'SELECT * FROM range(200000)' --format csv | head -n 1"
    told = subprocess.run(
        command, shell=True, cwd=home, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    assert told.stdout == "range\n"
    assert told.stderr == ""


@pytest.mark.parametrize("sql", [*QUERIES, "--no blank\nSELECT 1 AS a, 2 AS b, 3 AS c, 4 AS d", "-- c\nFROM runs"])
def test_a_query_may_begin_with_a_comment(remine: Remine, tmp_path: Path, sql: str) -> None:
    """As README's do, which people paste between quotes."""
    sample.played(tmp_path)
    told = remine("sql", sql, "--format", "json", cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    assert len(json.loads(told.stdout)[0]) >= 4


def test_a_query_may_end_with_a_comment(remine: Remine, home: Path) -> None:
    told = remine("sql", "--home", str(home), "--format", "csv", "SELECT 1 AS one; -- that is all")
    assert (told.returncode, told.stdout) == (0, "one\n1\n"), told.stderr


def test_an_option_that_is_not_there_is_still_named(remine: Remine, home: Path) -> None:
    told = remine("sql", "FROM runs", "--fromat", "csv", cwd=home)
    assert told.returncode == 2 and "--fromat" in told.stderr


def test_csv_is_for_programs_and_spreadsheet_for_spreadsheets(remine: Remine, home: Path) -> None:
    """Read back, a text must be what is stored; opened in a spreadsheet, it must not run."""
    query = """SELECT '=1+1' AS a, '-2' AS "=b", 'plain' AS c, -2.5 AS d, NULL AS e, ['@x'] AS f"""
    for format in ("csv", "spreadsheet"):
        told = remine("sql", query, "--format", format, "--out", f"{format}.csv", cwd=home)
        assert (told.returncode, told.stderr) == (0, "")
    stored, harmless = (pl.read_csv(home / f"{name}.csv").to_dicts() for name in ("csv", "spreadsheet"))
    assert stored == [{"a": "=1+1", "=b": -2, "c": "plain", "d": -2.5, "e": None, "f": '["@x"]'}]
    assert harmless == [{"a": "'=1+1", "'=b": "'-2", "c": "plain", "d": -2.5, "e": None, "f": '["@x"]'}]
    assert (home / "spreadsheet.csv").read_bytes().startswith(b"\xef\xbb\xbf")
    assert not (home / "csv.csv").read_bytes().startswith(b"\xef\xbb\xbf")
