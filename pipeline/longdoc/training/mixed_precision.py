"""In which number format products are computed while training. Weights, their gradients and the loss stay float32."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Literal

import torch

from longdoc.errors import ConfigurationError
from longdoc.precision import Placement

__all__ = ["training_placement"]

_FORMATS = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def training_placement(placement: Placement, asked: Literal["auto", "fp32", "bf16", "fp16"]) -> Placement:
    """Where and how to compute while training.

    Args:
        placement: that of predictions; its format is taken where nobody asks for another.
        asked: `training.mixed_precision`. `auto` heeds what `accelerate launch --mixed_precision` was told.

    Raises:
        ConfigurationError: fp16 without a GPU, or a format that is not known here.
    """
    word: str = asked
    source = f"`training.mixed_precision: {asked}`"
    if asked == "auto":
        launched = os.environ.get("ACCELERATE_MIXED_PRECISION", "no").lower()
        if launched in ("", "no"):
            return placement
        word, source = launched, f"`accelerate launch --mixed_precision {launched}`"
    if word not in _FORMATS:
        raise ConfigurationError(f"`accelerate launch --mixed_precision` must be no, bf16 or fp16, but is {word}.")
    if word == "fp16" and placement.device.type != "cuda":
        raise ConfigurationError(
            f"{source} needs a GPU, where gradients can be scaled, but the device is {placement.device.type}. Use bf16 "
            "or fp32."
        )
    return replace(placement, dtype=_FORMATS[word], reason=f"{source} asks for it")
