"""What a person sees: sentences on stderr, tables on stdout, nothing that could steer the terminal."""

import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from types import FrameType
from typing import Any, Literal

CONTROL: dict[int, str] = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))}
CONTROL |= {ord("\n"): "⏎", ord("\t"): " ", ord("\r"): "␍"}
# Letters that reorder or hide what follows: text that reads otherwise than it is stored.
CONTROL |= {code: f"\\u{code:04x}" for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F)}

OURS = "remine"
IN_THE_UI = ("prefect.flow_runs", "prefect.task_runs", "prefect.events", "prefect._internal")


class Stopped(KeyboardInterrupt):
    """SIGTERM came: somebody stops this process as Ctrl-C would."""


def say(sentence: str) -> None:
    """Tell the person who waits; stdout is kept for results."""
    sys.stderr.write(f"{sentence}\n")
    sys.stderr.flush()


def plain(text: str) -> str:
    """Show control characters (terminal escapes, line breaks, reordering marks) instead of obeying them."""
    return text.translate(CONTROL)


def describe(error: Exception) -> str:
    """Say what went wrong in words; an error that we did not foresee keeps its type and asks for `--debug`."""
    # DuckDB quotes the value that does not fit, and a value may hold anything.
    message = "\n".join(plain(line) for line in str(error).strip().splitlines())
    if message and foreseen(error):
        return message
    return f"{type(error).__name__}: {message}\nThis was not foreseen; `remine --debug …` shows where it happened."


def foreseen(error: Exception) -> bool:
    """Whether an error's message was written for the person who meets it."""
    about_input = isinstance(error, ValueError | OSError | RuntimeError) and not isinstance(error, NotImplementedError)
    # Its subclasses are slips of ours: a key or an index that is not there.
    about_input = about_input or type(error) is LookupError
    # Python itself names a module and nothing else; where we do, the sentence says which extra brings it.
    extra = isinstance(error, ModuleNotFoundError) and not str(error).startswith("No module named")
    return about_input or extra or type(error).__module__.split(".")[0] in ("_duckdb", "duckdb")


def cell(value: object) -> str:
    """Write one value of a result for people: short numbers, nothing for NULL."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.astimezone().isoformat(sep=" ", timespec="seconds")
    if isinstance(value, float):
        return f"{value:.4f}" if value == 0 or 1e-4 <= abs(value) < 1e6 else f"{value:.6g}"
    return plain(str(value))


def print_table(names: Sequence[str], rows: Sequence[Sequence[object]], lines: bool = False) -> None:
    """Print rows as a table as wide as the terminal; piped output is not cut.

    Args:
        names: Column names.
        rows: Values; texts may not hold anything that steers the terminal, so controls are shown.
        lines: Draw a line between rows, and keep the line breaks of texts that were made plain already.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    style = box.SIMPLE_HEAD if console.is_terminal else None
    table = Table(box=style, show_lines=lines and console.is_terminal, pad_edge=False)
    for number, name in enumerate(names):
        justify: Literal["left", "right"] = "right" if _numeric(rows, number) else "left"
        table.add_column(Text(plain(name)), justify=justify, overflow="fold")
    for row in rows:
        table.add_row(*(Text(str(value) if lines else cell(value)) for value in row))
    if not console.is_terminal:
        console.width = 100_000
    console.print(table)


def drawn(names: Sequence[str], rows: Sequence[Sequence[object]], widest: int = 140) -> str:
    """Draw rows as plain lines, one a row; a text longer than `widest` characters ends in an ellipsis."""
    from io import StringIO

    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for number, name in enumerate(names):
        justify: Literal["left", "right"] = "right" if _numeric(rows, number) else "left"
        table.add_column(Text(plain(name)), justify=justify, overflow="ellipsis", no_wrap=True, max_width=widest)
    for row in rows:
        table.add_row(*(Text(_short(value)) for value in row))
    console = Console(file=StringIO(), width=100_000)
    with console.capture() as captured:
        console.print(table)
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines() if line.strip())


def _short(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else cell(value)


def _numeric(rows: Sequence[Sequence[object]], number: int) -> bool:
    return bool(rows) and all(isinstance(row[number], int | float | None) for row in rows)


@contextmanager
def stoppable() -> Iterator[None]:
    """Let SIGTERM end the block as Ctrl-C does."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise Stopped

    with answering(signal.SIGTERM, stop):
        yield


@contextmanager
def answering(number: signal.Signals, handler: Callable[..., Any] | signal.Handlers) -> Iterator[None]:
    """Answer a signal by this handler for the length of the block."""
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)


def prepare_logs() -> None:
    """Send our modules' logs to the Prefect run as well; has to be called before Prefect is imported."""
    loggers = filter(None, [os.environ.get("PREFECT_LOGGING_EXTRA_LOGGERS"), OURS])
    os.environ["PREFECT_LOGGING_EXTRA_LOGGERS"] = ",".join(loggers)
    os.environ.setdefault("PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW", "ignore")
    logging.getLogger(OURS).setLevel(logging.INFO)


def quieten_logs(debug: bool) -> None:
    """Keep what Prefect says about each task run in its UI, and show warnings alone in the terminal.

    A failure's traceback is among it; the command prints the error itself. Of a server that is away, the run tells in
    a sentence; Prefect prints every event that it could not send.
    """
    if debug:
        return
    logging.raiseExceptions = False  # log lines that did not reach the server are not worth another one here
    for name in ("", "prefect._internal"):  # the second one has a handler of its own
        for handler in logging.getLogger(name).handlers:
            handler.addFilter(_worth_showing)


def _worth_showing(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.WARNING and not record.name.startswith(IN_THE_UI)
