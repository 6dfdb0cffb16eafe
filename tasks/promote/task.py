"""The step `promote`."""

from tasks.promote.deciding import Contender, Decision
from tasks.promote.settings import Promotion
from tasks.record import record, warehouse_of
from tasks.refs import Run
from tasks.step import step


@step("promote")
def promote(
    run: Run, number: int, incumbent: Contender, challenger: Contender, settings: Promotion, measure: str
) -> Decision:
    """Choose the better of two students on dev."""
    from tasks.promote.deciding import decide
    from warehouse.load import load_diagnostics

    decision = decide(run.root, incumbent, challenger, settings, measure)
    key = record(run, decision.artifact, number)
    rows = decision.artifact.file("diagnostics.parquet")
    name = f"{decision.artifact.fingerprint}/diagnostics.parquet"
    load_diagnostics(warehouse_of(run.where), run.id, key, rows, name)
    return decision
