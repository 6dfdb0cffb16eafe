"""`remine score`: a teacher's logits of any pairs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli.options import HERE, Device, Home, OnRay, Precision, Runner, Threads, spread
from flows.cli.running import run_here
from flows.cli.terminal import plain, prepare_logs

if TYPE_CHECKING:
    from tasks.deliver.receipt import Receipt

Out = Annotated[
    Path | None,
    typer.Option(
        "--out", help="Write pairs and scores, texts as they came, to a .parquet, .csv, .jsonl or .trec file."
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option("--column", metavar="ROLE=NAME", help="Which column is which, where it has another name."),
]


def score(
    pairs: Annotated[
        Path, typer.Option("--pairs", metavar="FILE", help="JSON lines, CSV, TSV (unquoted), Parquet, or a TREC run.")
    ],
    teacher: Annotated[
        str, typer.Option("--teacher", help="Hub id or folder of a cross-encoder, or folder of a taught teacher.")
    ],
    out: Out = None,
    corpus: Annotated[str, typer.Option(help="Corpus that ids belong to, where there are several.")] = "",
    columns: Columns = None,
    max_length: Annotated[int, typer.Option(min=0, help="Tokens of both texts together; 0: as the model says.")] = 0,
    trust_remote_code: Annotated[
        bool, typer.Option("--trust-remote-code", help="Run code that comes with the model.")
    ] = False,
    home: Home = HERE,
    device: Device = "auto",
    threads: Threads = 0,
    precision: Precision = "auto",
    runner: Runner = "local",
    ray: OnRay = None,
) -> None:
    """Score pairs with a teacher into the warehouse: those that it has not scored yet.

    Columns by name: `query` and `passage` (with `title`, where there is one) are texts; where they are missing,
    `query_id` and `passage_id` are ids of a corpus in the warehouse. Run again after an interruption, it goes on from
    what is there.

    **Example:** `remine score --pairs pairs.csv --teacher cross-encoder/ms-marco-MiniLM-L6-v2 --out scores.csv`
    """
    prepare_logs()
    from flows.request import columns_of, request_of
    from tasks.gather.settings import PairsFile
    from tasks.teach.settings import TeacherSettings
    from tasks.where import Where

    source = PairsFile(path=pairs.resolve(), corpus=corpus, columns=columns_of(columns or []))
    judge = TeacherSettings(model=[teacher], max_length=max_length, trust_remote_code=trust_remote_code)
    request = request_of(source, judge, out.resolve() if out else None)
    where = Where(home=home.resolve(), device=device, threads=threads, precision=precision, **spread(runner, ray))
    show(run_here(load_flow, request, where))


def load_flow() -> Any:
    """The flow, imported late."""
    from flows.score import score_pairs

    return score_pairs


def show(receipt: "Receipt") -> None:
    """Say what was scored and where it is."""
    typer.echo(f"Run {receipt.run}, {plain(receipt.teacher.name)}: {receipt.sentence}")
    if receipt.out is not None:
        typer.echo(f"Wrote {plain(str(receipt.out))}.")
    typer.echo(f'Look: remine sql "{receipt.question}"')
