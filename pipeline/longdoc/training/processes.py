"""Accelerate: which processes work together, on which devices, and what they hand each other.

It is visible here and in pretraining alone. The model is not wrapped: ranks hold different numbers of chunks, so
gradients are summed over processes explicitly, once a step.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState, PartialState
from accelerate.utils import gather_object, set_seed

from longdoc import launched
from longdoc.errors import InterruptedTrainingError

__all__ = ["gathered", "start_accelerator", "unless_others_are_gone"]


def start_accelerator(device: torch.device, dtype: torch.dtype, seed: int) -> Accelerator:
    """An accelerator that scales gradients for fp16 and leaves number formats alone otherwise; random states begin.

    It never divides by a number of batches: a `Step` is divided by its documents, however many batches it has.

    Raises:
        InterruptedTrainingError: the launcher of this process is gone.
    """
    _check_launcher()
    word = "fp16" if dtype == torch.float16 else "no"
    if AcceleratorState._shared_state.get("_mixed_precision", word) != word:
        AcceleratorState._reset_state()  # an earlier run of this program had another format; processes stay
    accelerator = Accelerator(mixed_precision=word, cpu=device.type == "cpu")
    accelerator.gradient_accumulation_steps = 1  # whatever `accelerate launch` was told
    set_seed(seed, device_specific=True)
    return accelerator


@contextmanager
def unless_others_are_gone(processes: int) -> Iterator[None]:
    """What a library says where another of so many processes was killed, in words of our own.

    Raises:
        InterruptedTrainingError: one was.
    """
    try:
        yield
    except RuntimeError as error:
        # gloo has no class of its own for a lost connection; NCCL has.
        if processes > 1 and (isinstance(error, torch.distributed.DistError) or "gloo" in str(error)):
            raise InterruptedTrainingError(
                f"another of the {processes} processes of this launch has ended, so this one stops too. The same "
                "command goes on from the last checkpoint, or starts over where there is none."
            ) from None
        raise


def _check_launcher() -> None:
    """Processes whose launcher was killed as they started would look for its store for half an hour, and keep the
    run's folder locked meanwhile."""
    if not launched.keeps_store() or PartialState._shared_state:
        return
    from torch.distributed import TCPStore  # type: ignore[attr-defined]

    place = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    try:
        TCPStore(*place, is_master=False, timeout=launched.LAUNCHER_ANSWERS)
    except RuntimeError as error:  # torch's errors of a connection are of this class
        raise InterruptedTrainingError(
            f"the launch of this process has ended ({type(error).__name__}), so it stops too. Run the same command "
            "again."
        ) from None


def gathered(accelerator: Accelerator, own: Any) -> list[Any]:
    """What each process hands in, by rank, on all of them."""
    return list(gather_object([own])) if accelerator.num_processes > 1 else [own]
