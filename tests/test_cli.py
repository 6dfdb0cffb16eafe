"""The command line: help for people, errors as sentences, results that pipe."""

import json
import os
import socket
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest

from flows.cli.main import main
from flows.cli.terminal import plain
from warehouse.connect import Warehouse
from warehouse.load import finish_run, start_run

ROOT = Path(__file__).parents[1]
COMMANDS = ("init", "plan", "run", "score", "export", "sample", "runs", "search", "sql", "ui")
HOSTILE = "\x1b]0;owned\x07 \x1b[31mred\x1b[0m \u202egnp.exe\r\n=1+1"


class Told(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


class Remine:
    """The command line, called in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
        self.monkeypatch, self.capfd = monkeypatch, capfd

    def __call__(self, *arguments: str, cwd: Path = ROOT, stdin: str = "") -> Told:
        self.monkeypatch.chdir(cwd)
        self.monkeypatch.setattr(sys, "argv", ["remine", *arguments])
        self.monkeypatch.setattr(sys, "stdin", StringIO(stdin))
        self.capfd.readouterr()
        try:
            main()
            code: object = 0
        except SystemExit as end:
            code = end.code or 0
        assert isinstance(code, int)
        return Told(code, *self.capfd.readouterr())


@pytest.fixture
def remine(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Remine:
    for name in [name for name in os.environ if name.startswith(("PREFECT_", "REMINE_"))]:
        monkeypatch.delenv(name)
    for name in ("PREFECT_LOGGING_EXTRA_LOGGERS", "PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW"):
        monkeypatch.setenv(name, "")  # `remine run` sets them for its process
        monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "200")
    return Remine(monkeypatch, capfd)


def process(*arguments: str, cwd: Path = ROOT, **environment: str) -> "subprocess.CompletedProcess[str]":
    """The command line as a process of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "REMINE_"))}
    command = [sys.executable, "-m", "flows.cli.main", *arguments]
    whole = {**kept, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run(command, cwd=cwd, env=whole, capture_output=True, text=True, timeout=120)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with a warehouse of two runs."""
    warehouse = Warehouse(tmp_path / "warehouse.duckdb", lock_seconds=20)
    first = start_run(warehouse, "distill", "nightly", "{}", {})
    finish_run(warehouse, first, "completed", None)
    second = start_run(warehouse, "distill", "nightly", "{}", {})
    finish_run(warehouse, second, "failed", HOSTILE)
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_with_an_example(remine: Remine, command: str) -> None:
    told = remine(command, "--help")
    assert told.returncode == 0
    assert "Example:" in told.stdout
    assert f"remine {command}" in told.stdout


def test_help_is_there_at_once() -> None:
    """A tool that thinks for seconds before it helps is not asked."""
    used = os.times()
    told = process("--help")
    spent = os.times()
    seconds = spent.children_user + spent.children_system - used.children_user - used.children_system
    assert seconds < 1.5, "seconds of computing, whatever else the machine does"
    assert all(command in told.stdout for command in COMMANDS)


def test_the_version_is_the_installed_one(remine: Remine) -> None:
    assert remine("--version").stdout.startswith("remine 0.")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["run"], "no recipe was named and this folder has no recipe.toml; `remine init YOUR_DATA` writes one"),
        (["run", "missing.toml"], "missing.toml: no such recipe"),
        (["sql", "SELECT 1"], "there is no warehouse yet"),
        (["runs"], "there is no warehouse yet"),
        (["search", "words"], "there is no warehouse yet"),
        (["export", "1", "out"], "there is no warehouse yet"),
        (["init", "missing"], "missing: no such file or folder"),
        (["ui"], "nothing has run here yet"),
        (["score", "--pairs", "missing.csv", "--teacher", "x"], "missing.csv: no such file; needed pairs as .jsonl"),
    ],
)
def test_an_error_is_one_message_and_leaves_nothing_behind(
    remine: Remine, tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    told = remine(*arguments, cwd=tmp_path)
    assert told.returncode == 1
    assert sentence in told.stderr
    assert told.stderr.startswith("remine: ")
    assert "Traceback" not in told.stderr
    assert list(tmp_path.iterdir()) == []


def test_debug_shows_where_an_error_came_from(remine: Remine, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        remine("--debug", "run", cwd=tmp_path)


def test_a_typing_error_in_a_recipe_starts_no_server(remine: Remine, tmp_path: Path) -> None:
    (tmp_path / "recipe.toml").write_text("rounds = 0\nworkers = 3\n", "utf-8")
    told = remine("run", "--set", "training.stepps=10", cwd=tmp_path)
    assert told.returncode == 1
    assert all(key in told.stderr for key in ("rounds", "workers", "training.stepps", "source"))
    assert not (tmp_path / ".prefect").exists()


def test_an_unreachable_server_is_named(tmp_path: Path) -> None:
    recipe = '[source]\npath = "data"\n[student]\nmodel = "student"\n'
    (tmp_path / "recipe.toml").write_text(recipe, "utf-8")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}/api"
        told = process("run", cwd=tmp_path, PREFECT_API_URL=url, PREFECT_HOME=str(tmp_path / "prefect"))
    assert told.returncode == 1
    assert f"the Prefect server at {url} (PREFECT_API_URL) does not answer" in told.stderr
    assert "Traceback" not in told.stderr
    assert not (tmp_path / "warehouse.duckdb").exists()


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
        (["FROM runs", "--out", "answer.txt"], "answer.txt: a file is written as csv, json or parquet"),
        (["FROM runs", "--out", "answer.csv", "--format", "table"], "a file is written as csv, json or parquet"),
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


def test_runs_are_listed_with_their_end(remine: Remine, home: Path) -> None:
    rows = json.loads(remine("runs", "--format", "json", cwd=home).stdout)
    assert [(row["run"], row["recipe"], row["status"]) for row in rows] == [
        (2, "nightly", "failed"),
        (1, "nightly", "completed"),
    ]


def test_a_run_that_exported_nothing_cannot_be_exported(remine: Remine, home: Path) -> None:
    told = remine("export", "2", "out", cwd=home)
    assert "run 2 has no student to export; `remine runs` lists the ones there are" in told.stderr
    assert not (home / "out").exists()


def test_init_writes_a_recipe_once(remine: Remine, tmp_path: Path) -> None:
    rows = [{"query": f"how to do thing {i}", "passage": f"thing {i} is done so"} for i in range(40)]
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n", "utf-8")
    told = remine("init", "pairs.jsonl", cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    assert "40" in told.stdout
    assert "remine run recipe.toml" in told.stderr
    assert "recipe already" in remine("init", "pairs.jsonl", cwd=tmp_path).stderr
    assert remine("init", "pairs.jsonl", "--force", cwd=tmp_path).returncode == 0
