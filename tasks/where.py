"""Where a run happens. None of this is identity: it is recorded, never fingerprinted."""

import re
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from tasks.settings import Settings


class Ray(Settings):
    """A Ray cluster and the workers on it."""

    address: str = Field(
        "", description="HOST:PORT of a running cluster's head; empty: a cluster on this machine, for one step each."
    )
    workers: int = Field(0, ge=0, description="Most workers at a time; 0: as many as there is room for.")
    threads: int = Field(1, ge=1, description="Threads of a worker, and cores that are reserved for it.")

    @field_validator("address")
    @classmethod
    def _names_a_port(cls, address: str) -> str:
        if address and not re.fullmatch(r"[^\s:/]+:\d{1,5}", address):
            raise ValueError(
                f"{address!r} is not HOST:PORT, as `ray start --head` prints it; with ray:// the driver would stand "
                "outside of the cluster: run remine on a machine of it"
            )
        return address


class Where(Settings):
    """Machine, paths and sizes of inference; changing them never makes anything stale."""

    home: Path = Field(Path(), description="Folder that holds warehouse.duckdb and data/artifacts.")
    device: Literal["auto", "cpu", "cuda", "mps"] = Field("auto", description="Where tensors live.")
    precision: Literal["auto", "fp32", "bf16"] = Field(
        "auto", description="Arithmetic of inference and training; auto takes bf16 where the hardware has it."
    )
    threads: int = Field(0, ge=0, description="Torch and FAISS threads; 0 takes every core.")
    processes: int = Field(1, ge=1, description="Processes that train a student together, sharing threads or GPUs.")
    batch_tokens: int | None = Field(
        None, ge=16, description="Padded tokens per inference batch; none takes what suits the device."
    )
    runner: Literal["local", "ray"] = Field(
        "local", description="Who encodes and scores: this process, or the workers of a Ray cluster."
    )
    ray: Ray = Field(Ray(), description="Which cluster, where the runner is ray.")
    lock_seconds: float = Field(600.0, gt=0, description="How long a load waits for somebody who holds the warehouse.")

    @model_validator(mode="after")
    def _workers_find_home(self) -> Self:
        if self.runner == "ray" and not self.home.is_absolute():
            raise ValueError(
                f"home '{self.home}' counts from the folder of this process, and workers of a Ray cluster stand in "
                "others; name it from the root, on storage that all of them see"
            )
        return self

    @property
    def warehouse_path(self) -> Path:
        """The DuckDB file."""
        return self.home / "warehouse.duckdb"

    @property
    def artifacts_path(self) -> Path:
        """The folder of artifacts and shards."""
        return self.home / "data" / "artifacts"

    @property
    def worker(self) -> "Where":
        """Where a process computes that encodes or scores: on a cluster, each worker has threads of its own."""
        return self if self.runner == "local" else self.model_copy(update={"threads": self.ray.threads})
