"""A teacher of many trades: one cross-encoder taught on the labels of several collections together."""

import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasks.artifacts import Artifact, make_resumable
from tasks.progress import progress
from tasks.refs import TeacherRef
from tasks.teach.settings import Phases
from tasks.teach.teaching import Lectern, teacher_plans, told
from tasks.where import Where

if TYPE_CHECKING:
    from models.teacher import Teacher

VERSION = 2


def teach_general(where: Where, lecterns: Sequence[Lectern], settings: Phases, seed: int, measure: str) -> Artifact:
    """Train one cross-encoder on all train labels of several corpora, each as often as the others.

    It starts from the first lectern's student. The best checkpoint is that of the highest mean, over the corpora, of
    the dev measure of its re-ranking. It has seen every train label: on these corpora it is no judge of train queries.

    Args:
        where: Machine and paths.
        lecterns: Of each corpus: the student that mined, its candidates and its dev ranking.
        settings: Phases, negatives, schedule.
        seed: Seed of the new head, draws and dropout.
        measure: The dev measure.

    Returns:
        An artifact with the folder `model` (a CrossEncoder).
    """
    named = {**settings.model_dump(mode="json"), "seed": seed, "measure": measure}
    inputs = {f"{role} {number}": made for number, each in enumerate(lecterns) for role, made in _parts(each).items()}

    def build(folder: Path, state: Path) -> dict[str, Any]:
        from models.fingerprint import fingerprint_folder
        from models.mixing import MixedLists
        from models.runtime import configure
        from models.teacher import Teacher
        from models.teaching import train_teacher

        lists = MixedLists([_lists(each) for each in lecterns])
        teacher = Teacher.from_encoder(
            lecterns[0].warm.path, configure(where.device, where.precision, where.threads), seed
        )
        plans = teacher_plans(settings, seed)
        with progress(f"teach on {len(lecterns)} corpora", sum(plan.steps for plan in plans), "steps") as tick:
            taught = train_teacher(
                teacher, lists, plans, _mean_measure(where, lecterns, settings, measure), state, tick
            )
        teacher.save(folder / "model")
        return {"teacher": fingerprint_folder(folder / "model"), "queries": len(lists), **told(taught)}

    return make_resumable(where.artifacts_path, "teach-general", VERSION, named, inputs, build)


def general_teacher(artifact: Artifact, name: str) -> TeacherRef:
    """The teacher that `teach_general` left behind, under a name."""
    facts = artifact.facts
    return TeacherRef(fingerprint=facts["teacher"], path=artifact.file("model"), name=name, listwise=facts["listwise"])


def _parts(lectern: Lectern) -> dict[str, str]:
    return {
        "corpus": lectern.corpus.fingerprint,
        "student": lectern.warm.fingerprint,
        "mined": lectern.mined.fingerprint,
        "ranked": lectern.ranked.fingerprint,
    }


def _lists(lectern: Lectern) -> Any:
    from tasks.teach.labels import Material

    material = Material.read(lectern.corpus, lectern.mined)
    return material.lists(material.positives["query_hash"].unique().sort())


def _mean_measure(
    where: Where, lecterns: Sequence[Lectern], settings: Phases, measure: str
) -> "Callable[[Teacher], float]":
    """The mean of the corpora's dev measures, however many queries each has."""
    from tasks.teach.reranking import rerank_measure

    each = [
        rerank_measure(lectern.corpus, lectern.ranked, measure, settings.dev_queries, where.batch_tokens)
        for lectern in lecterns
    ]
    return lambda teacher: statistics.fmean(evaluate(teacher) for evaluate in each)
