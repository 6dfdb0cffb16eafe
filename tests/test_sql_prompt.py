"""The prompt of `remine sql`, typed into through a real terminal."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from flows.cli.completion import SqlCompleter
from flows.cli.prompt import COMMANDS, converse
from warehouse.catalog import Column, Relation, catalog, keywords
from warehouse.connect import Warehouse
from warehouse.load import finish_run, start_run
from warehouse.queries import is_complete

ROOT = Path(__file__).parents[1]
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]|\r|.\x08")
WHERE_AM_I = b"\x1b[6n"


class Terminal:
    """A person at a terminal of 24 rows and 100 columns."""

    def __init__(self, home: Path, pager: str = "cat") -> None:
        self.seen = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            kept = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "REMINE_"))}
            state = {"XDG_STATE_HOME": str(home / "state"), "PAGER": pager, "TERM": "xterm", "PYTHONPATH": str(ROOT)}
            command = [sys.executable, "-m", "flows.cli.main", "sql", "--home", str(home)]
            os.execve(sys.executable, command, {**kept, **state})
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))

    def type(self, keys: str) -> None:
        self.seen = ""
        os.write(self.fd, keys.encode("utf-8"))

    def wait(self, pattern: str, seconds: float = 60) -> str:
        """Read until something is on the screen."""
        deadline = time.monotonic() + seconds
        while not re.search(pattern, self.seen):
            assert time.monotonic() < deadline, f"{pattern!r} did not come: {self.seen[-2000:]!r}"
            if select.select([self.fd], [], [], 0.1)[0]:
                try:
                    came = os.read(self.fd, 65536)
                except OSError:
                    break  # the other side is gone
                if WHERE_AM_I in came:
                    os.write(self.fd, b"\x1b[1;1R")
                self.seen += ESCAPES.sub("", came.decode("utf-8", "replace"))
        return self.seen

    def ask(self, keys: str, pattern: str) -> str:
        self.type(keys)
        return self.wait(pattern)

    def leave(self, word: str = ".quit") -> int:
        self.type(f"{word}\r")
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            if select.select([self.fd], [], [], 0.05)[0]:
                with suppress(OSError):  # the other side is gone
                    os.read(self.fd, 65536)
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
        raise AssertionError("it did not leave")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("prompt")
    warehouse = Warehouse(home / "warehouse.duckdb")
    run = start_run(warehouse, "distill", "nightly", "{}", {})
    finish_run(warehouse, run, "failed", "\x1b]0;owned\x07 \x1b[31mred")
    return home


@pytest.fixture
def terminal(home: Path) -> Iterator[Terminal]:
    terminal = Terminal(home)
    terminal.wait("remine>")
    yield terminal
    os.close(terminal.fd)
    with suppress(ProcessLookupError, ChildProcessError):
        os.kill(terminal.pid, signal.SIGKILL)
        os.waitpid(terminal.pid, 0)


def test_a_question_of_several_lines_is_asked_at_its_semicolon(terminal: Terminal) -> None:
    terminal.ask("SELECT count(*) AS n, ';' AS mark\r", r"\.\.\.>")
    assert re.search(r" n +mark\n.*\n 1 +;", terminal.ask("FROM runs;\r", r"1 row, "))
    assert terminal.leave() == 0


@pytest.mark.parametrize("word", ["quit", "exit;"])
def test_the_words_that_people_try_first_leave(terminal: Terminal, word: str) -> None:
    """Taken for the beginning of a question, they would open a second line that nothing but Ctrl-C ends."""
    assert terminal.leave(word) == 0


def test_an_error_is_said_and_the_prompt_goes_on(terminal: Terminal) -> None:
    assert "syntax error" in terminal.ask("SELEC 1;\r", "SELEC.*remine>(?s:.*)LINE 1|LINE 1")
    assert "ask with SELECT" in terminal.ask("DROP TABLE runs;\r", "ask with SELECT")
    assert "no such command" in terminal.ask(".nonsense\r", "no such command")
    assert "no table, view or macro" in terminal.ask(".schema nonsense\r", "no table, view or macro")
    terminal.ask("SELECT 41 + 1 AS answer;\r", r" 42\n")
    assert terminal.leave() == 0


def test_between_questions_the_file_is_free(terminal: Terminal, home: Path) -> None:
    """Pitfall 45: a prompt that somebody forgot would stop every run from loading."""
    terminal.ask("SELECT count(*) AS n FROM runs;\r", "1 row, ")
    run = start_run(Warehouse(home / "warehouse.duckdb", lock_seconds=5), "distill", "beside", "{}", {})
    terminal.ask(f"SELECT recipe FROM runs WHERE run_id = {run};\r", " beside\n")
    assert terminal.leave() == 0


def test_what_can_be_asked_is_listed_and_described(terminal: Terminal) -> None:
    assert ".schema" in terminal.ask(".help\r", r"leave \(so")
    listed = terminal.ask(".tables\r", "table +teacher_scores")
    assert re.search(r"view +leaderboard +Every evaluated system", listed)
    assert "threshold_sweep(run, round)" in listed
    assert re.search(r"chance +DOUBLE +What a random order", terminal.ask(".schema leaderboard\r", "queries +INTEGER"))
    assert terminal.leave() == 0


def test_tab_completes_and_ctrl_c_drops_the_question(terminal: Terminal) -> None:
    terminal.ask("SELECT count(*) AS n FROM corpus_lo\t", "ads$")
    terminal.ask(";\r", "1 row, (?s:.*)remine>")  # before the prompt is up, the terminal makes a signal of Ctrl-C
    terminal.type("SELECT nonsense\x03")
    terminal.wait("remine>")
    terminal.ask("SELECT 7 AS seven;\r", r" 7\n")
    assert terminal.leave() == 0


def test_ctrl_c_stops_an_answer_that_takes_too_long(terminal: Terminal) -> None:
    terminal.type("SELECT count(*) FROM range(10000000000000) AS t(i) WHERE i % 7 = 3;\r")
    time.sleep(1.5)
    terminal.ask("\x03", "Stopped")
    terminal.ask("SELECT 7 AS seven;\r", r" 7\n")
    assert terminal.leave() == 0


def test_ctrl_c_before_the_prompt_is_up_ends_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The terminal makes a signal of it until the prompt reads keys; half set up, a prompt died of that."""
    asked = []

    class Rising:
        def __init__(self, *_: object, **__: object) -> None: ...

        def prompt(self) -> str:
            asked.append("prompt")
            if len(asked) > 2:
                raise EOFError
            os.kill(os.getpid(), signal.SIGINT)
            return ".help" if len(asked) == 1 else ".quit"

    monkeypatch.setattr("flows.cli.prompt.PromptSession", Rising)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    before = signal.getsignal(signal.SIGINT)
    converse(Warehouse(home / "warehouse.duckdb"))
    assert len(asked) == 2
    assert signal.getsignal(signal.SIGINT) is before


