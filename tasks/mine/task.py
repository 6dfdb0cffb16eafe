"""The step `mine`."""

from tasks.mine.miners import Miners
from tasks.mine.settings import Mining
from tasks.record import record, warehouse_of
from tasks.refs import Artifact, Run
from tasks.step import step


@step("mine")
def mine(run: Run, number: int, corpus: Artifact, miners: Miners, settings: Mining) -> Artifact:
    """Mine candidates for the train queries with the students there are."""
    from tasks.mine.mining import mine_candidates
    from warehouse.load import load_candidates

    artifact = mine_candidates(run.root, corpus, miners, settings)
    key = record(run, artifact, number)
    name = f"{artifact.fingerprint}/candidates.parquet"
    load_candidates(warehouse_of(run.where), run.id, key, artifact.file("candidates.parquet"), name)
    return artifact
