"""Who scores a pair: one model or the folds that have not seen its labels, in an arithmetic that keeps the order."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scoring_bench import KEYS, PASSAGES, QUERIES, open_bench
from tiny import make_teacher

import models.runtime
from models.runtime import Runtime
from tasks.refs import TeacherRef
from tasks.score.describe import describe
from tasks.score.folds import FoldedTeacher, load_scorer
from tasks.score.precision import Agreement, compare, sample, settle
from tasks.where import Where
from warehouse.texts import text_hash

CPU = Runtime("cpu", "fp32", 1)
ASKED = list(QUERIES)


def silent(count: int) -> None:
    """Nobody watches."""


@pytest.fixture(scope="module")
def folded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two folds; the first has seen queries 0 and 1, the second 2 and 3, none the rest."""
    root = tmp_path_factory.mktemp("folded")
    for number in range(2):
        make_teacher(root / "folds" / str(number), seed=10 + number)
    rows = [(text_hash(query), number) for number, part in enumerate((ASKED[:2], ASKED[2:4])) for query in part]
    seen = pl.DataFrame(rows, schema={"query_hash": pl.Int64, "fold": pl.Int32}, orient="row")
    seen.write_parquet(root / "seen.parquet")
    (root / "teacher.json").write_text(json.dumps({"folds": 2, "listwise": False, "seen": "seen.parquet"}))
    return root


def logits(path: Path, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
    return load_scorer(path, CPU).score(np.zeros(len(pairs), np.int64), pairs, 128, silent).logits


def test_no_query_is_scored_by_a_fold_that_saw_its_labels(folded: Path) -> None:
    """Pitfall 39b: a teacher repeats what it was told of its own training queries."""
    pairs = [(query, passage) for query in ASKED for passage in PASSAGES[:5]]
    hashes = np.array([text_hash(query) for query, _ in pairs])
    first, second = (logits(folded / "folds" / str(number), pairs) for number in range(2))
    ticks: list[int] = []
    scores = load_scorer(folded, CPU).score(hashes, pairs, 128, ticks.append)
    np.testing.assert_allclose(scores.logits[:10], second[:10], atol=1e-6)
    np.testing.assert_allclose(scores.logits[10:20], first[10:20], atol=1e-6)
    np.testing.assert_allclose(scores.logits[20:], (first[20:] + second[20:]) / 2, atol=1e-6)
    assert not np.allclose(first, second, atol=1e-2)
    assert (scores.n_tokens > 0).all() and sum(ticks) == len(pairs)


def test_folds_score_through_the_step(tmp_path: Path, folded: Path) -> None:
    bench = open_bench(tmp_path, TeacherRef(fingerprint="folded-teacher", path=folded, name="taught"))
    artifact = bench.score(bench.pairs(ASKED, PASSAGES[:5]))
    scores = pl.read_parquet(artifact.file("scores.parquet"))
    texts = {text_hash(text): text for text in (*PASSAGES, *QUERIES)}
    pairs = [(texts[query], texts[passage]) for query, passage in scores.select(KEYS).rows()]
    expected = load_scorer(folded, CPU).score(scores["query_hash"].to_numpy(), pairs, 128, silent)
    np.testing.assert_allclose(scores["logit"].to_numpy(), expected.logits, atol=1e-5)


def test_a_query_that_every_fold_has_seen_is_refused() -> None:
    """Pitfall 39b: falling back to the mean of all would hide exactly the fault that folds are for."""
    seen = pl.DataFrame({"query_hash": [5, 5, 6], "fold": [0, 1, 0]})
    with pytest.raises(ValueError, match="1 queries were seen by all 2 folds, first hash 5"):
        FoldedTeacher([None, None], seen)  # type: ignore[list-item]
    with pytest.raises(ValueError, match="names fold 2, and there are 2 folds"):
        FoldedTeacher([None, None], pl.DataFrame({"query_hash": [5], "fold": [2]}))  # type: ignore[list-item]


def test_a_teacher_is_described_without_being_loaded(tiny_teacher: Path, folded: Path) -> None:
    single = describe(TeacherRef(fingerprint="t", path=tiny_teacher, name="tiny", a=2.0, b=-1.0))
    assert (single["activation"], single["max_length"], single["a"], single["b"]) == ("Sigmoid", 64, 2.0, -1.0)
    assert describe(TeacherRef(fingerprint="t", path=folded, name="taught"))["max_length"] == 64


def test_the_activation_is_known_where_a_folder_names_none(tmp_path: Path) -> None:
    """Two labels, which a file does not list, have none; a language model's answer has a sigmoid, as one label has."""
    configs = {
        "Sigmoid": {"architectures": ["BertForSequenceClassification"], "id2label": {"0": "LABEL_0"}},
        "Identity": {"architectures": ["BertForSequenceClassification"]},
    }
    answering = {"Sigmoid": {"architectures": ["Qwen3ForCausalLM"]}}
    for number, (name, config) in enumerate([*configs.items(), *answering.items()]):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps(config))
        assert describe(TeacherRef(fingerprint="t", path=folder, name="t"))["activation"] == name


