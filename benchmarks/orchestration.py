"""What Prefect costs: the steps of a recipe as plain functions, and as tasks of a flow that reports to a server.

python benchmarks/orchestration.py FOLDER [--set KEY=VALUE …] [--repeats 3]

FOLDER is a BEIR folder, on which the sample's recipe is run, each way in a process and a folder of its own, in turns:
first the whole of it, then `--repeats` times unchanged, when every step only finds what is there. The server runs
beforehand. Seconds of the processor, of the run and of the server meanwhile, stand beside those of the clock: on a busy
machine, and for a single long pair, they say more. `--set budget=0.1` takes a tenth of the steps.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from psutil import Process

ROOT = Path(__file__).parents[1]
RECIPE = ROOT / "flows" / "presets" / "sample.toml"
SIDES = ("plain", "prefect")


def main() -> None:
    """Measure and print what the flow adds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--set", dest="changes", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)
    parser.add_argument("--home", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    changes = [*options.changes, f'source.path="{options.folder.resolve()}"']
    if options.side:
        print(*once(options.side, options.home, changes))
        return
    from flows.server import connect

    # The server writes until it has ended, which is a moment after it was told to.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        server = connect(Path(scratch) / "server")
        try:
            server.wait_ready(print)
            compare(Path(scratch), sys.argv[1:], options.repeats, Process(server.server.pid))
        finally:
            server.leave()


def compare(scratch: Path, arguments: list[str], repeats: int, server: Process) -> None:
    """Take turns, the whole run first, and print both sides."""
    seconds: dict[str, list[float]] = {side: [] for side in SIDES}
    for turn in range(repeats + 1):
        for side in SIDES:
            before = busy(server)
            wall, own = apart(side, scratch / side, arguments)
            seconds[side].append(wall)
            spent = f"processor {own:8.2f} s, of the server {busy(server) - before:6.2f} s"
            print(f"{side:8} {'unchanged' if turn else 'whole':10} {wall:8.2f} s {spent}", flush=True)
    whole = {side: seconds[side][0] for side in SIDES}
    again = {side: median(seconds[side][1:]) for side in SIDES if repeats}
    added = whole["prefect"] - whole["plain"]
    print(f"a whole run: {whole['plain']:.1f} s plain, {added:+.1f} s through Prefect ({added / whole['plain']:+.1%})")
    if again:
        fixed = again["prefect"] - again["plain"]
        print(f"unchanged, medians of {repeats}: {again['plain']:.2f} s plain, {fixed:+.2f} s through Prefect")


def busy(server: Process) -> float:
    """Seconds of the processor that the server's process has used."""
    times = server.cpu_times()
    return float(times.user + times.system)


def apart(side: str, home: Path, arguments: list[str]) -> tuple[float, float]:
    """One run in a process of its own: the seconds between its imports and its end, by the clock and the processor."""
    command = [sys.executable, str(Path(__file__)), *arguments, "--side", side, "--home", str(home)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    if done.returncode:
        raise RuntimeError(f"the {side} run failed:\n{done.stderr[-2000:]}")
    wall, own = done.stdout.split()[-2:]
    return float(wall), float(own)


def once(side: str, home: Path, changes: list[str]) -> tuple[float, float]:
    """Run the recipe on one side, in seconds of the clock and of the processor; imports are not counted."""
    from flows.distill import distill, distill_rounds
    from flows.invocation import exclusively
    from flows.recipe import load_recipe
    from tasks.where import Where

    recipe, where = load_recipe(RECIPE, changes), Where(home=home)
    began, spent = time.perf_counter(), sum(os.times()[:4])
    if side == "plain":
        as_plain_functions()
        exclusively("distill", distill_rounds, recipe, where)
    else:
        distill(recipe, where)
    return time.perf_counter() - began, sum(os.times()[:4]) - spent


def as_plain_functions() -> None:
    """Let every task be the function that it wraps."""
    from prefect import Task

    def call(task: Any, *args: Any, **kwargs: Any) -> Any:
        return task.fn(*args, **kwargs)

    Task.__call__ = call  # type: ignore[method-assign, assignment]


if __name__ == "__main__":
    main()
