"""The flow `score`: a teacher's logits of any pairs, by the same step and into the same store as `distill`."""

from typing import Any

from prefect import flow

from flows.ends import ENDS
from flows.invocation import exclusively
from flows.request import Request
from tasks.deliver.task import deliver
from tasks.gather.task import gather
from tasks.refs import Run
from tasks.score.task import score
from tasks.teach.task import find_teacher
from tasks.where import Where


@flow(name="score", flow_run_name="{request.name}", persist_result=False, **ENDS)
def score_pairs(request: Request, where: Where = Where()) -> Any:
    """Score the pairs of a file that this teacher has not scored yet.

    Args:
        request: The file of pairs, the teacher, and a file for the scores where one is wanted.
        where: Machine, folder and precision; none of it changes what comes out beyond rounding.
    """
    return exclusively("score", score_file, request, where)


def score_file(run: Run, request: Request) -> Any:
    """The steps, in reading order."""
    pairs = gather(run, request.pairs)
    teacher = find_teacher(request.teacher)
    scored = score(run, 0, pairs, pairs, teacher)
    return deliver(run, pairs, scored, teacher, request.out)
