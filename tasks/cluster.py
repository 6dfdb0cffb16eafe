"""A Ray cluster as a runner: its workers compute shards, and this process alone loads what they wrote."""

import logging
import os
import secrets
import signal
import socket
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

from tasks.progress import Tick
from tasks.runner import Compute, Done, Here, Made, Opened, Opening, Piece, untold
from tasks.where import Where

RETRIES = 3  # of a shard whose worker was lost, and of starting a worker
PATIENCE = 5.0  # seconds until an address counts as silent
OBJECTS = 100 * 2**20  # bytes that workers hand back together; what they make is in files
# A cluster of our own listens on loopback alone, for whoever has the token, and tells nobody that it is used.
OWN = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # the one switch that makes a node of Ray's listen on loopback
    "RAY_AUTH_MODE": "token",
    "RAY_USAGE_STATS_ENABLED": "0",
}

log = logging.getLogger("remine.ray")


class Worker(Here):
    """A process of the cluster, with a GPU of its own where there are some; it holds on to what it opened.

    Actors of Ray's, not tasks: processes that Ray hands from task to task keep their model and change their GPU.
    """

    def ready(self) -> None:
        """Answer, which it does as soon as there is room for it."""

    def compute(self, opening: Any, compute: Any, shard: Any) -> Done[Any, Any]:
        """Compute a shard; whatever fails is handed back as what can be sent."""
        try:
            done = self.one(opening, compute, shard, untold)
        except Exception as error:
            done = Done(shard, None, error)
        if done.error is not None:
            from models.crew import tellable

            log.error("%s failed", shard, exc_info=done.error)
            return replace(done, error=tellable(done.error))
        return done


class Cluster:
    """A connected Ray cluster. Shards go to workers that are there, never to one that waits for room."""

    def __init__(self, where: Where) -> None:
        nodes = _nodes()
        needs = needed(where, nodes)
        self.most = min(room(needs, nodes), where.ray.workers or sys.maxsize)
        self.options = {"num_cpus": needs["CPU"], "num_gpus": needs["GPU"], "scheduling_strategy": "SPREAD"}
        self.idle: list[Any] = []
        self.starting: dict[Any, Any] = {}
        self.lost = 0  # workers that never came to be, one after another

    def map(
        self, opening: Opening[Opened], compute: Compute[Opened, Piece, Made], shards: Sequence[Piece], tick: Tick
    ) -> Iterator[Done[Piece, Made]]:
        """See `tasks.runner.Runner`; shards come back in the order in which they are done."""
        import ray

        left = deque((shard, 0) for shard in shards)
        running: dict[Any, tuple[Any, Piece, int]] = {}
        try:
            while left or running:
                self._hire(len(left), len(running))
                while left and self.idle:
                    worker, (shard, retries) = self.idle.pop(), left.popleft()
                    running[worker.compute.remote(opening, compute, shard)] = (worker, shard, retries)
                (answer,), _ = ray.wait([*self.starting, *running])
                if answer in self.starting:
                    self._welcome(answer)
                    continue
                worker, shard, retries = running.pop(answer)
                done = self._hear(worker, answer, shard, retries)
                if done is None:
                    left.append((shard, retries + 1))  # last: whatever it needs too much of costs the others nothing
                    continue
                tick(shard.size)
                yield done
        finally:
            for worker, _, _ in running.values():
                ray.kill(worker)

    def dismiss(self) -> None:
        """End the workers, and with them whatever they hold on to."""
        import ray

        for worker in [*self.idle, *self.starting.values()]:
            ray.kill(worker)

    def _hire(self, left: int, busy: int) -> None:
        """Start workers, as many as there is work and room for; they come in when the cluster has started them."""
        import ray

        there = busy + len(self.idle) + len(self.starting)
        for _ in range(min(left + busy, self.most) - there):
            worker = ray.remote(**self.options)(Worker).remote()
            self.starting[worker.ready.remote()] = worker

    def _welcome(self, answer: Any) -> None:
        """Take in a worker that was started.

        Raises:
            RuntimeError: None can be, again and again.
        """
        import ray

        worker = self.starting.pop(answer)
        try:
            ray.get(answer)
        except ray.exceptions.RayError as error:
            self.lost += 1
            if self.lost > RETRIES:
                raise RuntimeError(
                    f"the cluster's workers don't start ({_line(error)}); each needs this checkout and its packages "
                    "under the paths that they have here"
                ) from error
        else:
            self.lost = 0
            self.idle.append(worker)

    def _hear(self, worker: Any, answer: Any, shard: Piece, retries: int) -> Done[Piece, Any] | None:
        """How a shard ended; None where its worker was lost and the shard is to be computed again."""
        import ray

        try:
            done: Done[Piece, Any] = ray.get(answer)
        except ray.exceptions.RayError as error:
            told = _line(error)
            if retries < RETRIES:
                again = f"{shard} is computed again (retry {retries + 1} of {RETRIES})"
                log.warning("%s, because its worker was lost: %s", again, told)
                return None
            return Done(shard, None, RuntimeError(f"{RETRIES + 1} workers were lost over it; the last one: {told}"))
        self.idle.append(worker)
        return done


