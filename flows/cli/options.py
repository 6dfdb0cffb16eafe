"""Options that several commands share."""

from pathlib import Path
from typing import Annotated, Literal

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
    int, typer.Option("--processes", min=1, help="Processes that train together: on GPUs one each; on a CPU, 1.")
]
Precision = Annotated[
    Literal["auto", "fp32", "bf16"], typer.Option("--precision", help="auto takes bf16 where the hardware has it.")
]

RecipeFile = Annotated[
    Path | None, typer.Argument(metavar="[RECIPE.toml]", help="The recipe; recipe.toml in this folder by default.")
]
Changes = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a setting of the recipe; may be given several times."),
]
