"""Options that several commands share."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

Home = Annotated[
    Path,
    typer.Option(
        "--home",
        envvar="REMINE_HOME",
        file_okay=False,
        show_default="this folder",
        help="Folder with warehouse.duckdb and data/artifacts.",
    ),
]

HERE = Path()

Format = Annotated[
    Literal["table", "csv", "json"],
    typer.Option("--format", help="table for people; csv and json are written as they are stored."),
]

Device = Annotated[Literal["auto", "cpu", "cuda", "mps"], typer.Option("--device", help="Where to compute.")]
Threads = Annotated[int, typer.Option("--threads", min=0, help="Threads to compute with; 0 takes every core.")]
Processes = Annotated[
    int,
    typer.Option("--processes", min=1, help="Processes that train together: on GPUs one each, or on the CPU."),
]
Precision = Annotated[
    Literal["auto", "fp32", "bf16"], typer.Option("--precision", help="auto takes bf16 where the hardware has it.")
]
Runner = Annotated[
    Literal["local", "ray"],
    typer.Option("--runner", help="Who encodes and scores: this process, or the workers of a Ray cluster."),
]
OnRay = Annotated[
    list[str] | None,
    typer.Option(
        "--ray",
        metavar="KEY=VALUE",
        help="With --runner ray: address=HOST:PORT of a running cluster (none: one on this machine), workers=N at "
        "most, threads=N of each. May be given several times.",
    ),
]

RecipeFile = Annotated[
    Path | None, typer.Argument(metavar="[RECIPE.toml]", help="The recipe; recipe.toml in this folder by default.")
]
Changes = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a setting of the recipe; may be given several times."),
]


def spread(runner: str, told: list[str] | None) -> dict[str, Any]:
    """Who encodes and scores, as `Where` has it.

    Args:
        runner: local or ray.
        told: `KEY=VALUE` each.

    Raises:
        ValueError: A key or value cannot be used, or they are given for a runner that has none.
    """
    if told and runner != "ray":
        raise ValueError(f"--ray {told[0]}: nobody reads it with --runner {runner}; say --runner ray, or leave it out")
    from pydantic import ValidationError

    from flows.overriding import override, problems
    from tasks.where import Ray

    document: dict[str, Any] = {}
    for change in told or []:
        override(document, change, "--ray", "workers=8")
    try:
        return {"runner": runner, "ray": Ray.model_validate(document)}
    except ValidationError as error:
        raise ValueError(f"--ray cannot be used so:\n{problems(error)}") from error
