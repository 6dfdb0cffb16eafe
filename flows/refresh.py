"""The flow `refresh`: the student in use learns from what has come in since; what was done for the rest stays."""

from typing import Any

from prefect import flow
from prefect.states import Completed

from flows.ends import ENDS
from flows.invocation import exclusively
from flows.recipe import Recipe
from flows.standing import Measured, check, examine, measure, seen_of
from tasks.baseline.task import baseline
from tasks.denoise.evidence import Evidence, Reviewed
from tasks.denoise.task import denoise
from tasks.diagnose.task import diagnose
from tasks.encode import encode
from tasks.export.task import export
from tasks.ingest.task import ingest
from tasks.mine.miners import Miner, Miners
from tasks.mine.task import mine
from tasks.promote.settings import Promotion
from tasks.promote.task import guard, promote
from tasks.refresh.before import Before
from tasks.refresh.change import Unchanged
from tasks.refresh.task import compare_data, find_incumbent
from tasks.refs import Artifact, Run
from tasks.report.task import report
from tasks.review.task import review
from tasks.score.task import score
from tasks.train.lesson import Lesson
from tasks.train.settings import Training
from tasks.train.task import train
from tasks.where import Where


@flow(name="refresh", flow_run_name="{recipe.name} refresh", persist_result=False, **ENDS)
def refresh(recipe: Recipe, where: Where = Where()) -> Any:
    """Bring the student in use up to date: encode, mine and score what is new, retrain shortly, promote if proven.

    Args:
        recipe: What is done: data, models and every setting; `refresh` is about this flow.
        where: Machine, folder and precision; none of it changes what comes out beyond rounding.
    """
    return exclusively("refresh", refresh_student, recipe, where)


def refresh_student(run: Run, recipe: Recipe) -> Any:
    """The steps, in reading order; all of them make nothing anew that an earlier run has made."""
    check(recipe)
    before = find_incumbent(run, sections_of(recipe))
    general = guard(run, recipe.promotion)
    corpus = ingest(run, recipe.source, retiring=True)
    said = review(run, 1, corpus)
    change = compare_data(before, corpus, said)
    if change.nothing:
        return Completed(message=change.sentence, data=Unchanged(run=run.id, sentence=change.sentence))

    base = measure(run, 0, corpus, baseline(run, corpus, recipe.student, recipe.evaluation), recipe)
    incumbent = examine(run, corpus, before.student, recipe, general)
    miners = miners_of(run, corpus, before, base, incumbent if recipe.refresh.miner == "incumbent" else None)
    mined = mine(run, 1, corpus, miners, recipe.mining)
    scored = score(run, 1, corpus, mined, before.teacher)
    people = Reviewed(labels=said, scored=score(run, 1, corpus, said, before.teacher)) if said else None
    evidence = Evidence(corpus=corpus, vectors=miners.student.vectors, mined=mined, scored=scored, reviewed=people)
    judged = denoise(run, 1, evidence, before.teacher, recipe.denoising)

    lesson = Lesson(corpus=corpus, start=before.student, judged=judged, earlier=before.judged)
    decides = (recipe.seed, recipe.evaluation.measure)
    retrained = measure(run, 1, corpus, train(run, 1, lesson, short(recipe), *decides), recipe, general)
    diagnose(run, 1, corpus, seen_of(retrained, recipe, evidence, [judged]))
    decision = promote(run, 1, incumbent.contender, retrained.contender, proven(recipe), recipe.evaluation.measure)
    best = incumbent.after(decision, retrained)
    exported = export(run, corpus, best.student, recipe, best.cutoff)
    return report(run, best.contender, exported, recipe.evaluation.measure)


def sections_of(recipe: Recipe) -> dict[str, Any]:
    """What has to be as it was when the student in use was made."""
    return {
        "student": recipe.student,
        "teacher": recipe.teacher,
        "teach": recipe.teach,
        "miners": recipe.mining.miners,
    }


def miners_of(run: Run, corpus: Artifact, before: Before, base: Measured, fresh: Measured | None) -> Miners:
    """Who mines: those who mined for the student in use, with vectors of the data as it is now.

    Args:
        run: The run.
        corpus: The data.
        before: Who mined.
        base: The student as it comes, measured.
        fresh: The student in use where it is to mine itself; None: it is not.
    """
    known = [Miner(system=each.system, vectors=encode(run, 1, corpus, each)) for each in before.miners]
    student = fresh.miner if fresh else known[0]
    named = {each.system.partition(" of run ")[0]: each for each in known}
    warm = named.get("warm", student)
    earlier = tuple(each for name, each in named.items() if name.startswith("round-") and each != student)
    return Miners(student=student, base=base.miner, warm=warm, earlier=earlier)


def short(recipe: Recipe) -> Training:
    """The retrain's settings: a share of a round's steps."""
    steps = max(1, round(recipe.refresh.share * recipe.training.steps))
    every = max(1, min(recipe.training.evaluate_every, steps // 2))
    return recipe.training.model_copy(update={"steps": steps, "evaluate_every": every})


def proven(recipe: Recipe) -> Promotion:
    """Nobody looks at a refresh that runs at night: only a proven gain replaces the student in use."""
    return recipe.promotion.model_copy(update={"rule": "proven", "level": recipe.refresh.level})
