"""`remine lists`: a round's scored lists for other trainers, and scores made elsewhere in."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from flows.cli.options import HERE, Home
from flows.cli.tables import existing
from flows.cli.terminal import say

app = typer.Typer(no_args_is_help=True, rich_markup_mode="markdown")

Out = Literal["sentence-transformers", "flagembedding", "colbert", "tevatron", "trec"]
In = Literal["sentence-transformers", "flagembedding", "colbert", "trec"]
Scores = Literal["logit", "judgement"]


@app.callback()
def lists() -> None:
    """Carry scored lists to other trainers, and teacher scores from elsewhere into the store.

    **Example:** `remine lists export 3 --format sentence-transformers --out lists.parquet`
    """


@app.command("export")
def export_(
    run: Annotated[int, typer.Argument(min=1, help="Number of the run, as `remine runs` lists it.")],
    format: Annotated[Out, typer.Option("--format", help="Who reads it.")],
    out: Annotated[Path, typer.Option("--out", help="The file to make; for colbert a folder.")],
    number: Annotated[
        int | None, typer.Option("--round", min=1, show_default="the last one", help="Round of the run.")
    ] = None,
    negatives: Annotated[int, typer.Option(min=0, help="Negatives per list; 0: all, where lengths may differ.")] = 7,
    with_approved: Annotated[
        bool,
        typer.Option("--with-approved", help="Passages that the teacher approves stay in; for distillation alone."),
    ] = False,
    scores: Annotated[
        Scores,
        typer.Option("--scores", help="logit: the teacher's own. judgement: what the student is trained towards."),
    ] = "logit",
    home: Home = HERE,
) -> None:
    """Write a round's lists with the teacher's scores.

    sentence-transformers: Parquet for MarginMSELoss and DistillKLDivLoss. flagembedding (which reads only names that
    end in .jsonl or .json), tevatron: JSON lines. colbert: n-way examples, queries and collection. trec: a run of
    everything that the teacher scored.

    A teacher that is blended with the student knows less alone than both together: export its judgement then.

    **Example:** `remine lists export 3 --format flagembedding --out lists.jsonl`
    """
    existing(home)
    from tasks.lists.exporting import Lists, export_lists
    from tasks.where import Where

    wanted = Lists(run, format, number, negatives, with_approved, scores)
    made = export_lists(Where(home=home.resolve()), wanted, out)
    left = f"; {made.left_out:,} queries have too few negatives and are left out" if made.left_out else ""
    say(f"Wrote {out}: {made.lists:,} lists of run {run}, round {made.number}{left}.")


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file; for colbert the folder.")],
    format: Annotated[In, typer.Option("--format", help="Its format.")],
    teacher: Annotated[
        str, typer.Option(metavar="NAME", help="Whose scores: a registered teacher, its fingerprint, or a model here.")
    ],
    corpus: Annotated[str, typer.Option(show_default="the only one", help="Whose ids trec and colbert have.")] = "",
    scale: Annotated[
        Literal["logit", "probability"] | None,
        typer.Option(show_default="logit, unless all lie in 0–1", help="What the scores are."),
    ] = None,
    new_texts: Annotated[bool, typer.Option("--new-texts", help="Take in texts that no corpus has yet.")] = False,
    home: Home = HERE,
) -> None:
    """Bring teacher scores that were made elsewhere into the store: all of them, or none.

    A pair that is scored already keeps its score; scores that differ from it are refused.

    **Example:** `remine lists import run.trec --format trec --teacher cross-encoder/ms-marco-MiniLM-L6-v2`
    """
    existing(home)
    from tasks.lists.importing import Incoming, import_scores
    from tasks.where import Where

    incoming = Incoming(path=file, format=format, teacher=teacher, corpus=corpus, scale=scale, new_texts=new_texts)
    made = import_scores(Where(home=home.resolve()), incoming)
    texts = f" {made.texts:,} texts were added." if made.texts else ""
    say(f"{file}: {made.pairs:,} pairs of {made.teacher}, {made.new:,} of them new in the store.{texts}")
