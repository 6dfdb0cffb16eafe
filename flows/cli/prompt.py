"""The prompt of `remine sql`: each question opens the warehouse for itself and closes it again."""

import os
import pydoc
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any

import typer
from prompt_toolkit import PromptSession
from prompt_toolkit.filters import completion_is_selected
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from flows.cli.completion import SqlCompleter
from flows.cli.tables import names_and_rows
from flows.cli.terminal import answering, describe, drawn, say
from warehouse.catalog import catalog, keywords
from warehouse.connect import Warehouse
from warehouse.queries import is_complete, select_arrow

SHOWN = 1000  # rows: more are not read on a screen, and drawing them takes seconds
COMMANDS = {
    ".help": "these commands",
    ".tables": "what can be asked: views, macros, tables",
    ".schema": "what the columns of one of them mean: .schema leaderboard",
    ".quit": "leave (so do quit, exit and Ctrl-D)",
}
LEAVE = (".quit", ".exit", "quit", "exit")  # no question is one of these words
HELP = f"""\
A question ends with a semicolon and may have many lines. Tab completes, Ctrl-C drops a question or stops its answer,
the arrows and Ctrl-R bring back earlier ones. The warehouse is only read, and is closed between questions: a run can
write. Long answers open in a pager (q leaves it); {SHOWN:,} rows and the beginnings of long texts are shown, and
`remine sql --out FILE` writes all of it.
"""


def converse(warehouse: Warehouse) -> None:
    """Answer questions until the person leaves.

    Raises:
        ValueError: This is no terminal.
    """
    if not sys.stdout.isatty():
        raise ValueError("the prompt needs a terminal; give a query, or name its file with --file")
    completer = SqlCompleter(catalog(warehouse), keywords(warehouse), list(COMMANDS))
    session: PromptSession[str] = PromptSession(
        "remine> ",
        multiline=True,
        prompt_continuation="   ...> ",
        history=history(),
        completer=completer,
        complete_while_typing=False,
        key_bindings=bindings(),
    )
    typer.echo(f"{warehouse.path}, read-only. .help says what can be typed, .tables what can be asked.")
    with answering(signal.SIGINT, signal.SIG_IGN):  # at the prompt Ctrl-C is a key; a moment earlier, nothing
        while True:
            try:
                text = session.prompt().strip()
            except KeyboardInterrupt:
                continue
            except EOFError:
                return
            if text.rstrip(";") in LEAVE:
                return
            if text:
                attempt(warehouse, text)


def attempt(warehouse: Warehouse, text: str) -> None:
    """Answer one question; whatever goes wrong is said, and the prompt goes on."""
    try:
        with answering(signal.SIGINT, signal.default_int_handler):
            if text.startswith("."):
                command(warehouse, text)
            else:
                answer(warehouse, text)
    except KeyboardInterrupt:
        say("Stopped.")
    except BrokenPipeError:
        pass  # the pager was left early
    except Exception as error:
        say(describe(error))


def answer(warehouse: Warehouse, sql: str) -> None:
    """Ask, and show what comes back."""
    began = time.monotonic()
    found = select_arrow(warehouse, sql)
    seconds = time.monotonic() - began
    show_paged(*names_and_rows(found.slice(0, SHOWN)))
    more = f", {SHOWN:,} shown" if found.num_rows > SHOWN else ""
    typer.echo(f"{found.num_rows:,} row{'' if found.num_rows == 1 else 's'}{more}, {seconds:.2f} s")


def command(warehouse: Warehouse, text: str) -> None:
    """Do what a word with a dot says.

    Raises:
        ValueError: There is no such command, or nothing of that name.
    """
    word, *names = text.rstrip(";").split()
    if word == ".help":
        typer.echo(HELP)
        show_paged(["command", "what it shows"], list(COMMANDS.items()))
    elif word == ".tables":
        rows = [(relation.kind, relation.heading, relation.meaning) for relation in catalog(warehouse)]
        show_paged(["kind", "name", "meaning"], rows)
    elif word == ".schema" and len(names) == 1:
        show_schema(warehouse, names[0])
    elif word == ".schema":
        raise ValueError(".schema needs one name: .schema leaderboard; .tables lists them")
    else:
        raise ValueError(f"{word}: no such command; .help lists them")


def show_schema(warehouse: Warehouse, name: str) -> None:
    """Show what a table, view or macro holds.

    Raises:
        ValueError: There is nothing of that name.
    """
    found = {relation.name: relation for relation in catalog(warehouse)}
    if name not in found:
        raise ValueError(f"{name}: no table, view or macro has this name; .tables lists them")
    relation = found[name]
    typer.echo(f"{relation.kind} {relation.heading}: {relation.meaning}")
    show_paged(
        ["column", "type", "meaning"], [(column.name, column.type, column.meaning) for column in relation.columns]
    )


def show_paged(names: list[str], rows: list[Any]) -> None:
    """Print a table, in a pager where it is larger than the terminal."""
    text = drawn(names, rows)
    lines = text.splitlines()
    size = shutil.get_terminal_size()
    if len(lines) < size.lines and max(map(len, lines), default=0) <= size.columns:
        typer.echo(text, nl=False)
        return
    os.environ.setdefault("LESS", "-S")  # long lines scroll sideways instead of wrapping
    pydoc.pager(text)


def bindings() -> KeyBindings:
    """Enter asks where a question is complete, and begins a new line where it is not."""
    keys = KeyBindings()

    @keys.add("enter", filter=~completion_is_selected)
    def enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        text = buffer.text.strip()
        if not text or text.startswith(".") or text in LEAVE or is_complete(text):
            buffer.validate_and_handle()
        else:
            buffer.newline()

    return keys


def history() -> History:
    """Earlier questions, kept for this user in the XDG state folder; for this session where it cannot be written."""
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    file = state / "remine" / "sql_history"
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.touch(mode=0o600)
    except OSError as error:
        say(f"Questions are remembered for this session only: {error}")
        return InMemoryHistory()
    return FileHistory(str(file))
