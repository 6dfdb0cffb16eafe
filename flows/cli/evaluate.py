"""`remine evaluate`: models as they come, beside each other, before anyone trains."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli.options import HERE, Changes, Device, Format, Home, OnRay, Precision, Runner, Threads, spread
from flows.cli.running import run_here
from flows.cli.tables import show
from flows.cli.terminal import plain, prepare_logs, print_table, say

if TYPE_CHECKING:
    import polars as pl

    from flows.comparison import Comparison


def evaluate(
    data: Annotated[str, typer.Argument(metavar="DATA", help="BEIR folder, pairs, or a saved Hugging Face data set.")],
    more: Annotated[list[str] | None, typer.Argument(metavar="MODEL", hidden=True)] = None,
    models: Annotated[
        list[str] | None,
        typer.Option("--models", metavar="MODEL [MODEL]...", help="Hub ids or folders of bi-encoders."),
    ] = None,
    teacher: Annotated[str, typer.Option("--teacher", help="Cross-encoder that re-ranks what each model finds.")] = "",
    trec_out: Annotated[
        Path | None, typer.Option("--trec-out", metavar="DIR", help="Write TREC runs of all systems, and qrels.")
    ] = None,
    settings: Changes = None,
    home: Home = HERE,
    device: Device = "auto",
    threads: Threads = 0,
    precision: Precision = "auto",
    runner: Runner = "local",
    ray: OnRay = None,
    format: Format = "table",
) -> None:
    """Compare models as they come on labelled data: each beside chance, BM25, and BM25 with the first one (hybrid).

    Measured on the labels of test; where there are none, of dev; else on all. Nothing is trained. `--set` changes
    settings under `source`, `evaluation`, `teacher`: `source.labels=dev`, `evaluation.ignore_identical_ids=true` (for
    ArguAna). A model stands under the last part of its name, or under all of it where that part is taken (`warm`, say).

    **Example:** `remine evaluate data/scifact --models intfloat/e5-small-v2 BAAI/bge-small-en-v1.5`
    """
    prepare_logs()
    from flows.comparison import comparison_of
    from tasks.record import warehouse_of
    from tasks.report.models import model_table
    from tasks.where import Where

    also = {"teacher": {"model": teacher} if teacher else {}, "trec_out": trec_out.resolve() if trec_out else None}
    request = comparison_of(data, [*(models or []), *(more or [])], settings or [], also)
    where = Where(home=home.resolve(), device=device, threads=threads, precision=precision, **spread(runner, ray))
    run = run_here(load_flow, request, where)
    found = model_table(warehouse_of(where), run.id, request.evaluation.measure, request.systems[0])
    tell(run.id, found, request, format)


def tell(run: int, found: "pl.DataFrame", request: "Comparison", format: Format) -> None:
    """Print what came out; csv and json are the rows alone."""
    if format != "table":
        show(found, format)
        return
    print_table(*rows_of(found, request.evaluation.measure, request.systems[0]))
    say(f"Run {run}; intervals are bootstrap 95 % over {found['queries'][0]} queries, differences paired.")
    if request.trec_out:
        say(f"TREC runs and qrels are in {plain(str(request.trec_out))}.")


def rows_of(found: "pl.DataFrame", measure: str, first: str) -> tuple[list[str], list[list[str]]]:
    """A table for people: an interval is one cell."""
    others = found.columns[4 : found.columns.index("against")]
    head = ["system", measure, "95 % interval", *others, f"against {first}", "p"]
    rows = []
    for row in found.iter_rows(named=True):
        gain = (
            ""
            if row["against"] is None
            else f"{row['against']:+.3f} ({row['against_low']:+.3f} … {row['against_high']:+.3f})"
        )
        p = "" if row["p"] is None else f"{row['p']:.4f}"
        interval = f"{row['low']:.3f} … {row['high']:.3f}"
        rows.append([row["system"], f"{row[measure]:.3f}", interval, *(f"{row[name]:.3f}" for name in others), gain, p])
    return head, rows


def load_flow() -> Any:
    """The flow, imported late."""
    from flows.evaluate import evaluate_models

    return evaluate_models
