"""The step `deliver`."""

import logging
from pathlib import Path

from tasks.deliver.receipt import Receipt, receipt_of
from tasks.refs import Artifact, Run, TeacherRef
from tasks.step import step

log = logging.getLogger("remine.deliver")


@step("deliver")
def deliver(run: Run, pairs: Artifact, scored: Artifact, teacher: TeacherRef, out: Path | None) -> Receipt:
    """Write the pairs with their scores where a file is asked for, and sum up what was done."""
    from tasks.deliver.writing import write_scores

    if out is not None:
        write_scores(out, pairs, scored)
    receipt = receipt_of(run, pairs, scored, teacher, out)
    log.info("%s", receipt.sentence)
    return receipt
