"""Cross-fitting, calibration and the blend."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tiny import make_teacher, sentences
from tiny_corpus import make_corpus

from tasks.artifacts import Artifact, make_artifact
from tasks.refs import StudentRef, TeacherRef
from tasks.teach.calibrating import calibrate_teacher, platt, refuse_upside_down
from tasks.teach.labels import Material, fold_of, seen_queries
from tasks.teach.settings import Teach, TeacherSettings
from tasks.teach.teaching import Lectern, ready_teachers, taught_teacher, teach_folds
from tasks.where import Where
from warehouse.texts import text_hash

PASSAGES = list(dict.fromkeys(sentences(40, seed=1)))
TRAIN = [f"how to {text}" for text in PASSAGES[:16]]
DEV = [f"what is {text}" for text in PASSAGES[16:28]]


@pytest.fixture
def corpus(tmp_path: Path) -> Artifact:
    queries = {**dict.fromkeys(TRAIN, "train"), **dict.fromkeys(DEV, "dev")}
    labels = [(query, PASSAGES[place], 1) for place, query in enumerate(TRAIN)]
    labels += [(query, PASSAGES[16 + place], 1) for place, query in enumerate(DEV)]
    return make_corpus(tmp_path, PASSAGES, queries, labels)


def ranked(root: Path, right_rank: int = 2) -> Artifact:
    """A student's dev ranking that has every right passage on one rank."""

    def build(folder: Path) -> dict[str, object]:
        rows = []
        for place, query in enumerate(DEV):
            right = PASSAGES[16 + place]
            others = [text for text in PASSAGES if text != right][:4]
            listed = [*others[: right_rank - 1], right, *others[right_rank - 1 :]]
            rows += [(text_hash(query), text_hash(text), rank, 1.0 / rank) for rank, text in enumerate(listed, start=1)]
        names = {"query_hash": pl.Int64, "passage_hash": pl.Int64, "rank": pl.Int32, "score": pl.Float32}
        frame = pl.DataFrame(rows, schema=names, orient="row")
        frame.write_parquet(folder / "ranking.parquet")
        frame.select("query_hash", "passage_hash").write_parquet(folder / "pairs.parquet")
        return {}

    named = {"system": "warm", "depth": 100, "rerank_depth": 5, "right_rank": right_rank}
    return make_artifact(root, "evaluate", 1, named, {}, build)


def mined(root: Path) -> Artifact:
    def build(folder: Path) -> dict[str, object]:
        rows = [
            (text_hash(query), text_hash(text), rank)
            for place, query in enumerate(TRAIN)
            for rank, text in enumerate([PASSAGES[(place + step) % len(PASSAGES)] for step in (1, 2, 3)], start=1)
        ]
        frame = pl.DataFrame(rows, schema=["query_hash", "passage_hash", "rank"], orient="row")
        frame.write_parquet(folder / "candidates.parquet")
        return {}

    return make_artifact(root, "mine", 1, {}, {}, build)


def scored(root: Path, ranking: Artifact, good: bool) -> Artifact:
    """Logits that put every right passage first (or last)."""

    def build(folder: Path) -> dict[str, object]:
        frame = pl.read_parquet(ranking.file("pairs.parquet"))
        right = {text_hash(query): text_hash(PASSAGES[16 + place]) for place, query in enumerate(DEV)}
        noise = np.random.default_rng(0).normal(0, 1.0, frame.height)
        is_right = np.array([right[query] == passage for query, passage in frame.iter_rows()])
        logits = noise + np.where(is_right, 3.0, 0.0) * (1 if good else -1)
        frame.with_columns(logit=pl.Series(logits, dtype=pl.Float32)).write_parquet(folder / "scores.parquet")
        return {}

    return make_artifact(root, "score", 1, {"good": good}, {"pairs": ranking.fingerprint}, build)


def teacher() -> TeacherRef:
    return TeacherRef(fingerprint="t", path=Path("t"), name="t")


@pytest.mark.parametrize("folds", [2, 3])
def test_no_teacher_sees_the_labels_it_will_judge(corpus: Artifact, folds: int) -> None:
    """Pitfall 39b: a teacher calls hidden positives wrong for queries whose labels it was trained on."""
    seen = seen_queries(corpus, folds)
    hashes = seen["query_hash"].unique().sort()
    assert set(hashes) == {text_hash(query) for query in TRAIN}
    assert set(seen.group_by("query_hash").len()["len"]) == {folds - 1}
    own = dict(zip(hashes, fold_of(hashes, folds), strict=True))
    assert all(own[query] != fold for query, fold in seen.iter_rows())


def test_a_fold_depends_on_the_text_alone(corpus: Artifact) -> None:
    hashes = pl.Series([text_hash(query) for query in TRAIN])
    assert fold_of(hashes, 2).tolist() == [*fold_of(hashes.head(5), 2).tolist(), *fold_of(hashes.slice(5), 2).tolist()]


def test_more_folds_than_labels_are_refused(corpus: Artifact) -> None:
    with pytest.raises(ValueError, match="fewer folds"):
        seen_queries(corpus, 500)


