"""Loading finished shards into the warehouse while scoring goes on."""

import logging
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Self

from tasks.score.shards import Shards, read_where
from warehouse.connect import Warehouse
from warehouse.load import load_scores

log = logging.getLogger("remine.score")


class Loader:
    """Loads shards in a thread of its own: whoever holds the warehouse delays loading, never scoring.

    After a load that failed no other is tried: the shards stay on disk, and the next run loads them.
    """

    def __init__(self, warehouse: Warehouse, run: int, shards: Shards) -> None:
        self.warehouse, self.run, self.shards = warehouse, run, shards
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="load")
        self.waiting: list[Future[None]] = []
        self.failure: Exception | None = None

    def load(self, path: Path) -> None:
        """Queue a finished shard."""
        self.waiting.append(self.thread.submit(self._load, path))

    def _load(self, path: Path) -> None:
        if self.failure is not None:
            return
        try:
            load_scores(self.warehouse, self.run, self.shards.teacher, path, self.shards.name(path), read_where(path))
        except Exception as error:
            self.failure = error
            log.error("%s is kept but could not be loaded: %s", path, error)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wait for the loads; on an interruption only for the one under way.

        Raises:
            RuntimeError: A load failed, and nothing else is being raised.
        """
        self.thread.shutdown(wait=True, cancel_futures=error is not None and not isinstance(error, Exception))
        if self.failure is not None and error is None:
            raise RuntimeError(
                f"scoring is done and its shards are kept in {self.shards.folder}, but the warehouse could not be "
                f"loaded: {self.failure}; run again to load them"
            ) from self.failure
