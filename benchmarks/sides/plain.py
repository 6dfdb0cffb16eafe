"""The plain arms of `benchmarks/quality.py`: sentence-transformers' own trainer and losses, in bf16.

python benchmarks/sides/plain.py ARM HOME OUT --steps N [--seed 0]

All learn for a round's steps from the warm student, as our arms do. The distilled ones learn from the lists of the arm
`keep`, towards what our arms are trained towards: the same teacher's judgement, blended where theirs is; `-raw`: its
own logits. The contrastive one learns from the negatives that `mine_hard_negatives` finds with the warm student, which
every arm of ours has.
"""

import argparse
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import polars as pl

WIDE = (64, 4)
PART = 8  # lists of one graph: 32 took 19 GiB on nl2bash, and the distilled arms learn the same in parts


@dataclass(frozen=True)
class Arm:
    """What an arm starts from and learns by.

    Attributes:
        loss: mnrl, margin_mse or kl.
        scores: What a distilled arm is taught: `lists export` says what each is.
        shape: Lists of a step, and passages of a list.
    """

    loss: str
    scores: Literal["logit", "judgement"] = "judgement"
    shape: tuple[int, int] = (32, 8)


PLAIN = {
    "plain-mnrl": Arm("mnrl"),
    "plain-mnrl-wide": Arm("mnrl", shape=WIDE),
    "plain-margin-mse": Arm("margin_mse"),
    "plain-kl": Arm("kl"),
    "plain-kl-raw": Arm("kl", "logit"),
}


def main() -> None:
    """Train one arm and save its student."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("arm", choices=PLAIN)
    parser.add_argument("home", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    from sentence_transformers import SentenceTransformer

    from models.runtime import configure

    arm, runtime = PLAIN[options.arm], configure()
    shared = Shared(options.home, arm)
    model = SentenceTransformer(str(shared.folder("warmup") / "model"), device=runtime.device)
    columns = mined(model, shared, arm) if arm.loss == "mnrl" else distilled(shared, arm)
    trained(model, loss_of(arm, model), columns, options, arm, runtime.device)
    model.save_pretrained(str(options.out))


class Shared:
    """What an arm of ours has made, and plain arms use: `keep` with its lists, or any for the warm student alone.

    Raises:
        SystemExit: It has not been run.
    """

    def __init__(self, home: Path, arm: Arm) -> None:
        """Look up its last run."""
        from warehouse.connect import Warehouse
        from warehouse.lookup import artifacts_of, latest_run

        warehouse = Warehouse(home / "warehouse.duckdb")
        ended = json.loads((home / "seconds.json").read_text()) if arm.loss == "mnrl" else {}
        named = ["keep", *(name for name in ended if not name.startswith("plain"))]
        found = next(filter(None, (latest_run(warehouse, name) for name in named)), None)
        if found is None:
            raise SystemExit("the arm `keep` has not been run: this one starts from its student and lists")
        self.home, self.run, self.artifacts = home, found[0], artifacts_of(warehouse, found[0])

    def folder(self, step: str) -> Path:
        """The folder of a step's first artifact: of two warm-ups, the one that rounds start from."""
        return Path(self.artifacts.filter(pl.col("step") == step).row(0, named=True)["path"])


def distilled(shared: Shared, arm: Arm) -> dict[str, list[Any]]:
    """The lists of the arm `keep` with the teacher's scores: query, positive, negatives, label."""
    from tasks.lists.exporting import Lists, export_lists
    from tasks.where import Where

    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "lists.parquet"
        wanted = Lists(shared.run, "sentence-transformers", None, arm.shape[1] - 1, True, arm.scores)
        export_lists(Where(home=shared.home), wanted, path)
        return pl.read_parquet(path).to_dict(as_series=False)


def mined(model: Any, shared: Shared, arm: Arm) -> dict[str, list[Any]]:
    """Labelled pairs, each with hard negatives by the library's own mining."""
    from datasets import Dataset
    from sentence_transformers.util import mine_hard_negatives

    ingested = shared.folder("ingest")
    labels = pl.read_parquet(ingested / "labels.parquet").filter((pl.col("split") == "train") & (pl.col("grade") > 0))
    texts = {
        kind: dict(pl.read_parquet(ingested / f"{kind}.parquet").select("hash", "text").iter_rows())
        for kind in ("queries", "passages")
    }
    pairs = labels.select("query_hash", "passage_hash").rows()
    known = {"query": [texts["queries"][query] for query, _ in pairs]}
    known["positive"] = [texts["passages"][passage] for _, passage in pairs]
    data = mine_hard_negatives(
        Dataset.from_dict(known),
        model,
        corpus=list(texts["passages"].values()),
        range_max=30,
        num_negatives=arm.shape[1] - 1,
        relative_margin=0.05,
        output_format="n-tuple",
        verbose=False,
    )
    return {name: list(data[name]) for name in data.column_names}


def loss_of(arm: Arm, model: Any) -> Any:
    """The library's loss; a cosine student reaches the logits' range by its temperature."""
    from sentence_transformers.sentence_transformer import losses
    from sentence_transformers.util import pairwise_cos_sim

    if arm.loss == "mnrl":
        return losses.CachedMultipleNegativesRankingLoss(model, scale=20.0, mini_batch_size=PART)
    if arm.loss == "kl":
        return losses.DistillKLDivLoss(model, student_temperature=0.05)
    return losses.MarginMSELoss(model, similarity_fct=lambda a, b: 20.0 * pairwise_cos_sim(a, b))


def trained(
    model: Any, loss: Any, columns: dict[str, list[Any]], options: argparse.Namespace, arm: Arm, device: str
) -> None:
    """Train in bf16, at the learning rate of our arms."""
    from datasets import Dataset
    from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments
    from sentence_transformers.sentence_transformer.training_args import BatchSamplers

    lists = arm.shape[0]
    with tempfile.TemporaryDirectory() as folder:
        arguments = SentenceTransformerTrainingArguments(
            output_dir=folder,
            max_steps=options.steps,
            per_device_train_batch_size=lists if arm.loss == "mnrl" else PART,
            gradient_accumulation_steps=1 if arm.loss == "mnrl" else lists // PART,
            learning_rate=1e-4,
            warmup_steps=max(1, options.steps // 10),
            bf16=True,
            use_cpu=device == "cpu",
            batch_sampler=BatchSamplers.NO_DUPLICATES,
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
            seed=options.seed,
        )
        data = Dataset.from_dict(columns)
        SentenceTransformerTrainer(model=model, args=arguments, train_dataset=data, loss=loss).train()


if __name__ == "__main__":
    main()
