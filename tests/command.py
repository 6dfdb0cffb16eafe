"""The command line as tests call it: in this process, or as one of its own."""

import os
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import pytest

from flows.cli.main import main

ROOT = Path(__file__).parents[1]
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


def process(*arguments: str, cwd: Path = ROOT, **environment: str) -> "subprocess.CompletedProcess[str]":
    """The command line as a process of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "REMINE_"))}
    command = [sys.executable, "-m", "flows.cli.main", *arguments]
    whole = {**kept, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run(command, cwd=cwd, env=whole, capture_output=True, text=True, timeout=120)
