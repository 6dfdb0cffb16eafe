"""What `remine doctor` looks at on the machine: versions, disk, threads, accelerator, models."""

import importlib.metadata
import os
import platform
import shutil
from typing import TYPE_CHECKING

from flows.finding import Finding
from tasks.leftovers import size_of, sized
from tasks.where import Where

if TYPE_CHECKING:
    from flows.recipe import Recipe

NAMED = ("remine", "prefect", "duckdb", "torch", "sentence-transformers", "polars")
LEAST_FREE = 2 * 2**30  # bytes; a run of the sample leaves half a GiB


def versions() -> Finding:
    """Which versions run, and whether they are those that the project asks for."""
    from packaging.requirements import Requirement

    found = {name: importlib.metadata.version(name) for name in NAMED}
    told = f"Python {platform.python_version()}, " + ", ".join(f"{name} {found[name]}" for name in NAMED)
    wrong = []
    for line in importlib.metadata.requires("remine") or []:
        needed = Requirement(line)
        if needed.marker is not None and not needed.marker.evaluate({"extra": ""}):
            continue
        try:
            installed = importlib.metadata.version(needed.name)
        except importlib.metadata.PackageNotFoundError:
            installed = "not installed"
        if installed == "not installed" or not needed.specifier.contains(installed, prereleases=True):
            wrong.append(f"{needed.name} {installed} (needed: {needed.specifier})")
    if wrong:
        return Finding("versions", "bad", f"{told}; {', '.join(wrong)}", "pip install --editable . in remine's folder")
    return Finding("versions", "good", told)


def disk(where: Where) -> Finding:
    """How much is free, beside what is there."""
    there = next(folder for folder in (where.home.absolute(), *where.home.absolute().parents) if folder.is_dir())
    free, used = shutil.disk_usage(there).free, size_of(where.artifacts_path)
    told = f"{sized(free)} free, {sized(used)} of artifacts"
    if free < max(LEAST_FREE, used // 4):
        return Finding("disk", "bad", told, "make room: `remine clean --keep 3` removes artifacts of older runs")
    return Finding("disk", "good", told)


def threads() -> Finding:
    """How many cores a run would compute on, and whether the environment allows fewer."""
    from models.runtime import available_cores

    cores, limits = available_cores(), [name for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS") if name in os.environ]
    told = f"{cores} of {os.cpu_count()} cores may be used"
    few = [name for name in limits if os.environ[name].isdigit() and int(os.environ[name]) < cores]
    if few:
        told += f"; {', '.join(f'{name}={os.environ[name]}' for name in few)}"
        return Finding("threads", "look", told, f"unset {' '.join(few)}: FAISS would search on fewer threads")
    return Finding("threads", "good", told)


def accelerator() -> Finding:
    """What would compute, and in which arithmetic."""
    from models.runtime import configure

    runtime = configure()
    if runtime.cpu:
        fast = "bf16" if runtime.precision == "bf16" else "fp32; this CPU has no instructions for bf16"
        return Finding("accelerator", "good", f"none: the CPU computes, in {fast}")
    import torch

    name = torch.cuda.get_device_name() if runtime.device.startswith("cuda") else runtime.device
    return Finding("accelerator", "good", f"{name}, in {runtime.precision}")


def runner(where: Where) -> Finding:
    """Who would encode and score, and whether they are within reach."""
    if where.runner == "local":
        return Finding("runner", "good", "local: this machine encodes and scores")
    from tasks.cluster import refuse_missing, refuse_silent

    try:
        refuse_missing()
        if where.ray.address:
            refuse_silent(where.ray.address)
    except (ModuleNotFoundError, ConnectionError) as error:
        told, _, todo = str(error).partition("; " if isinstance(error, ConnectionError) else ": ")
        return Finding("runner", "bad", told, todo)
    there = where.ray.address or "a cluster that each step starts on this machine"
    return Finding("runner", "good", f"ray {importlib.metadata.version('ray')}: {there}")


def models(recipe: "Recipe") -> Finding:
    """Whether the recipe's models are here or can be had."""
    from models.locate import ModelNotFound, locate

    named = [recipe.student.model, *recipe.teacher.model]
    lost, here = [], []
    for name in named:
        try:
            here.append(f"{name} in {locate(name)}")
        except ModelNotFound as error:
            lost.append(str(error))
    if lost:
        return Finding("models", "bad", "; ".join(lost), "name another model in the recipe, or bring this one here")
    taught = "" if recipe.teacher.model else "; the teacher is taught"
    return Finding("models", "good", "; ".join(here) + taught)
