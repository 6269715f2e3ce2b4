"""Ray for the time of a job: a cluster that runs already, or one of this machine that nobody else may use."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from typing import Any, NamedTuple

from longdoc.errors import ConfigurationError, InterruptedJobError, UsageError
from longdoc.jobs.engines.ray_manners import cores, own_environment, own_folder, own_signals, quiet, show_token
from longdoc.jobs.ray_settings import RayConfig

__all__ = ["Share", "check_installed", "connected"]

_log = logging.getLogger(__name__)

_STARTS = 3  # its parts give each other seconds only, which a busy machine may not have
_OBJECT_STORE_BYTES = 80 * 2**20  # the least that Ray takes; what travels through it are small tuples


class Share(NamedTuple):
    """What each worker has: CPUs, which are its threads too, and GPUs or a part of one."""

    cpus: int
    gpus: float


def check_installed() -> None:
    """Refuse before anything is read.

    Raises:
        UsageError: ray is not installed.
    """
    if find_spec("ray") is None:
        raise UsageError(
            '`job.engine` ray needs the package ray, which is not installed. Run: pip install "longdoc[ray]"'
        )


@contextmanager
def connected(config: RayConfig, workers: int, stopping: Callable[[], bool]) -> Iterator[Share]:
    """Ray is there inside the block, with room for `workers` workers and one CPU that stays free.

    A Ray that the process is connected to already is used as it is and left as it was.

    Args:
        stopping: becomes True when the job is asked to stop.

    Raises:
        UsageError: the cluster has no room for so many workers.
        ConfigurationError: the address or the folder cannot be used.
        InterruptedJobError: Ray does not start, or the job was asked to stop meanwhile.
    """
    options: dict[str, Any] = {"address": config.address or os.environ.get("RAY_ADDRESS") or "local"}
    own = options["address"] == "local"
    if not own:
        show_token()
    with quiet():
        import ray

        if ray.is_initialized():
            yield _share(config, workers, ray.cluster_resources())
            return
        with ExitStack() as stack:
            if own:
                cpus = config.cpus_per_worker or max(1, (cores() - 1) // workers)
                config = config.model_copy(update={"cpus_per_worker": cpus})
                options |= {
                    "num_cpus": max(cores(), workers * cpus + 1),
                    "include_dashboard": False,
                    "object_store_memory": _OBJECT_STORE_BYTES,
                    "_temp_dir": str(stack.enter_context(own_folder(config.temp_dir))),
                }
                stack.enter_context(own_environment())
            stack.callback(ray.shutdown)
            _init(options, stopping)
            yield _share(config, workers, ray.cluster_resources())


def _init(options: Mapping[str, Any], stopping: Callable[[], bool]) -> None:
    import psutil  # comes with accelerate
    import ray

    for attempt in range(_STARTS):
        if stopping():
            raise InterruptedJobError("interrupted while Ray was starting. Run the same command again to go on.")
        before = psutil.Process().children()
        try:
            with own_signals():
                ray.init(log_to_driver=False, configure_logging=False, **options)
            return
        except ConnectionError:
            raise ConfigurationError(
                f"`job.ray.address` must be that of a cluster that runs, but none at {options['address']} lets "
                "this process in. Start one (ray start --head), show its token (RAY_AUTH_TOKEN), or leave the address "
                "out."
            ) from None
        except Exception as error:  # Ray raises what it likes, also plain `Exception`
            for process in psutil.Process().children():
                if process not in before:  # what has started of a Ray that has not
                    process.kill()
            ray.shutdown()
            _log.info("Ray has not started (%s), %d of %d times", type(error).__name__, attempt + 1, _STARTS)
    raise InterruptedJobError(
        f"Ray has not started, {_STARTS} times. The machine may be too busy or short of memory: run the same command "
        "again, or use `--engine local`."
    )


def _share(config: RayConfig, workers: int, resources: Mapping[str, float]) -> Share:
    """What each worker gets of what there is."""
    cpus, gpus = config.cpus_per_worker or 1, config.gpus_per_worker
    there = {"CPU": int(resources.get("CPU", 0)), "GPU": int(resources.get("GPU", 0))}
    if gpus is None:
        gpus = 1 / math.ceil(workers / there["GPU"]) if there["GPU"] else 0.0
        gpus = math.floor(10_000 * gpus) / 10_000  # Ray rounds to four places, and six workers shall fit on a GPU
    # A pool that takes every CPU leaves none for Ray's own tasks, and a job that waits for them hangs (ray #44687).
    room = (there["CPU"] - 1) // cpus
    if workers > room:
        raise UsageError(
            f"`workers` must be at most {room}, since each takes {cpus} of the cluster's {there['CPU']} CPUs and one "
            f"stays free, but is {workers} instead. Lower it, or add machines."
        )
    if workers * gpus > there["GPU"]:
        raise UsageError(
            f"`job.ray.gpus_per_worker` must be at most {there['GPU'] / workers:g}, since {workers} workers share "
            f"{there['GPU']} GPUs, but is {gpus:g} instead. Lower it, or the number of workers."
        )
    return Share(cpus, gpus)
