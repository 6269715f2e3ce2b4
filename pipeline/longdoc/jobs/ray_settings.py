"""How a job uses Ray; heeded by the engine `ray` alone."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from longdoc.schema import Config

__all__ = ["RayConfig"]


class RayConfig(Config):
    """Where the workers are, and what each of them has. Does not change the results."""

    address: str | None = None
    """Of a cluster that runs: `auto` for the one of this machine, or `host:port`. None = what RAY_ADDRESS says, else a
    Ray of this machine that begins and ends with the job."""
    cpus_per_worker: int | None = Field(default=None, ge=1)
    """CPUs reserved for a worker, and its threads. None = 1 on a cluster, else a share of this machine, less one."""
    gpus_per_worker: float | None = Field(default=None, ge=0)
    """GPUs reserved for a worker. None = an equal share of those there are."""
    temp_dir: Path | None = None
    """Where the job's own Ray keeps its sockets and logs, in a folder that is removed afterwards. None = the system's
    folder for temporary files. At most 25 bytes long, since names of sockets are short."""
