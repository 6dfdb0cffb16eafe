"""How scoring is cut up. None of it changes a score, so none of it is identity."""

from pydantic import Field

from tasks.settings import Settings


class Scoring(Settings):
    """Sizes of shards: what a kill can lose, against what a file and a load cost."""

    shard_tokens: int = Field(default=1_500_000, ge=1, description="Tokens per shard, about; a minute on two cores.")
    least_shards: int = Field(default=4, ge=1, description="Shards that even a small piece of work is cut into.")
