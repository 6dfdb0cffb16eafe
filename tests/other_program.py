"""Another program that has the warehouse open, as a forgotten shell does."""

import subprocess
import sys
from pathlib import Path

HOLD = """
import sys, time, duckdb
connection = duckdb.connect(sys.argv[1], read_only=sys.argv[2] == "read")
print("held", flush=True)
time.sleep(float(sys.argv[3]))
connection.close()
"""


def hold(path: Path, how: str, seconds: float) -> "subprocess.Popen[str]":
    """Another program that has the file open for a while, as a forgotten shell does."""
    command = [sys.executable, "-c", HOLD, str(path), how, str(seconds)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process
