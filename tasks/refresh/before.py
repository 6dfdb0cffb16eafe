"""What a refresh starts from: the student in use, who mined for it, who judged, and what it has learned from."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from tasks.artifacts import Artifact
from tasks.promote.incumbent import INCUMBENT, incumbent_file
from tasks.record import warehouse_of
from tasks.refs import Blend, Run, StudentRef, TeacherRef
from tasks.score.stored import known_teacher
from tasks.settings import Settings
from warehouse.connect import Warehouse
from warehouse.lookup import artifacts_of, find_model, last_completed, settings_of

KEPT = {"gate", "blend"}  # of a teacher: what was settled in its run, whatever the recipe says now
MOST_EARLIER = 8  # verdicts of rounds before that still bar pairs from the negatives


class Before(Settings):
    """The student in use, with everything that its run left for the next one.

    Attributes:
        run: The run that made it.
        last: The newest run of the recipe that came to its end: changes are counted from its data.
        student: The student in use, as the system `incumbent`.
        teacher: The teacher of its run, calibrated as it was then.
        miners: Who mined what it learned from; the first is the student that was current then.
        judged: Verdicts that it learned from and those before them, the newest first.
        corpus: The data of the last run.
        reviewed: What people had said by then, by fingerprint; empty where nobody had.
    """

    run: int
    last: int
    student: StudentRef
    teacher: TeacherRef
    miners: tuple[StudentRef, ...]
    judged: tuple[Artifact, ...]
    corpus: Artifact
    reviewed: str


@dataclass(frozen=True)
class Made:
    """What a run used and made, found again by step.

    Attributes:
        root: Folder of all artifacts.
        rows: `round, step, fingerprint, path, settings, inputs`.
    """

    root: Path
    rows: pl.DataFrame

    def of(self, step: str, number: int | None = None) -> list[Artifact]:
        """Artifacts of one step, in one round or in all, in the order of their making."""
        found = self.rows.filter(pl.col("step") == step)
        if number is not None:
            found = found.filter(pl.col("round") == number)
        return [
            Artifact(step=step, fingerprint=fingerprint, path=Path(path))
            for fingerprint, path in found.select("fingerprint", "path").iter_rows()
        ]

    def named(self, step: str, fingerprint: str) -> Artifact:
        """An artifact by its fingerprint, whichever run made it."""
        return Artifact(step=step, fingerprint=fingerprint, path=self.root / step / fingerprint[:16])


def find_before(run: Run, sections: Mapping[str, Any]) -> Before:
    """Find what is in use for the run's recipe, and what it came from.

    Args:
        run: The run that asks; only runs before it count.
        sections: The recipe's `student`, `teacher`, `teach` and `miners`, which have to be those of that run.

    Raises:
        LookupError: No student is in use, or the run that made it mined nothing.
        FileNotFoundError: The student's folder is gone.
        ValueError: Student, teacher or miners of the recipe are others now.
    """
    warehouse = warehouse_of(run.where)
    named = _in_use(incumbent_file(run.where, run.recipe))
    _check_same(run.recipe, int(named["run"]), settings_of(warehouse, int(named["run"])), sections)
    made = Made(run.root, artifacts_of(warehouse, int(named["run"])))
    mined, judged = _last_round(made, named)
    last = last_completed(warehouse, run.recipe, run.id) or int(named["run"])
    then = Made(run.root, artifacts_of(warehouse, last))
    trusted = bool(named["trust_remote_code"])
    student = StudentRef(
        system=INCUMBENT,
        fingerprint=named["fingerprint"],
        path=Path(named["path"]),
        trust_remote_code=trusted,
        lora=sections["student"].lora,
    )
    return Before(
        run=int(named["run"]),
        last=last,
        student=student,
        teacher=_teacher(warehouse, judged[0], sections),
        miners=_miners(warehouse, made, mined, int(named["run"]), trusted),
        judged=tuple(judged[:MOST_EARLIER]),
        corpus=then.of("ingest")[-1],
        reviewed=said_of(next(reversed(then.of("review")), None)),
    )


def said_of(reviewed: Artifact | None) -> str:
    """What people said, by fingerprint; empty where they said nothing."""
    return str(reviewed.about()["inputs"]["labels"]) if reviewed is not None else ""


def _in_use(path: Path) -> dict[str, Any]:
    if not path.exists():
        raise LookupError(
            f"{path}: no student is in use for a recipe of that name, so there is nothing to refresh; `remine run` "
            "makes the first one"
        )
    named: dict[str, Any] = json.loads(path.read_text("utf-8"))
    if not Path(named["path"]).exists():
        raise FileNotFoundError(
            f"{named['path']}: the folder of {named['system']} of run {named['run']}, which is in use, is gone; "
            "`remine rollback` goes back to the one before it, `remine run` makes a new one"
        )
    return named


def _check_same(recipe: str, run: int, settings: Mapping[str, Any], sections: Mapping[str, Any]) -> None:
    """Refuse a recipe whose models are others by now: old verdicts and new ones would be two teachers' on one list."""
    old = {**settings, "miners": settings["mining"]["miners"]}
    for name, now in sections.items():
        if isinstance(now, Settings):  # through its class: what it lacked then has its default
            then, now = (each.model_dump(exclude=KEPT) for each in (type(now).model_validate(old[name]), now))
        else:
            then = old[name]
        if then != now:
            raise ValueError(
                f"recipe {recipe!r}: {name} is not what it was in run {run}, whose student is in use; a refresh goes "
                "on with the models of that run, and would mix two of them. `remine run` starts with the new ones"
            )


