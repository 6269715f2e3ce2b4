"""Low-rank adapters (LoRA: Hu et al. 2021, arXiv 2106.09685): the encoder's products learn small corrections alone.

The package `peft` makes them. While a model is saved each product is for once what it has become with its correction,
so a model folder is an ordinary one, for this package and for `transformers`.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import Any

import torch
from pydantic import Field
from torch import nn

from longdoc.errors import ConfigurationError
from longdoc.model import LongDocModel
from longdoc.schema import Config

__all__ = ["LoraConfig", "add_adapters", "merge_adapters", "merged"]

_NAME = "default"


class LoraConfig(Config):
    """Corrections of low rank for products of the encoder."""

    rank: int = Field(default=8, ge=1)
    """Of a correction: the product of a matrix with so many rows and one with so many columns."""
    alpha: float | None = Field(default=None, gt=0)
    """Corrections count by alpha / rank; None: twice the rank."""
    dropout: float = Field(default=0.0, ge=0, lt=1)
    """On what a correction is given, while training."""
    targets: tuple[str, ...] = Field(default=("attention.query", "attention.value"), min_length=1)
    """Which products of a layer are corrected, with patterns between the dots: `attention.*`, `feed_forward.*`."""


def add_adapters(model: LongDocModel, settings: LoraConfig) -> int:
    """Give the encoder corrections, and let nothing else of it learn. How many products have one.

    Products that were frozen before get none.

    Raises:
        ConfigurationError: `peft` is not installed, or no product has such a name.
    """
    try:
        from peft import LoraConfig as Recipe
        from peft import inject_adapter_in_model
    except ImportError:
        raise ConfigurationError(
            '`training.lora` needs the package peft, which is not installed. Run: pip install "longdoc[lora]"'
        ) from None
    products = [name for name, module in model.encoder.named_modules() if isinstance(module, nn.Linear)]
    named = [name for name in products if any(_is_named(name, target) for target in settings.targets)]
    if not named:
        known = sorted({".".join(name.split(".")[2:]) for name in products if name.startswith("layers.")})
        raise ConfigurationError(
            f"`training.lora.targets` must name products of the encoder's layers, but none of its "
            f"{len(settings.targets)} names does. There are: {', '.join(known)}."
        )
    learning = [name for name in named if model.encoder.get_submodule(name).weight.requires_grad]
    if not learning:
        raise ConfigurationError(
            "`training.lora` corrects products that `training.freeze` leaves free, but it freezes all of them. Leave "
            "`training.freeze` out: with corrections nothing else of the encoder learns anyway."
        )
    alpha = 2 * settings.rank if settings.alpha is None else settings.alpha
    options: dict[str, Any] = {"lora_alpha": alpha, "lora_dropout": settings.dropout}  # alpha may be a fraction
    recipe = Recipe(r=settings.rank, target_modules=learning, **options)
    inject_adapter_in_model(recipe, model.encoder, adapter_name=_NAME)
    return len(learning)


def _is_named(name: str, target: str) -> bool:
    """`layers.3.attention.query` by `attention.query`."""
    steps, wanted = name.split(".")[2:], target.split(".")
    return len(steps) == len(wanted) and all(map(fnmatchcase, steps, wanted))


@contextmanager
def merged(model: LongDocModel) -> Iterator[None]:
    """Inside, each product is an ordinary one with its correction in it; behind it all is as before, bit by bit."""
    swapped = _merge(model)
    try:
        yield
    finally:
        for parent, name, adapter in swapped:
            setattr(parent, name, adapter)


def merge_adapters(model: LongDocModel) -> None:
    """Make each product an ordinary one with its correction in it, for good."""
    _merge(model)


@torch.no_grad()
def _merge(model: LongDocModel) -> list[tuple[nn.Module, str, Any]]:
    found: list[tuple[nn.Module, str, Any]] = [
        (parent, name, child)
        for parent in model.encoder.modules()
        for name, child in parent.named_children()
        if hasattr(child, "get_delta_weight")
    ]
    for parent, name, adapter in found:
        base = adapter.get_base_layer()
        plain = copy.copy(base)
        weight = nn.Parameter(base.weight + adapter.get_delta_weight(_NAME), base.weight.requires_grad)
        plain._parameters = {**base._parameters, "weight": weight}
        setattr(parent, name, plain)
    return found
