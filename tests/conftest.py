"""What every test shares: few threads, no network, and tiny models built once."""

import os
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("RAYON_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ["HF_HUB_OFFLINE"] = "1"

import pytest
import torch
from tiny import make_student, make_teacher

torch.set_num_threads(1)


@pytest.fixture(scope="session")
def tiny_student(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SentenceTransformer folder: two-layer BERT, mean pooling, Normalize, query and passage prompts."""
    path = tmp_path_factory.mktemp("models") / "student"
    return make_student(path, seed=1, prompts={"query": "query ", "document": "passage "})


@pytest.fixture(scope="session")
def tiny_teacher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CrossEncoder folder: two-layer BERT with a one-label head."""
    return make_teacher(tmp_path_factory.mktemp("models") / "teacher", seed=2)
