"""What `distill` would do: the same steps in the same order, each asked what it would make instead of making it."""

from collections.abc import Callable

from flows.planned_ends import plan_export, plan_report
from flows.planned_steps import Steps
from flows.recipe import Recipe
from flows.standing import Rounds, check, longer
from tasks.artifacts import Artifact
from tasks.mine.miners import Miners
from tasks.plan.data import Data
from tasks.plan.line import Line, Plan
from tasks.plan.pace import Course, measure_pace
from tasks.plan.sizes import STATE
from tasks.train.settings import Training
from tasks.where import Where

SERVER = 10.0  # seconds until a Prefect server answers
ROUNDS = "every round is assumed to be run; fewer are, where patience or the teacher's gate ends them"


def plan_recipe(recipe: Recipe, where: Where, say: Callable[[str], None] = lambda sentence: None) -> Plan:
    """Say what a run would do and how long it would take; nothing is written.

    Args:
        recipe: What would be run.
        where: Where it would be run; its artifacts and its warehouse are read where they are there.
        say: Told what is being waited for.

    Raises:
        FileNotFoundError: The data or a model is not there.
        ValueError: The student cannot give what the recipe asks of it.
        CorpusError: Ingest would refuse the data.
    """
    check(recipe)
    data = Data.read(where, recipe.source)
    steps = Steps(recipe, where, data)
    certain = plan_rounds(steps, recipe)
    lines = steps.lines.lines
    if all(line.done for line in lines):
        return Plan(recipe=recipe.name, lines=lines)
    course = Course(
        student=recipe.student,
        teachers=steps.readers,
        warmup=recipe.warmup,
        teach=recipe.teach,
        training=as_long(recipe),
        depth=recipe.evaluation.depth,
    )
    begin = Line(step="start", round=0, what="libraries, Prefect's server", costs={"start": 1, "second": SERVER})
    lines = [begin, *lines]
    say("Measuring this machine for about ten seconds …")
    pace = measure_pace(where, data, course, {unit for line in lines for unit in line.costs})
    return Plan(
        recipe=recipe.name,
        lines=[line.priced(pace.seconds) for line in lines],
        pace=pace,
        passing_bytes=STATE * steps.amounts.model.bytes if any(line.steps for line in lines) else 0,
        assumed=[] if certain else [ROUNDS],
    )


def as_long(recipe: Recipe) -> Training:
    """The training with lists no longer than mining makes them: what is tried then costs what a step will."""
    held = min(recipe.training.list_length, recipe.training.positives + recipe.mining.most)
    return recipe.training.model_copy(update={"list_length": held})


def plan_rounds(steps: Steps, recipe: Recipe) -> bool:
    """Ask the steps in the order of `distill_rounds`; returns whether it is certain how many rounds there will be."""
    steps.ingest()
    base = steps.examine(steps.baseline())
    steps.hybrid(base)
    warm = steps.examine(steps.warmup(base.student, recipe.warmup, "warm"))
    best = steps.promote(0, base, warm).winner
    if recipe.warmup.control:
        long = steps.examine(steps.warmup(base.student, longer(recipe), "warm-long"))
        best = steps.promote(0, best, long).winner

    miners = Miners.first(base.miner, warm.miner)
    mined = steps.mine(0, miners)
    teacher = steps.teach(warm, mined)
    scored = steps.score_ranked(0, warm, teacher)
    teacher = steps.calibrate(teacher, warm, scored)
    teaches = steps.gate(0, warm, steps.rerank(0, warm, scored, teacher))

    miner, rounds, judged = warm, Rounds(recipe, teaches is not False), list[Artifact]()
    certain = recipe.rounds <= recipe.patience and recipe.teacher.gate == "warn"
    for number in rounds:
        mined = steps.mine(number, miners)
        evidence = steps.evidence(number, miner, mined, teacher)
        judged = [steps.denoise(number, evidence, teacher), *judged]
        students = {"base": base.student, "warm": warm.student, "last": miner.student}
        miner = steps.measure(number, steps.train(number, students, judged))
        miners = miners.then(miner.miner)
        reranked = steps.rerank(number, miner, steps.score_ranked(number, miner, teacher), teacher)
        steps.diagnose(number, miner, evidence, judged)
        decided = steps.promote(number, best, miner)
        teaches, best = steps.gate(number, miner, reranked), decided.winner
        if decided.decision is not None:
            rounds.settle(decided.decision, teaches is not False)
    plan_export(steps, best)
    plan_report(steps)
    return certain or teaches is not None
