"""The step `denoise`."""

from tasks.denoise.evidence import Evidence
from tasks.denoise.settings import Denoising
from tasks.record import record, warehouse_of
from tasks.refs import Artifact, Run, TeacherRef
from tasks.step import step


@step("denoise")
def denoise(run: Run, number: int, evidence: Evidence, teacher: TeacherRef, settings: Denoising) -> Artifact:
    """Give every candidate a verdict and a reason."""
    from tasks.denoise.denoising import judge_candidates
    from warehouse.load import load_verdicts

    artifact = judge_candidates(run.root, evidence, teacher, settings)
    key = record(run, artifact, number)
    name = f"{artifact.fingerprint}/verdicts.parquet"
    load_verdicts(warehouse_of(run.where), run.id, key, artifact.file("verdicts.parquet"), name)
    return artifact