def test_agreement_worked_by_hand() -> None:
    """Query 1: 0, 1, 2 becomes 0, 2, 1: one of three comparisons swaps. Query 2: equal in fp32, so not apart."""
    fp32 = np.array([0.0, 1.0, 2.0, 5.0, 5.0], np.float32)
    bf16 = np.array([0.0, 2.0, 1.0, 5.0, 4.5], np.float32)
    found = compare(fp32, bf16, np.array([1, 1, 1, 2, 2]))
    assert (found.pairs, found.comparisons) == (5, 3)
    assert found.swapped == pytest.approx(1 / 3) and found.kendall == pytest.approx(1 / 3)
    assert found.largest == 1.0 and not found.agrees


def test_near_ties_may_swap_and_distant_passages_may_not() -> None:
    fp32 = np.linspace(-5, 5, 40, dtype=np.float32)
    queries = np.ones(40, np.int64)
    close = np.append(fp32, np.float32(5.001)), np.append(fp32, np.float32(4.999))
    assert compare(*close, np.ones(41, np.int64)).agrees
    assert not compare(fp32, fp32[::-1].copy(), queries).agrees
    assert compare(fp32, fp32, np.arange(40)).comparisons > 700


def test_without_anything_to_compare_bf16_is_not_trusted() -> None:
    one = np.array([1.0], np.float32)
    assert not compare(one, one, np.array([1])).agrees


def test_a_sample_holds_lists_of_queries() -> None:
    pairs = pl.DataFrame({"query_hash": np.repeat(np.arange(30), 50), "passage_hash": np.tile(np.arange(50), 30)})
    some = sample(pairs)
    assert some.height == 200
    assert some.group_by("query_hash").len()["len"].unique().to_list() == [20]
    assert some.equals(sample(pairs.sample(fraction=1.0, shuffle=True, seed=1)))


GOOD = Agreement(pairs=200, comparisons=900, swapped=0.0, kendall=0.99, largest=0.05, deviation=3.0)
BAD = replace(GOOD, swapped=0.2)


def settled(folder: Path, found: Agreement, precision: str, monkeypatch: pytest.MonkeyPatch) -> tuple[str, int]:
    """Settle on a machine that has bf16; returns the precision and how often the teacher was compared."""
    monkeypatch.setattr(models.runtime, "native_bf16", lambda device: True)
    calls: list[tuple[str, str]] = []

    def measure(exact: Runtime, quick: Runtime) -> Agreement:
        calls.append((exact.precision, quick.precision))
        return found

    runtime = settle(Where(device="cpu", precision=precision, threads=1), folder, measure)  # type: ignore[arg-type]
    assert all(call == ("fp32", "bf16") for call in calls)
    return runtime.precision, len(calls)


def test_bf16_is_taken_where_ranks_stand_and_that_is_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert settled(tmp_path, GOOD, "auto", monkeypatch) == ("bf16", 1)
    assert settled(tmp_path, BAD, "bf16", monkeypatch) == ("bf16", 0)
    assert json.loads((tmp_path / "precision-bf16-cpu.json").read_text())["largest"] == 0.05


def test_where_ranks_move_auto_takes_fp32_and_bf16_by_name_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert settled(tmp_path, BAD, "auto", monkeypatch) == ("fp32", 1)
    with pytest.raises(ValueError, match=r"cannot score in bf16: of 900 comparisons .* swaps 20\.0% .* 0\.050 logits"):
        settled(tmp_path, BAD, "bf16", monkeypatch)


def test_fp32_compares_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert settled(tmp_path, BAD, "fp32", monkeypatch) == ("fp32", 0)
    assert list(tmp_path.iterdir()) == []


def test_shards_say_which_arithmetic_the_comparison_allowed(
    tmp_path: Path, tiny_teacher: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real comparison of the tiny teacher: whatever it finds decides, and is what every shard records."""
    monkeypatch.setattr(models.runtime, "native_bf16", lambda device: True)
    bench = open_bench(tmp_path, TeacherRef(fingerprint="compared-teacher", path=tiny_teacher, name="tiny"))
    where = bench.run.where.model_copy(update={"precision": "auto"})
    bench.run = bench.run.model_copy(update={"where": where})
    artifact = bench.score(bench.pairs(ASKED, PASSAGES[:12]))
    found = Agreement(**json.loads((bench.shard_files()[0].parent / "precision-bf16-cpu.json").read_text("utf-8")))
    assert found.pairs == 72 and found.comparisons > 100 and 0 < found.largest < found.deviation
    assert artifact.facts["precision"] == ["bf16" if found.agrees else "fp32"]