def test_hard_negatives_are_what_the_miner_ranked_and_never_positives(corpus: Artifact, tmp_path: Path) -> None:
    material = Material.read(corpus, mined(tmp_path))
    lists = material.lists(pl.Series([text_hash(TRAIN[3])]))
    assert lists.queries == [TRAIN[3]]
    assert [lists.passages[row] for row in lists.positives[0]] == [PASSAGES[3]]
    assert [lists.passages[row] for row in lists.hard[0]] == [PASSAGES[4], PASSAGES[5], PASSAGES[6]]


def test_platt_finds_the_scale_that_the_labels_were_drawn_from() -> None:
    generator = np.random.default_rng(0)
    judgements = generator.normal(0, 3, 40_000)
    relevant = generator.random(40_000) < 1 / (1 + np.exp(-(0.7 * judgements - 1.2)))
    a, b = platt(judgements, relevant)
    assert a == pytest.approx(0.7, abs=0.03) and b == pytest.approx(-1.2, abs=0.05)


def test_a_teacher_that_is_upside_down_tells_nothing_and_is_refused_where_no_gate_stops_it() -> None:
    judgements = np.array([3.0, 2.0, 1.0, 0.0, -1.0, -2.0])
    a, b = platt(judgements, np.array([False, False, False, False, True, True]))
    assert (a, b) == pytest.approx((0.0, np.log(2 / 4)))
    with pytest.raises(ValueError, match="less relevance"):
        refuse_upside_down(teacher().model_copy(update={"a": a, "b": b}))
    refuse_upside_down(teacher().model_copy(update={"a": 0.01}))


def test_one_kind_of_label_cannot_be_calibrated_on() -> None:
    with pytest.raises(ValueError, match="0 of 3"):
        platt(np.zeros(3), np.zeros(3, dtype=bool))


@pytest.mark.parametrize("good", [True, False])
def test_the_blend_follows_whoever_is_right_on_dev(corpus: Artifact, tmp_path: Path, good: bool) -> None:
    ranking = ranked(tmp_path, right_rank=2 if good else 1)
    scores = scored(tmp_path, ranking, good)
    calibrated = calibrate_teacher(tmp_path, corpus, teacher(), (ranking, scores), ([0.0, 0.5, 1.0], "nDCG@10"))
    assert calibrated.calibrated and calibrated.a > 0
    assert calibrated.blend.weight == (1.0 if good else 0.0)


def test_teaching_leaves_a_cross_encoder_per_fold(corpus: Artifact, tmp_path: Path, tiny_student: Path) -> None:
    from sentence_transformers import CrossEncoder

    where = Where(home=tmp_path, precision="fp32", threads=1, device="cpu")
    warm = StudentRef(system="warm", fingerprint="w", path=tiny_student)
    lectern = Lectern(corpus=corpus, warm=warm, mined=mined(tmp_path), ranked=ranked(tmp_path))
    settings = Teach(steps=4, listwise_steps=2, batch=4, negatives=3, evaluate_every=2, dev_queries=10)
    artifact = teach_folds(where, lectern, settings, seed=0, measure="nDCG@10")
    ref = taught_teacher(artifact)
    folds = artifact.facts["folds"]
    assert len(folds) == 2 and sum(fold["queries"] for fold in folds) == len(TRAIN)
    assert folds[0]["teacher"] != folds[1]["teacher"]
    assert ref.listwise == any(fold["listwise"] for fold in folds)
    for number in range(2):
        model = CrossEncoder(str(artifact.path / "folds" / str(number)), device="cpu")
        assert np.isfinite(model.predict([("how to", "read file")])).all()
    assert teach_folds(where, lectern, settings, seed=0, measure="nDCG@10") == artifact
    (found,) = ready_teachers(TeacherSettings(model=[str(artifact.path)]))
    assert (found.fingerprint, found.listwise) == (ref.fingerprint, ref.listwise), "its scores would be computed twice"
    with pytest.raises(ValueError, match="max_length 32 was asked of taught folds"):
        ready_teachers(TeacherSettings(model=[str(artifact.path)], max_length=32))
    assert not (where.artifacts_path / "state" / artifact.fingerprint[:16]).exists()


def test_a_ready_cross_encoder_is_taught_on(corpus: Artifact, tmp_path: Path, tiny_student: Path) -> None:
    """From its own weights, head included: what does not better it on dev leaves it as it was."""
    from models.fingerprint import fingerprint_folder

    where = Where(home=tmp_path, precision="fp32", threads=1, device="cpu")
    warm = StudentRef(system="warm", fingerprint="w", path=tiny_student)
    lectern = Lectern(corpus=corpus, warm=warm, mined=mined(tmp_path), ranked=ranked(tmp_path))
    starts = [make_teacher(tmp_path / f"start-{seed}", seed) for seed in (1, 2)]
    # steps that move nothing: the best checkpoint is the start
    settings = Teach(steps=1, batch=4, negatives=3, lr=1e-30, dev_queries=10)
    taught = [
        teach_folds(where, lectern, settings.model_copy(update={"start": str(start)}), 0, "nDCG@10") for start in starts
    ]
    assert [each.facts["folds"][1]["teacher"] for each in taught] == [fingerprint_folder(start) for start in starts]
    assert taught[0].fingerprint != taught[1].fingerprint
    make_teacher(starts[0], 3)
    other = teach_folds(where, lectern, settings.model_copy(update={"start": str(starts[0])}), 0, "nDCG@10")
    assert other.fingerprint != taught[0].fingerprint, "another model under the same name"
