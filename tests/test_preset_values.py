"""Presets hold the constants of their papers: each value beside where it comes from, and no value without one.

Mended by the source, not by the preset: a constant that drifts makes a baseline that nobody published.
"""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flows.recipe import load_recipe

PRESETS = Path(__file__).parents[1] / "flows" / "presets"
OURS = "ours: a corpus of thousands of labels, one machine, one vector per text"
PRETRAINED = "all of them train a pretrained encoder, not one that labels have warmed up"
MEMORY = "the authors' paper, from memory"
COLBERT = "ColBERTv2, arXiv 2112.01488, with PyLate's batch"
SIMLM = "SimLM, arXiv 2207.02578"
MARGINS = "Hofstätter et al., arXiv 2010.02666"
ROCKET = "RocketQA, arXiv 2010.08191, construct_marco_train_de.py"
GPL = "GPL, arXiv 2112.07577"
BGE = "FlagEmbedding, arXiv 2309.07597, AbsArguments"
NV = "NV-Retriever, arXiv 2407.15831"
MNRL = "sentence-transformers, MultipleNegativesRankingLoss; cache: arXiv 2101.06983"
VALUES: dict[str, dict[str, tuple[Any, str]]] = {
    "colbertv2": {
        "student.max_length": (180, COLBERT),
        "denoising.policy": ("soften", COLBERT),
        "training.start": ("base", PRETRAINED),
        "training.list_length": (64, COLBERT),
        "training.batch": (32, COLBERT),
        "training.lr": (1e-5, COLBERT),
        "training.warmup_share": (20_000 / 400_000, COLBERT),
        "training.steps": (400_000 // 100, OURS),
        "training.evaluate_every": (200, OURS),
        "training.chunk_tokens": (4096, OURS),
        "training.objectives": ([{"name": "kl", "tau": 0.05}], OURS),
    },
    "simlm": {
        "student.max_length": (144, SIMLM),
        "denoising.policy": ("soften", SIMLM),
        "training.start": ("base", PRETRAINED),
        "training.list_length": (24, SIMLM),
        "training.batch": (64, SIMLM),
        "training.lr": (3e-5, SIMLM),
        "training.steps": (1000, OURS),
        "training.chunk_tokens": (4096, OURS),
        "training.objectives": (
            [{"name": "kl", "tau": 0.02}, {"name": "contrastive", "weight": 0.2, "tau": 0.02}],
            SIMLM,
        ),
    },
    "margin-mse": {
        "rounds": (1, MARGINS),
        "student.max_length": (200, MARGINS),
        "denoising.policy": ("soften", MARGINS),
        "training.start": ("base", PRETRAINED),
        "training.list_length": (2, MARGINS),
        "training.batch": (32, MARGINS),
        "training.lr": (7e-6, MARGINS),
        "training.steps": (2000, OURS),
        "training.evaluate_every": (100, OURS),
        "training.patience": (5, OURS),  # the paper stops early too, by nDCG@10
        "training.objectives": ([{"name": "margin_mse", "tau": 0.05}], OURS),  # raw dot products in the paper
    },
    "rocketqa": {
        "rounds": (1, ROCKET),
        "student.max_length": (128, ROCKET),
        "mining.depth": (50, ROCKET),
        "mining.last_rank": (50, ROCKET),
        "denoising.policy": ("drop", ROCKET),
        "denoising.drop_below": (0.1, ROCKET),
        "denoising.approve": (0.9, ROCKET),
        "training.start": ("warm", OURS),
        "training.list_length": (2, ROCKET),
        "training.pool": (4, ROCKET),
        "training.batch": (512, ROCKET),
        "training.lr": (3e-5, ROCKET),
        "training.steps": (400, OURS),
        "training.chunk_tokens": (4096, OURS),
        "training.objectives": ([{"name": "contrastive", "tau": 0.05}], OURS),
    },
    "gpl": {
        "rounds": (1, GPL),
        "student.max_length": (350, GPL),
        "mining.miners": (["student", "base", "bm25"], OURS),  # several miners, of which the paper names others
        "mining.depth": (50, GPL),
        "mining.last_rank": (50, GPL),
        "denoising.policy": ("soften", GPL),
        "training.start": ("base", PRETRAINED),
        "training.list_length": (2, GPL),
        "training.batch": (32, GPL),
        "training.lr": (2e-5, GPL),
        "training.warmup_share": (0.007, GPL),  # 1,000 of 140,000
        "training.steps": (140_000 // 100, OURS),
        "training.objectives": ([{"name": "margin_mse", "tau": 0.05}], OURS),
    },
    "bge": {
        "rounds": (1, BGE),
        "student.max_length": (256, BGE),
        "mining.depth": (210, BGE),
        "mining.first_rank": (10, BGE),
        "mining.last_rank": (210, BGE),
        "mining.count": (15, BGE),
        "mining.picker": ("random", BGE),
        "denoising.policy": ("soften", BGE),
        "training.start": ("base", PRETRAINED),
        "training.list_length": (8, BGE),
        "training.batch": (32, BGE),
        "training.lr": (1e-5, BGE),
        "training.steps": (600, OURS),
        "training.objectives": ([{"name": "kl", "tau": 0.02}, {"name": "contrastive", "tau": 0.02}], BGE),
    },
    "mnrl": {
        "rounds": (1, MNRL),
        "denoising.policy": ("keep", MNRL),
        "training.start": ("base", PRETRAINED),
        "training.list_length": (2, MNRL),
        "training.batch": (256, MNRL),
        "training.lr": (2e-5, MNRL),
        "training.evaluate_every": (20, MNRL),
        "training.steps": (200, OURS),
        "training.chunk_tokens": (4096, OURS),
        "training.objectives": ([{"name": "contrastive", "tau": 1 / 20}], MNRL),  # scale 20
    },
    "nv-retriever": {
        "rounds": (1, NV),
        "mining.perc_pos": (0.95, NV),
        "mining.count": (10, NV),
        "denoising.policy": ("keep", NV),
        "training.start": ("base", PRETRAINED),
        "training.list_length": (5, MEMORY),
        "training.pick": ("top", NV),
        "training.batch": (128, MEMORY),
        "training.lr": (1e-5, MEMORY),
        "training.steps": (400, OURS),
        "training.chunk_tokens": (4096, OURS),
        "training.objectives": ([{"name": "contrastive", "tau": 0.02}], MEMORY),
    },
}
CHOSEN = {"name", "source.path", "student.model", "teacher.model"}  # by whoever runs it


def flat(table: dict[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from flat(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


@pytest.mark.parametrize("name", VALUES)
def test_a_preset_sets_what_its_source_says_and_nothing_else(name: str) -> None:
    path = PRESETS / f"{name}.toml"
    written = {key: value for key, value in flat(tomllib.loads(path.read_text("utf-8"))) if key not in CHOSEN}
    assert written == {key: value for key, (value, _) in VALUES[name].items()}


@pytest.mark.parametrize("name", VALUES)
def test_what_a_preset_sets_is_what_the_recipe_does(name: str) -> None:
    """A value that equals the default, or that another setting overrules, is not what the paper's reader thinks."""
    settings = dict(flat(load_recipe(PRESETS / f"{name}.toml", []).model_dump(mode="json")))
    for key, (value, _) in VALUES[name].items():
        if key == "training.objectives":
            assert len(settings[key]) == len(value)
            assert all(one.items() >= other.items() for one, other in zip(settings[key], value, strict=True))
        else:
            assert settings[key] == value, key
    assert settings["training.warmup_share"] == VALUES[name].get("training.warmup_share", (0.1,))[0]
    assert settings["training.in_batch"] is True and settings["rounds"] == VALUES[name].get("rounds", (2,))[0]


@pytest.mark.parametrize("name", VALUES)
def test_a_preset_names_its_paper(name: str) -> None:
    header = (PRESETS / f"{name}.toml").read_text("utf-8").partition("\n\n")[0]
    papers = {paper for _, source in VALUES[name].values() for paper in re.findall(r"arXiv (\d+\.\d+)", source)}
    assert papers and all(paper in header for paper in papers)
