"""How the learning rate changes over a run: it rises, then falls or stays, as in the schedules of `transformers`."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from longdoc.schema import Config, kind_by_word

__all__ = [
    "ConstantConfig",
    "CosineConfig",
    "LinearConfig",
    "Schedule",
    "ScheduleConfig",
    "ScheduleKind",
    "ScheduleShape",
]


class ScheduleShape(Config):
    """What follows the warm-up."""

    kind: str

    @abstractmethod
    def after_warmup(self, done: int, steps: int) -> float:
        """The share of the full rate when so many of the steps after the warm-up are over, 0 <= done <= steps."""


class LinearConfig(ScheduleShape):
    """A straight line down to zero."""

    kind: Literal["linear"] = "linear"

    def after_warmup(self, done: int, steps: int) -> float:
        return (steps - done) / steps


class CosineConfig(ScheduleShape):
    """Half a cosine wave down to zero (Loshchilov and Hutter 2017, arXiv 1608.03983, without restarts)."""

    kind: Literal["cosine"] = "cosine"

    def after_warmup(self, done: int, steps: int) -> float:
        return 0.5 * (1 + math.cos(math.pi * done / steps))


class ConstantConfig(ScheduleShape):
    """The full rate to the end."""

    kind: Literal["constant"] = "constant"

    def after_warmup(self, done: int, steps: int) -> float:
        return 1.0


# A new shape is one class and one name in this line.
ScheduleKind = LinearConfig | CosineConfig | ConstantConfig

ScheduleConfig = Annotated[Annotated[ScheduleKind, Field(discriminator="kind")], BeforeValidator(kind_by_word)]

_LINEAR = LinearConfig()


class Schedule:
    """The rates of an optimiser's groups, step by step.

    `transformers` begins the warm-up with a step at rate 0, which moves nothing; here each step of the warm-up has the
    rate that its next one has there. All later steps have the same rates.

    Args:
        optimizer: whose groups have their full rates now.
        total: steps of the run.
        warmup_ratio: share of them in which the rate rises in a straight line.
        shape: what follows.
    """

    def __init__(self, optimizer: Any, total: int, warmup_ratio: float, shape: ScheduleShape = _LINEAR) -> None:
        self.optimizer, self.shape = optimizer, shape
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
        steps = max(1, self.total - self.warmup)
        return self.shape.after_warmup(min(step - self.warmup, steps), steps)

    @property
    def learning_rate(self) -> float:
        """Of the first group, now."""
        return float(self.optimizer.param_groups[0]["lr"])
