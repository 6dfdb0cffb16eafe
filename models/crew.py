"""Starting the processes that train together, and hearing from the first of them."""

import logging
import os
import pickle
import queue
import socket
from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar

import torch
from torch import multiprocessing
from torch.multiprocessing.spawn import spawn

from models.runtime import settled_device
from models.team import Team

Tick = Callable[[int], None]
Result = TypeVar("Result")
PATIENCE = timedelta(days=2)  # how long the others wait while the first one evaluates
HEARD_EVERY = 0.5  # seconds between two looks at whether all are alive


def in_crew(size: int, device: str, work: Callable[[Team, Tick], Result], tick: Tick) -> Result:
    """Run something in several new processes on this machine and return what the first one made.

    Args:
        size: Processes, at least two.
        device: As `configure` takes it; of GPUs, each process takes one.
        work: Importable by name, with arguments that can be pickled.
        tick: Told what the first process's own tick is told.

    Raises:
        ValueError: There are fewer GPUs than processes.
        Exception: What a process failed with; the others are ended.
    """
    device = settled_device(device)
    if device.startswith("cuda") and torch.cuda.device_count() < size:
        raise ValueError(f"{size} processes need a GPU each, and there are {torch.cuda.device_count()}")
    heard: Any = multiprocessing.get_context("spawn").Queue()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    context: Any = spawn(  # type: ignore[no-untyped-call]
        _member, args=(size, port, device, work, heard), nprocs=size, join=False
    )
    try:
        made: Result = _hear(heard, context, tick)
        return made
    finally:
        for process in context.processes:
            process.terminate()
            process.join()


def _hear(heard: Any, context: Any, tick: Tick) -> Any:
    """Pass ticks on until the first process is done or one has failed."""
    while True:
        try:
            kind, value = heard.get(timeout=HEARD_EVERY)
        except queue.Empty:
            context.join(timeout=0)  # raises where a process ended without a word
            continue
        if kind == "tick":
            tick(value)
        elif kind == "failed":
            raise value
        else:
            return value


def _member(rank: int, size: int, port: int, device: str, work: Callable[[Team, Tick], Any], heard: Any) -> None:
    """One process's part."""
    about = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": size, "LOCAL_WORLD_SIZE": size, "MASTER_PORT": port}
    os.environ.update({name: str(value) for name, value in about.items()}, MASTER_ADDR="127.0.0.1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # accelerate would settle threads; `configure` does
    if rank:
        logging.disable(logging.WARNING)  # the first one has said it
    from accelerate import PartialState

    def tick(count: int) -> None:
        if rank == 0:
            heard.put(("tick", count))

    try:
        state = PartialState(cpu=device == "cpu", timeout=PATIENCE)
        made = work(Team(rank, size), tick)
        state.wait_for_everyone()
        state.destroy_process_group()
    except Exception as error:
        heard.put(("failed", tellable(error)))
        raise
    if rank == 0:
        heard.put(("done", made))


def tellable(error: Exception) -> Exception:
    """An error as it can be handed to another process."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
