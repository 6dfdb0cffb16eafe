"""What stands in the way of runs in a folder: its server, its warehouse, its files, and this machine."""

import json
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flows.connection import fetch, problem_of
from flows.doctor_machine import accelerator, disk, models, runner, threads, versions
from flows.finding import Check, Finding, examined
from flows.locks import describe, running_now
from flows.server import configured_url
from flows.server_note import ServerNote
from tasks.leftovers import leftovers, size_of, sized
from tasks.where import Where
from warehouse.connect import Warehouse, open_file
from warehouse.errors import WarehouseBusy
from warehouse.health import STORAGE, facts_of, storage_of
from warehouse.queries import quality

if TYPE_CHECKING:
    from flows.recipe import Recipe

PATIENCE = 3.0  # seconds that a question to the warehouse or the server waits


def examine(where: Where, recipe: "Recipe | None") -> list[Finding]:
    """Look at everything, whatever fails on the way.

    Args:
        where: The home folder.
        recipe: Whose models have to be within reach; None: none was named.
    """
    warehouse = Warehouse(where.warehouse_path, PATIENCE)
    busy = running_now(where.home)
    checks: dict[str, Check] = {
        "versions": versions,
        "server": partial(server, where.home),
        "run lock": partial(run_lock, where.home, busy),
        "warehouse": partial(holder, warehouse),
        "storage": partial(storage, warehouse),
        "ledger": partial(ledger, warehouse),
        "unfinished runs": partial(unfinished, warehouse, busy),
        "left-over files": partial(stale, where, busy),
        "disk": partial(disk, where),
        "threads": threads,
        "accelerator": accelerator,
        "runner": partial(runner, where),
    }
    if recipe is not None:
        checks["models"] = partial(models, recipe)
    return [examined(name, check) for name, check in checks.items()]


def run_lock(home: Path, busy: bool) -> Finding:
    """Whether somebody runs here."""
    told = describe(home / "warehouse.duckdb.run.json") if busy else "no run is going on"
    return Finding("run lock", "good", told)


def server(home: Path) -> Finding:
    """Whether the Prefect server that runs would report to answers."""
    if url := configured_url():
        problem = problem_of(url, PATIENCE)
        if problem:
            todo = "start it, or unset PREFECT_API_URL and runs start a server of their own"
            return Finding("server", "bad", f"{url} (configured) does not answer: {problem}", todo)
        return _same_version(url, f"{url} (configured) answers")
    folder = home / ".prefect"
    found = ServerNote(folder).read() if folder.is_dir() else None
    if found is None:
        return Finding("server", "good", "none is configured and none runs; a run starts one and stops it")
    process, port, users = found
    url = f"http://127.0.0.1:{port}/api"
    if not process.alive:
        return Finding(
            "server", "look", f"{folder / 'server.json'} names a server that is gone", "the next run mends it"
        )
    if problem := problem_of(url, PATIENCE):
        told = f"{url} (process {process.pid}) runs and does not answer: {problem}"
        return Finding("server", "bad", told, f"see {folder / 'server.log'}; `kill {process.pid}` ends it")
    return _same_version(url, f"{url} answers, used by {len(users)} processes")


def _same_version(url: str, told: str) -> Finding:
    """Hold the server's version against the client's: another minor version may refuse what the client sends."""
    from importlib.metadata import version

    theirs, ours = json.loads(fetch(f"{url}/admin/version", seconds=PATIENCE)), version("prefect")
    if str(theirs).split(".")[:2] != ours.split(".")[:2]:
        todo = f"bring both to one version: pip install 'prefect=={theirs}' here, or {ours} there"
        return Finding("server", "look", f"{told}, with Prefect {theirs}; here it is {ours}", todo)
    return Finding("server", "good", f"{told}, Prefect {theirs}")


def holder(warehouse: Warehouse) -> Finding:
    """Whether the warehouse can be opened for writing, and who keeps us from it."""
    if not warehouse.path.exists():
        return Finding("warehouse", "good", f"{warehouse.path} is not there; the first run makes it")
    try:
        with warehouse.writing("see who holds it", time.monotonic() + PATIENCE):
            open_file(warehouse.path, False, time.monotonic() + PATIENCE).close()
    except WarehouseBusy as error:
        return Finding(
            "warehouse", "look", str(error).partition(";")[0], "close it there; runs wait ten minutes for it"
        )
    return Finding("warehouse", "good", f"{warehouse.path} ({sized(warehouse.path.stat().st_size)}), held by nobody")


def storage(warehouse: Warehouse) -> Finding:
    """Whether older clients can read the file."""
    if not warehouse.path.exists():
        return Finding("storage", "good", "no warehouse yet")
    found = storage_of(warehouse)
    if not found.startswith(STORAGE):
        todo = "copy it with COPY FROM DATABASE into a file that is attached with (STORAGE_VERSION 'v1.4.0')"
        return Finding("storage", "look", f"storage {found}: clients before it cannot open the file", todo)
    return Finding("storage", "good", f"storage {found}: DuckDB 1.4 and later can read it")


def ledger(warehouse: Warehouse) -> Finding:
    """Whether the rows are those that the ledger says were loaded, and the other checks of `data_quality`."""
    if not warehouse.path.exists():
        return Finding("ledger", "good", "no warehouse yet")
    wrong = quality(warehouse)
    if wrong.height:
        told = "; ".join(f"{row['name']}: {row['problems']} ({row['meaning']})" for row in wrong.iter_rows(named=True))
        return Finding(
            "ledger", "bad", told, "restore the warehouse from a backup; scores are loaded again from shards"
        )
    facts = facts_of(warehouse)
    told = f"{facts.loads:,} loads, {facts.scores:,} teacher scores; every check of data_quality is zero"
    return Finding("ledger", "good", told)


def unfinished(warehouse: Warehouse, busy: bool) -> Finding:
    """Runs that say they are running while none is, and those that did not come to their end."""
    if not warehouse.path.exists():
        return Finding("unfinished runs", "good", "no run yet")
    facts = facts_of(warehouse)
    open_ = [] if busy else facts.running  # a run that begins closes those that were killed
    if open_:
        todo = f"`remine resume {open_[-1]}` goes on from what it finished; the next run closes it as crashed"
        return Finding("unfinished runs", "look", f"run {_listed(open_)} was killed without a word", todo)
    if facts.ended:
        number, status, error = facts.ended
        todo = f"`remine resume {number}` goes on from what it finished"
        return Finding("unfinished runs", "look", f"the last run ({number}) ended as {status}: {error}", todo)
    return Finding("unfinished runs", "good", "the last run came to its end" if facts.runs else "no run yet")


def stale(where: Where, busy: bool) -> Finding:
    """Half-written files of killed runs."""
    found = [] if busy else leftovers(where)
    if busy:
        return Finding("left-over files", "good", "not looked for while a run writes")
    if found:
        told = f"{len(found)} half-written files or folders of killed runs ({sized(sum(map(size_of, found)))})"
        return Finding("left-over files", "look", f"{told}, first {found[0]}", "`remine clean` removes them")
    return Finding("left-over files", "good", "none")


def _listed(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers))


def as_rows(findings: list[Finding]) -> list[dict[str, Any]]:
    """Findings as rows of a table."""
    return [{"check": each.name, "state": each.state, "found": each.told, "do": each.todo} for each in findings]
