"""Exported lists as the libraries read them that they are for: each library's own reader, beside our packages."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import warehouse_samples as sample

from tasks.lists.exporting import Lists, export_lists

pytestmark = pytest.mark.slow

COLBERT = ["colbert-ai", "ujson", "gitpython", "gitdb", "smmap", "python-dotenv", "bitarray"]
# What the packages ask for besides is large, or of other versions than ours: a reader needs little of it, and a
# package whose other modules cannot be imported is entered without them.
BEGINNING = """
import json, sys, types
packages, exported, model = sys.argv[1:]
sys.path.append(packages)

def enter(*names):
    for name in names:
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__path__ = [packages + "/" + name.replace(".", "/")]

from transformers import AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained(model, local_files_only=True)
"""
FLAGEMBEDDING = """
enter(*("FlagEmbedding", "FlagEmbedding.abc", "FlagEmbedding.abc.finetune", "FlagEmbedding.abc.finetune.embedder"))
from FlagEmbedding.abc.finetune.embedder.AbsArguments import AbsEmbedderDataArguments
from FlagEmbedding.abc.finetune.embedder.AbsDataset import AbsEmbedderCollator, AbsEmbedderTrainDataset

how = AbsEmbedderDataArguments(
    train_data=[exported], train_group_size=2, knowledge_distillation=True, cache_path=packages + "/cache"
)
read = AbsEmbedderTrainDataset(how, tokenizer)
rows = [read[number] for number in range(len(read))]
batch = AbsEmbedderCollator(tokenizer)(rows)
assert len(batch["teacher_scores"]) == 2 * len(rows) == len(batch["passages"]["input_ids"])
found = [[query, list(zip(passages, scores))] for query, passages, scores in rows]
"""
TEVATRON = """
from datasets import load_dataset
from tevatron.datasets.preprocessor import TrainPreProcessor

read = load_dataset("json", data_files=exported, split="train", cache_dir=packages + "/cache")
made = read.map(TrainPreProcessor(tokenizer, 16, 32, " "), remove_columns=read.column_names)
ids = lambda text: tokenizer.encode(text, add_special_tokens=False)
found = []
for row, tokens in zip(read, made):
    for kind in ("positive", "negative"):
        texts = [" ".join([each["title"], each["text"]]).strip() for each in row[kind + "_passages"]]
        assert tokens[kind + "s"] == [ids(text) for text in texts]
    passages = row["positive_passages"] + row["negative_passages"]
    found.append([row["query"], [[each["docid"], None] for each in passages]])
"""
COLBERT_READER = """
from colbert.data.collection import Collection
from colbert.data.examples import Examples
from colbert.data.queries import Queries

examples = Examples(exported + "/examples.json", nway=2)
queries, passages = Queries(exported + "/queries.tsv"), Collection(exported + "/collection.tsv")
found = [[queries[qid], [[passages[pid], score] for pid, score in way]] for qid, *way in examples.tolist()]
"""
TRUE = [
    ["apple", [["Fruit red apple", 1.0], ["blue sky", -2.0]]],
    ["sky", [["blue sky", 4.0], ["green apple", -3.0]]],
    ["sky", [["tall tree", 2.5], ["green apple", -3.0]]],
]


def read(folder: Path, packages: list[str], script: str, exported: Path, model: Path) -> list[Any]:
    """What a library's reader finds, in a process of its own."""
    beside = folder / "packages"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(beside), *packages]
    installed = subprocess.run(pip, capture_output=True, text=True, timeout=300)
    if installed.returncode:
        pytest.skip(f"no package index: {installed.stderr[-200:]}")
    whole = f"{BEGINNING}{script}\nprint('\\n' + json.dumps(found))"
    command = [sys.executable, "-c", whole, str(beside), str(exported), str(model)]
    told = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=folder)
    assert told.returncode == 0, told.stderr[-2000:]
    found: list[Any] = json.loads(told.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize(
    ("format", "packages", "script"),
    [
        ("flagembedding", ["flagembedding"], FLAGEMBEDDING),
        ("tevatron", ["tevatron"], TEVATRON),
        ("colbert", COLBERT, COLBERT_READER),
    ],
)
def test_a_librarys_own_reader_finds_what_was_written(
    tmp_path: Path, tiny_teacher: Path, format: str, packages: list[str], script: str
) -> None:
    """Pitfall 27: columns and scores in another order than the reader takes them."""
    where = sample.played(tmp_path)
    path = tmp_path / ("lists" if format == "colbert" else "lists.jsonl")
    export_lists(where, Lists(1, format, None, 1), path)
    found = read(tmp_path, packages, script, path, tiny_teacher)
    if format == "tevatron":  # it has no scores, and all of a query's passages in one row
        assert sorted(found) == [
            ["apple", [["d1", None], ["d3", None]]],
            ["sky", [["d3", None], ["d6", None], ["d2", None]]],
        ]
    elif format == "colbert":
        assert sorted(found) == TRUE
    else:  # one row a query, of whose positives it draws one
        assert len(found) == 2 and all([query, way] in TRUE for query, way in found)
