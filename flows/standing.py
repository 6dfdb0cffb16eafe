"""A student with everything that was found out about it, and how long the loop goes on."""

from collections.abc import Sequence
from typing import Any

from flows.recipe import Recipe
from tasks.denoise.evidence import Evidence, Reviewed
from tasks.diagnose.seen import Seen, seen
from tasks.diagnose.task import diagnose
from tasks.encode import encode
from tasks.evaluate.task import evaluate, evaluate_rerank, evaluate_shortened, threshold
from tasks.mine.miners import Miner
from tasks.promote.deciding import Contender, Decision
from tasks.promote.task import evaluate_guard, promote
from tasks.refs import Artifact, Run, StudentRef, TeacherRef
from tasks.review.task import review
from tasks.score.task import score
from tasks.settings import Settings
from tasks.teach.names import refuse_misnamed_teacher
from tasks.teach.task import TeacherPlanning
from tasks.teach.teaching import Lectern, ready_teachers
from tasks.train.lesson import Lesson
from tasks.train.names import refuse_misnamed
from tasks.train.rounds import start_of
from tasks.train.shorter import refuse_long
from tasks.warmup.settings import Warmup


def check(recipe: Recipe) -> None:
    """Refuse what student and teacher cannot give, before anything is computed.

    Raises:
        ModelNotFound: There is no such student, or no such cross-encoder to start a teacher from.
        ModuleNotFoundError: Adapters are wanted, and `peft` is not there.
        ValueError: They cannot; the message says what was asked of them.
    """
    refuse_long(recipe.training.dimensions, recipe.student)
    frozen = {"warmup.frozen": recipe.warmup.frozen, "training.frozen": recipe.training.frozen}
    refuse_misnamed(frozen, recipe.student)
    if not recipe.teacher.model:
        refuse_misnamed_teacher(recipe.teach.frozen, recipe.student, recipe.teach.start)


def check_teachers(recipe: Recipe) -> None:
    """Refuse a ready teacher that is not there, which `teach` would say when two students have been trained.

    Raises:
        ModelNotFound: There is none under a name.
        ValueError: It is no folder of a teacher, or its maximum length cannot be changed.
    """
    ready_teachers(recipe.teacher)


class Measured(Settings):
    """A student, its vectors, its evaluation with the cut-off that follows, and its evaluation on a guard set.

    `held_to` is what whoever replaces it is held to there: see `Contender`.
    """

    student: StudentRef
    vectors: Artifact
    evaluation: Artifact
    guarded: Artifact | None = None
    cutoff: Artifact | None = None
    held_to: Artifact | None = None

    @property
    def contender(self) -> Contender:
        """What promotion compares."""
        return Contender(self.student, self.evaluation, self.guarded, self.held_to)

    def after(self, decision: Decision, challenger: "Measured") -> "Measured":
        """The better one, after a decision between this student and a challenger."""
        return challenger.model_copy(update={"held_to": decision.held_to}) if decision.promoted else self

    @property
    def miner(self) -> Miner:
        """What mining asks."""
        return Miner(system=self.student.system, vectors=self.vectors)


def measure(
    run: Run, number: int, corpus: Artifact, student: StudentRef, recipe: Recipe, guard: Artifact | None = None
) -> Measured:
    """Encode the corpus with a student and evaluate it: also by shorter vectors, on a guard set, where asked for."""
    vectors = encode(run, number, corpus, student)
    evaluation = evaluate(run, number, corpus, student, vectors, recipe.evaluation)
    for dimension in recipe.training.dimensions:
        evaluate_shortened(run, number, corpus, (student, vectors), recipe.evaluation, dimension)
    guarded = evaluate_guard(run, number, guard, student, recipe.evaluation) if guard else None
    cutoff = threshold(run, number, corpus, evaluation)
    return Measured(student=student, vectors=vectors, evaluation=evaluation, guarded=guarded, cutoff=cutoff)


