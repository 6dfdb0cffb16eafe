"""The step `gather`."""

from tasks.gather.settings import PairsFile
from tasks.refs import Artifact, Run
from tasks.step import step


@step("gather")
def gather(run: Run, source: PairsFile) -> Artifact:
    """Read the pairs of a file with their texts."""
    from tasks.gather.gathering import gather_pairs

    return gather_pairs(run, source)