def test_texts_cannot_steer_the_terminal(terminal: Terminal) -> None:
    terminal.type("SELECT error FROM runs WHERE run_id = 1;\r")
    assert "\\x1b]0;owned\\x07" in terminal.wait("1 row, ")
    told = terminal.ask("SELECT error::INTEGER FROM runs WHERE run_id = 1;\r", "Conversion")
    assert "\x07" not in terminal.wait("red")
    assert "\x1b]0;owned" not in told


def test_a_long_answer_opens_the_pager_and_is_not_drawn_whole(home: Path) -> None:
    terminal = Terminal(home, pager="sed s/^/paged:/")
    terminal.wait("remine>")
    shown = terminal.ask("FROM range(5000);\r", "5,000 rows, 1,000 shown")
    assert re.search(r"paged: +999\n", shown)
    assert not re.search(r"paged: +1000\n", shown)
    assert "paged" not in terminal.ask("SELECT 7 AS seven;\r", r" 7\n")
    assert terminal.leave() == 0


def test_questions_are_remembered_for_this_user_alone(home: Path) -> None:
    first = Terminal(home)
    first.wait("remine>")
    first.ask("SELECT 'remembered' AS this;\r", "1 row, ")
    assert first.leave() == 0
    file = home / "state" / "remine" / "sql_history"
    assert "remembered" in file.read_text("utf-8")
    assert file.stat().st_mode & 0o077 == 0
    second = Terminal(home)
    second.wait("remine>")
    second.ask("\x1b[A\x1b[A", "remembered")  # the last is .quit
    second.ask("\r", r" remembered\n")
    assert second.leave() == 0


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("SELECT 1;", True),
        ("SELECT 1 ; -- done", True),
        ("SELECT 1", False),
        ("SELECT ';", False),
        ("SELECT ';'", False),
        ("SELECT 1 -- ;", False),
        ('SELECT ";', False),
        ("SELECT $$ ;", False),
        ("/* ;", False),
        ("SELECT 'Größe';", True),
        ("", False),
    ],
)
def test_a_question_ends_only_at_a_semicolon_of_its_own(text: str, complete: bool) -> None:
    assert is_complete(text) is complete


RELATIONS = [
    Relation("view", "leaderboard", "", (Column("system", "VARCHAR", ""), Column("split", "VARCHAR", ""))),
    Relation("table", "labels", "", (Column("source", "VARCHAR", ""),)),
    Relation("macro", "top_k", "", (), ("teacher", "k")),
]


def offered(text: str) -> list[str]:
    completer = SqlCompleter(RELATIONS, ["SELECT", "SET"], list(COMMANDS))
    return [found.text for found in completer.get_completions(Document(text), CompleteEvent())]


def test_tab_offers_what_can_stand_there() -> None:
    assert offered("SELECT * FROM l") == ["leaderboard", "labels"]
    assert offered("select * from leaderboard join t") == ["top_k"]
    assert offered("SELECT s") == ["system", "split", "source", "SELECT", "SET"]
    assert offered("FROM labels WHERE s") == ["source", "SELECT", "SET"]
    assert offered("FROM leaderboard AS b WHERE b.s") == ["system", "split"]
    assert offered(".sc") == [".schema"]
    assert offered(".schema to") == ["top_k"]
    assert offered("zzz") == []


def test_completion_knows_the_whole_warehouse(home: Path) -> None:
    warehouse = Warehouse(home / "warehouse.duckdb")
    names = {relation.name for relation in catalog(warehouse)}
    assert {"leaderboard", "teacher_scores", "top_k"} <= names
    assert {"SELECT", "QUALIFY"} <= set(keywords(warehouse))
