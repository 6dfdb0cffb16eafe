"""`remine teach`: one teacher for many collections."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli.options import HERE, Changes, Device, Format, Home, OnRay, Precision, Runner, Threads, spread
from flows.cli.running import run_here
from flows.cli.tables import show
from flows.cli.terminal import plain, prepare_logs, print_table, say

if TYPE_CHECKING:
    import polars as pl


def teach(
    curriculum: Annotated[
        Path, typer.Argument(metavar="CURRICULUM.toml", help="Sources, student and settings of the teaching.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the teacher goes, a CrossEncoder folder.")],
    settings: Changes = None,
    home: Home = HERE,
    device: Device = "auto",
    threads: Threads = 0,
    precision: Precision = "auto",
    runner: Runner = "local",
    ray: OnRay = None,
    format: Format = "table",
) -> None:
    """Teach one cross-encoder on the labels of several collections, for others to use as their teacher.

    A teacher that learnt from one collection's thousand labels knows little more than a student that learnt from the
    same; one that has seen several can know what none of them says. Name its folder as `teacher.model` in a recipe, or
    as `teach.start` to teach it on there. Interrupted, the same command goes on.

    **Example:** `remine teach flows/presets/general-teacher.toml --out models/general`
    """
    prepare_logs()
    from flows.curriculum import load_curriculum
    from tasks.export.folder import copy_to, refuse_foreign
    from tasks.record import warehouse_of
    from tasks.report.sources import source_table
    from tasks.where import Where

    request = load_curriculum(curriculum, settings or [])
    refuse_foreign(out.resolve())
    where = Where(home=home.resolve(), device=device, threads=threads, precision=precision, **spread(runner, ray))
    made, measure = run_here(load_flow, request, where), request.evaluation.measure
    names = [source.corpus for source in request.sources]
    tell(source_table(warehouse_of(where), made.run, names, measure), measure, format)
    folder, facts = copy_to(made.artifact, out), made.artifact.facts
    unfinished = "; the best step was the last one: more might be better" if facts["unfinished"] else ""
    say(f"The teacher is in {plain(str(folder))} (best after {max(facts['best_steps'])} steps{unfinished}).")


def tell(found: "pl.DataFrame", measure: str, format: Format) -> None:
    """Print how the teacher does on each source; csv and json are the rows alone."""
    if format != "table":
        show(found, format)
        return
    rows = [
        [
            row["source"],
            row["split"],
            f"{row['student']:.3f}",
            f"{row['teacher']:.3f}",
            f"{row['gain']:+.3f} ({row['low']:+.3f} … {row['high']:+.3f})",
            f"{row['p']:.4f}",
        ]
        for row in found.iter_rows(named=True)
    ]
    print_table(["source", "split", f"student's {measure}", "re-ranked by the teacher", "gain", "p"], rows)


def load_flow() -> Any:
    """The flow, imported late."""
    from flows.teach import teach_general

    return teach_general
