"""Accelerate: which processes work together, on which devices, and what they hand each other.

It is visible here and in pretraining alone. The model is not wrapped: ranks hold different numbers of chunks, so
gradients are summed over processes explicitly, once a step.
"""

from __future__ import annotations

from typing import Any

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from accelerate.utils import gather_object, set_seed

__all__ = ["gathered", "start_accelerator"]


def start_accelerator(device: torch.device, dtype: torch.dtype, seed: int) -> Accelerator:
    """An accelerator that scales gradients for fp16 and leaves number formats alone otherwise; random states begin.

    It never divides by a number of batches: a `Step` is divided by its documents, however many batches it has.
    """
    word = "fp16" if dtype == torch.float16 else "no"
    if AcceleratorState._shared_state.get("_mixed_precision", word) != word:
        AcceleratorState._reset_state()  # an earlier run of this program had another format; processes stay
    accelerator = Accelerator(mixed_precision=word, cpu=device.type == "cpu")
    accelerator.gradient_accumulation_steps = 1  # whatever `accelerate launch` was told
    set_seed(seed, device_specific=True)
    return accelerator


def gathered(accelerator: Accelerator, own: Any) -> list[Any]:
    """What each process hands in, by rank, on all of them."""
    return list(gather_object([own])) if accelerator.num_processes > 1 else [own]
