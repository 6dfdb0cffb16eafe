"""Which artifacts no kept run refers to, and removing them; scores, the warehouse and the data stay."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.artifacts import Artifact
from tasks.leftovers import leftovers, remove, size_of
from tasks.promote.incumbent import in_use
from tasks.record import warehouse_of
from tasks.where import Where
from warehouse.lookup import artifacts_of, kept_runs
from warehouse.promotions import promoted_recipes

# Folders beside the steps' that are no artifacts: who is in use, the store of scores, unfinished trainings.
APART = {"current", "shards", "state"}


@dataclass(frozen=True)
class Unused:
    """What can go.

    Attributes:
        kept: The runs whose artifacts stay.
        folders: Artifacts that none of them refers to, in order.
        halves: What killed runs left half written.
    """

    kept: list[int]
    folders: list[Path]
    halves: list[Path]

    def by_step(self) -> list[tuple[str, int, int]]:
        """Step, how many folders, bytes; the largest first."""
        sizes: dict[str, list[int]] = defaultdict(list)
        for path in self.folders:
            sizes[path.parent.name].append(size_of(path))
        if self.halves:
            sizes["half written"] = [size_of(path) for path in self.halves]
        return sorted(((step, len(each), sum(each)) for step, each in sizes.items()), key=lambda row: -row[2])

    def remove(self) -> None:
        """Remove them; what is interrupted here is found again the next time."""
        for path in (*self.halves, *self.folders):
            remove(path)


def unused(where: Where, keep: int) -> Unused:
    """Find what no kept run refers to; call it while no run is going on.

    A run refers to what it made or found, to everything that these were made from, and to the models among them; the
    students in use, and those that can be gone back to, are kept as well.

    Args:
        where: The home folder.
        keep: Runs of each recipe to keep, the newest that came to their end; 0: every run.
    """
    warehouse, root = warehouse_of(where), where.artifacts_path
    there = {about["fingerprint"]: (folder, about) for folder, about in _artifacts(root)}
    kept = kept_runs(warehouse, keep)
    named = _in_use(where)
    runs = sorted({*kept, *(run for run, _ in named if run is not None)})
    wanted = {fingerprint for run in runs for fingerprint in artifacts_of(warehouse, run)["fingerprint"].to_list()}
    of_folder = {folder: fingerprint for fingerprint, (folder, _) in there.items()}
    wanted |= {of_folder[path] for _, paths in named for path in paths if path in of_folder}
    reached = _reached(wanted, {fingerprint: about for fingerprint, (_, about) in there.items()})
    folders = sorted(folder for fingerprint, (folder, _) in there.items() if fingerprint not in reached)
    return Unused(kept=runs, folders=folders, halves=leftovers(where))


def _artifacts(root: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    for path in root.glob("*/*/artifact.json"):
        if path.parent.parent.name not in APART and ".tmp-" not in path.parent.name:
            about = Artifact(step=path.parent.parent.name, fingerprint="", path=path.parent).about()
            yield path.parent, about


def _in_use(where: Where) -> list[tuple[int | None, list[Path]]]:
    """Students in use with their runs and the artifacts that they name.

    Of those that can be gone back to, the student is enough, without what else its run left.
    """
    found = []
    for recipe in promoted_recipes(warehouse_of(where)):
        served = in_use(where, recipe)
        for each in served:
            # A student is the folder `model` of its training, or itself an artifact.
            student = Path(each["path"])
            run = int(each["run_id"]) if each is served[-1] else None
            found.append((run, [student, student.parent, Path(each["evaluation"])]))
    return found


def _reached(wanted: Iterable[str], there: dict[str, dict[str, Any]]) -> set[str]:
    """The artifacts themselves, and everything that they were made from."""
    makers = defaultdict(set)
    for fingerprint, about in there.items():
        for role in ("student", "teacher"):
            if isinstance(model := about["facts"].get(role), str):
                makers[model].add(fingerprint)
    reached: set[str] = set()
    waiting = [fingerprint for fingerprint in wanted if fingerprint in there]
    while waiting:
        fingerprint = waiting.pop()
        if fingerprint in reached:
            continue
        reached.add(fingerprint)
        for given in there[fingerprint]["inputs"].values():
            waiting += [given] if given in there else []
            waiting += sorted(makers.get(given, ()))
    return reached
