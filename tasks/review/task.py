"""The step `review`."""

from tasks.record import record, warehouse_of
from tasks.refs import Artifact, Run
from tasks.step import step


@step("review")
def review(run: Run, number: int, corpus: Artifact) -> Artifact | None:
    """Take up what people have said about candidates by now; None where nobody has said anything."""
    from tasks.review.labels import review_artifact
    from warehouse.reviews import reviewed_labels

    said = reviewed_labels(warehouse_of(run.where), corpus.facts["corpus"])
    artifact = review_artifact(run.root, corpus, said)
    if artifact is not None:
        record(run, artifact, number)
    return artifact
