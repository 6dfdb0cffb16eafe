"""The step `diagnose`."""

import logging

from tasks.diagnose.seen import Seen
from tasks.record import record, warehouse_of
from tasks.refs import Artifact, Run
from tasks.step import step

log = logging.getLogger("remine.diagnose")


@step("diagnose", "diagnose {seen.system}")
def diagnose(run: Run, number: int, corpus: Artifact, seen: Seen) -> Artifact:
    """Look at a student's vectors and at its round, and warn of what looks bad."""
    from tasks.diagnose.diagnosing import diagnose_student
    from warehouse.load import load_diagnostics

    artifact = diagnose_student(run.where, corpus, seen)
    key = record(run, artifact, number)
    name = "diagnostics.parquet"
    load_diagnostics(warehouse_of(run.where), run.id, key, artifact.file(name), f"{artifact.fingerprint}/{name}")
    for warning in artifact.facts["warnings"]:
        log.warning("%s", warning)
    return artifact