def _last_round(made: Made, named: Mapping[str, Any]) -> tuple[Artifact, list[Artifact]]:
    """What was mined in the round that the student came from (else in the last one), and the verdicts, newest first."""
    of_round = re.fullmatch(r"round-(\d+)", named["system"])
    if of_round:
        number = int(of_round[1])
        trained = next(reversed(made.of("train", number)), None)
        if trained is not None:
            inputs = trained.about()["inputs"]
            back = [name for name in inputs if name.startswith("judged ")]
            names = ["judged", *sorted(back, key=lambda name: int(name.split()[1]))]
            return made.of("mine", number)[-1], [made.named("denoise", inputs[name]) for name in names]
    judged, mined = made.of("denoise"), made.of("mine")
    if not judged:
        raise LookupError(
            f"run {named['run']}: its student {named['system']} is in use, but the run came to no round, so nobody has "
            "mined and judged; `remine run` first"
        )
    return mined[-1], judged[::-1]


def _teacher(warehouse: Warehouse, judged: Artifact, sections: Mapping[str, Any]) -> TeacherRef:
    """Who gave these verdicts, with the scale and the blend that they were given by."""
    about = judged.about()
    found = known_teacher(warehouse, about["inputs"]["teacher"], sections["teacher"].trust_remote_code)
    return found.model_copy(update={**about["settings"]["scale"], "blend": Blend(**about["settings"]["blend"])})


def _miners(warehouse: Warehouse, made: Made, mined: Artifact, run: int, trusted: bool) -> tuple[StudentRef, ...]:
    """Students that retrieved; the one that was current comes first. Each is named with its run, once."""
    inputs = mined.about()["inputs"]
    names = {"student": inputs["vectors"]}
    for role, vectors in inputs.items():
        system = role.removeprefix("vectors of ")
        if system != role:
            if vectors == inputs["vectors"]:
                names.pop("student", None)
            names[system] = vectors
    found = []
    for system, vectors in sorted(names.items(), key=lambda item: item[1] != inputs["vectors"]):
        student = made.named("encode", vectors).about()["inputs"]["student"]
        path = Path(find_model(warehouse, "student", student)["path"])
        name = system if " of run " in system or system == "base" else f"{system} of run {run}"
        found.append(StudentRef(system=name, fingerprint=student, path=path, trust_remote_code=trusted))
    return tuple(found)
