"""What learns, and how fast: frozen parts, rates of encoder and head, the schedule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import torch

from longdoc.errors import ConfigurationError

__all__ = ["LinearSchedule", "build_optimizer", "freeze_parts"]


class _Rates(Protocol):
    @property
    def learning_rate(self) -> float: ...
    @property
    def head_learning_rate(self) -> float | None: ...
    @property
    def weight_decay(self) -> float: ...


def freeze_parts(model: torch.nn.Module, names: Sequence[str], section: str = "training") -> bool:
    """Stop gradients of everything under the names. True when no parameter of the encoder learns.

    Args:
        model: one whose part `encoder` is the encoder.
        section: of the configuration, for messages.

    Raises:
        ConfigurationError: a name that the model does not have, or nothing is left to train.
    """
    for name in names:
        touched = [p for n, p in model.named_parameters() if n == name or n.startswith(name + ".")]
        if not touched:
            tops = sorted({".".join(n.split(".")[:2]) for n, _ in model.named_parameters()})
            raise ConfigurationError(
                f"`{section}.freeze` names {name!r}, but the model has no such part. It has: encoder, "
                f"{', '.join(tops)}."
            )
        for parameter in touched:
            parameter.requires_grad_(False)
    if not any(p.requires_grad for p in model.parameters()):
        raise ConfigurationError(f"`{section}.freeze` must leave something to train, but freezes the whole model.")
    return not any(p.requires_grad for n, p in model.named_parameters() if n.startswith("encoder."))


def build_optimizer(model: torch.nn.Module, settings: _Rates) -> torch.optim.Optimizer:
    """AdamW: the encoder and the new parts learn at rates of their own; vectors (biases, norms) do not decay."""
    head_rate = settings.head_learning_rate or 10 * settings.learning_rate
    groups: dict[tuple[float, float], list[torch.nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            rate = settings.learning_rate if name.startswith("encoder.") else head_rate
            decay = 0.0 if parameter.ndim < 2 or "position" in name else settings.weight_decay
            groups.setdefault((rate, decay), []).append(parameter)
    return torch.optim.AdamW([{"params": p, "lr": lr, "weight_decay": decay} for (lr, decay), p in groups.items()])


class LinearSchedule:
    """Linear warm-up to the full learning rate, then linear decay to zero, in optimiser steps.

    Args:
        optimizer: whose groups have their full rates now.
        total: steps of the run.
        warmup_ratio: share of them that warms up.
    """

    def __init__(self, optimizer: Any, total: int, warmup_ratio: float) -> None:
        self.optimizer = optimizer
        self.full = [group["lr"] for group in optimizer.param_groups]
        self.total = total
        self.warmup = round(total * warmup_ratio)
        self.step = 0

    def before_step(self) -> None:
        """Set the rates of the step that follows."""
        factor = self.factor(self.step)
        for group, full in zip(self.optimizer.param_groups, self.full, strict=True):
            group["lr"] = full * factor
        self.step += 1

    def factor(self, step: int) -> float:
        """Share of the full rate at a step, counted from 0."""
        if step < self.warmup:
            return (step + 1) / self.warmup
        return max(0.0, (self.total - step) / max(1, self.total - self.warmup))

    @property
    def learning_rate(self) -> float:
        """Of the first group, now."""
        return float(self.optimizer.param_groups[0]["lr"])
