"""Where a run happens. None of this is identity: it is recorded, never fingerprinted."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from tasks.settings import Settings


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
    lock_seconds: float = Field(600.0, gt=0, description="How long a load waits for somebody who holds the warehouse.")

    @property
    def warehouse_path(self) -> Path:
        """The DuckDB file."""
        return self.home / "warehouse.duckdb"

    @property
    def artifacts_path(self) -> Path:
        """The folder of artifacts and shards."""
        return self.home / "data" / "artifacts"
