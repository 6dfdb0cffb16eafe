"""The flow `distill`: teach a student the teacher's rankings, mining again after every round."""

from typing import Any

from prefect import flow

from flows.ends import ENDS
from flows.invocation import exclusively
from flows.recipe import Recipe
from flows.standing import (
    Rounds,
    best_of,
    check,
    check_teachers,
    evidence_of,
    examine,
    lectern_of,
    lesson_of,
    longer,
    measure,
    planning_of,
    rerank,
    reviewed,
    seen_of,
)
from tasks.baseline.task import baseline, hybrid
from tasks.denoise.task import denoise
from tasks.diagnose.task import diagnose
from tasks.evaluate.task import evaluate_rerank
from tasks.export.task import export
from tasks.ingest.task import ingest
from tasks.mine.miners import Miners
from tasks.mine.task import mine
from tasks.promote.task import guard, promote
from tasks.refs import Artifact, Run
from tasks.report.task import report
from tasks.score.task import score
from tasks.teach.task import calibrate, gate, teach
from tasks.train.task import train
from tasks.warmup.task import warmup, warmup_long
from tasks.where import Where


@flow(name="distill", flow_run_name="{recipe.name}", persist_result=False, **ENDS)
def distill(recipe: Recipe, where: Where = Where()) -> Any:
    """Teach a student the teacher's rankings, mining again after every round.

    Args:
        recipe: What is done: data, models and every setting of every step.
        where: Machine, folder and precision; none of it changes what comes out beyond rounding.
    """
    return exclusively("distill", distill_rounds, recipe, where)


def distill_rounds(run: Run, recipe: Recipe) -> Any:
    """The loop, in reading order."""
    check(recipe)
    check_teachers(recipe)
    decides = (recipe.seed, recipe.evaluation.measure)
    general = guard(run, recipe.promotion)
    corpus = ingest(run, recipe.source)
    base = examine(run, corpus, baseline(run, corpus, recipe.student, recipe.evaluation), recipe, general)
    hybrid(run, corpus, base.evaluation, recipe.evaluation)
    warm = examine(run, corpus, warmup(run, corpus, base.student, recipe.warmup, *decides), recipe, general)
    best = best_of(run, base, warm, recipe)
    if recipe.warmup.control:
        control = warmup_long(run, corpus, base.student, longer(recipe), *decides)
        best = best_of(run, best, examine(run, corpus, control, recipe, general), recipe)

    miners = Miners.first(base.miner, warm.miner)
    mined = mine(run, 0, corpus, miners, recipe.mining)
    teacher = teach(run, lectern_of(corpus, warm, mined), planning_of(recipe))
    scored = score(run, 0, corpus, warm.evaluation, teacher)
    teacher = calibrate(run, corpus, teacher, warm.evaluation, scored, planning_of(recipe))
    reranked = evaluate_rerank(run, 0, corpus, warm.evaluation, scored, teacher)
    teaches = gate(run, 0, warm.evaluation, reranked, planning_of(recipe))

    miner, rounds, judged = warm, Rounds(recipe, teaches), list[Artifact]()
    for number in rounds:
        mined = mine(run, number, corpus, miners, recipe.mining)
        scored = score(run, number, corpus, mined, teacher)
        evidence = evidence_of(corpus, miner, mined, scored, reviewed(run, number, corpus, teacher))
        judged = [denoise(run, number, evidence, teacher, recipe.denoising), *judged]
        lesson = lesson_of(recipe, corpus, judged, {"base": base.student, "warm": warm.student, "last": miner.student})
        miner = measure(run, number, corpus, train(run, number, lesson, recipe.training, *decides), recipe, general)
        miners = miners.then(miner.miner)
        reranked = rerank(run, number, corpus, miner, teacher)
        diagnose(run, number, corpus, seen_of(miner, recipe, evidence, judged))
        decision = promote(run, number, best.contender, miner.contender, recipe.promotion, recipe.evaluation.measure)
        best = best.after(decision, miner)
        rounds.settle(decision, gate(run, number, miner.evaluation, reranked, planning_of(recipe)))

    exported = export(run, corpus, best.student, recipe, best.cutoff)
    return report(run, best.contender, exported, recipe.evaluation.measure)
