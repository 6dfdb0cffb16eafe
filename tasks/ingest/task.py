"""The Prefect task of ingest."""

from tasks.ingest.corpus import ingest_corpus
from tasks.ingest.settings import Source
from tasks.refs import Artifact, Run
from tasks.step import step


@step("ingest")
def ingest(run: Run, source: Source, retiring: bool = False) -> Artifact:
    """Read the user's data into a corpus: distinct passages and queries, labels by split."""
    return ingest_corpus(run, source, retiring)