def examine(run: Run, corpus: Artifact, student: StudentRef, recipe: Recipe, guard: Artifact | None = None) -> Measured:
    """Measure and diagnose a student that comes from no round."""
    measured = measure(run, 0, corpus, student, recipe, guard)
    diagnose(run, 0, corpus, seen_of(measured, recipe))
    return measured


def rerank(run: Run, number: int, corpus: Artifact, measured: Measured, teacher: TeacherRef) -> Artifact:
    """Measure the teacher re-ranking a student's dev and test candidates."""
    scored = score(run, number, corpus, measured.evaluation, teacher)
    return evaluate_rerank(run, number, corpus, measured.evaluation, scored, teacher)


def best_of(run: Run, incumbent: Measured, challenger: Measured, recipe: Recipe) -> Measured:
    """The better of two students on dev, before the rounds."""
    decision = promote(run, 0, incumbent.contender, challenger.contender, recipe.promotion, recipe.evaluation.measure)
    return incumbent.after(decision, challenger)


def planning_of(recipe: Recipe) -> TeacherPlanning:
    """What `teach` and `calibrate` need of a recipe."""
    return TeacherPlanning(
        teacher=recipe.teacher, teach=recipe.teach, seed=recipe.seed, measure=recipe.evaluation.measure
    )


def lectern_of(corpus: Artifact, warm: Measured, mined: Artifact) -> Lectern:
    """What a teacher starts from."""
    return Lectern(corpus=corpus, warm=warm.student, mined=mined, ranked=warm.evaluation)


def reviewed(run: Run, number: int, corpus: Artifact, teacher: TeacherRef) -> Reviewed | None:
    """What people have said in review, with the teacher's scores; None where nobody has said anything."""
    labels = review(run, number, corpus)
    return Reviewed(labels=labels, scored=score(run, number, corpus, labels, teacher)) if labels else None


def evidence_of(
    corpus: Artifact, miner: Measured, mined: Artifact, scored: Artifact, people: Reviewed | None
) -> Evidence:
    """What verdicts rest on."""
    return Evidence(corpus=corpus, vectors=miner.vectors, mined=mined, scored=scored, reviewed=people)


def lesson_of(recipe: Recipe, corpus: Artifact, judged: list[Artifact], students: dict[str, StudentRef]) -> Lesson:
    """What the student of a round learns from (verdicts, the newest first), and the weights it starts from."""
    start = start_of(recipe.training, students["base"], students["warm"], students["last"])
    return Lesson(corpus=corpus, start=start, judged=judged[0], earlier=tuple(judged[1:]))


def seen_of(
    measured: Measured, recipe: Recipe, evidence: Evidence | None = None, judged: Sequence[Artifact] = ()
) -> Seen:
    """What a diagnosis looks at: a student, and the round that it came from where it came from one; newest first."""
    newest, before, *_ = (*judged, None, None)
    found = seen(measured.student.system, measured.vectors, evidence, (newest, before))
    return found.model_copy(update={"student": measured.student, "probes": recipe.diagnosis.pairs})


def longer(recipe: Recipe) -> Warmup:
    """The control's warm-up: as many steps as warm-up and one round together."""
    return recipe.warmup.model_copy(update={"steps": recipe.warmup.steps + recipe.training.steps})


class Rounds:
    """Counts rounds until there have been enough, the dev measure no longer rises, or the teacher knows no more.

    Args:
        recipe: How many, and how patient.
        teaches: The teacher knows more than the student that round 1 starts from, as far as the gate says.
    """

    def __init__(self, recipe: Recipe, teaches: bool = True) -> None:
        self.recipe = recipe
        self.teaches = teaches
        self.number = 0
        self.idle = 0

    def __iter__(self) -> Any:
        while self.teaches and self.number < self.recipe.rounds and self.idle < self.recipe.patience:
            self.number += 1
            yield self.number

    def settle(self, decision: Decision, teaches: bool = True) -> None:
        """Take note of how a round ended, and whether the teacher knows more than its student."""
        self.idle = 0 if decision.promoted else self.idle + 1
        self.teaches = teaches