def _line(error: Exception) -> str:
    """What Ray says first of an error."""
    return str(error).strip().partition("\n")[0]


@contextmanager
def connected(where: Where) -> Iterator[Cluster]:
    """Connect to the cluster that is named, or start one on this machine and stop it at the end of the block.

    prefect-ray's task runner opens and closes the connection, so a flow that runs under one shares it. Shards are not
    submitted through it: a Prefect task on a worker fails at once where the worker does not reach the Prefect server,
    as on another machine than a server on loopback, or while the server restarts. A run has to outlive that, and
    shards need nothing but the artifacts.

    Raises:
        ConnectionError: No cluster answers at the address.
        ModuleNotFoundError: The extra is not installed.
        ValueError: No worker would find room; it would be waited for in vain.
    """
    refuse_missing()
    if where.ray.address:
        refuse_silent(where.ray.address)
    else:
        own = {**OWN, "RAY_AUTH_TOKEN": secrets.token_hex(32)}
        os.environ.update({name: value for name, value in own.items() if name not in os.environ})
    from prefect_ray import RayTaskRunner

    quiet = {"log_to_driver": False, "logging_level": logging.WARNING}
    address, settings = (where.ray.address, {}) if where.ray.address else ("local", _own(where))
    with _signals_kept() as keep, RayTaskRunner(address=address, init_kwargs={**quiet, **settings}):
        keep()
        cluster = Cluster(where)
        try:
            yield cluster
        finally:
            cluster.dismiss()


@contextmanager
def _signals_kept() -> Iterator[Callable[[], None]]:
    """Answer signals as before, at the end of the block and whenever what is yielded is called.

    Ray's own answer to SIGTERM would end this process without a word to the warehouse, and when it lets go, its native
    part leaves the system's, of which Python's `getsignal` knows nothing.
    """
    answers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def keep() -> None:
        if threading.current_thread() is threading.main_thread():
            for number, answer in answers.items():
                if answer is not None:  # None: not set by Python
                    signal.signal(number, answer)

    try:
        yield keep
    finally:
        keep()


def _own(where: Where) -> dict[str, Any]:
    """How a cluster on this machine is started."""
    from models.runtime import available_cores

    workers = where.ray.workers or max(1, available_cores() // where.ray.threads)
    return {"num_cpus": workers * where.ray.threads, "include_dashboard": False, "object_store_memory": OBJECTS}


def _nodes() -> list[dict[str, float]]:
    """What each machine of the cluster has."""
    import ray

    return [node["Resources"] for node in ray.nodes() if node["Alive"]]


def needed(where: Where, nodes: Sequence[dict[str, float]]) -> dict[str, float]:
    """CPU and GPU that are reserved for a worker.

    Args:
        where: Device and threads of workers.
        nodes: CPU and GPU of each machine.
    """
    gpu = where.device == "cuda" or (where.device == "auto" and any(node.get("GPU", 0) >= 1 for node in nodes))
    return {"CPU": float(where.ray.threads), "GPU": float(gpu)}


def room(needs: dict[str, float], nodes: Sequence[dict[str, float]]) -> int:
    """How many workers the machines have room for.

    Raises:
        ValueError: For none.
    """
    most = sum(int(min(node.get(name, 0) // count for name, count in needs.items() if count)) for node in nodes)
    if not most:
        there = "; ".join(f"{node.get('CPU', 0):g} CPU, {node.get('GPU', 0):g} GPU" for node in nodes)
        raise ValueError(
            f"a worker needs {needs['CPU']:g} CPU and {needs['GPU']:g} GPU on one machine, and those of the cluster "
            f"have: {there or 'none'}; its shards would wait for ever. Change ray.threads or the device"
        )
    return most


def refuse_missing() -> None:
    """Refuse to go on without Ray.

    Raises:
        ModuleNotFoundError: The extra is not installed.
    """
    missing = [name for name in ("ray", "prefect_ray") if find_spec(name) is None]
    if missing:
        raise ModuleNotFoundError(
            f"runner 'ray' needs {' and '.join(missing)}, not installed here: pip install --constraint constraints.txt "
            "--editable '.[ray]', on every machine of the cluster; or leave the runner as 'local'",
            name=missing[0],
        )


def refuse_silent(address: str) -> None:
    """Refuse an address at which nobody listens, before Ray waits a minute for it.

    Raises:
        ConnectionError: Nobody does.
    """
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), PATIENCE).close()
    except OSError as error:
        raise ConnectionError(
            f"no Ray cluster answers at {address}: {error}; start one there with `ray start --head --port={port}`, or "
            "leave ray.address empty for one on this machine"
        ) from error
