"""What a configuration may wish of a loss, and the refusals of tasks that it does not suit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Protocol

from pydantic import Field

from longdoc.errors import ConfigurationError
from longdoc.tasks.losses.base import LossChoice
from longdoc.tasks.losses.cross_entropy import CrossEntropyConfig

__all__ = ["LossWishes", "PositiveWeights", "refuse_loss", "refuse_positive_weights"]

PositiveWeights = Literal["none", "balanced"] | dict[str, Annotated[float, Field(gt=0)]]
"""How much more a yes weighs than a no: by the ratio of noes to ayes, or a number for each label that is named."""


class LossWishes(Protocol):
    """The part of a training's settings that tasks look at."""

    @property
    def loss(self) -> LossChoice: ...
    @property
    def class_weights(self) -> Literal["none", "balanced"]: ...
    @property
    def pos_weight(self) -> Literal["none", "balanced"] | Mapping[str, float]: ...


def refuse_loss(task: str, wishes: LossWishes) -> None:
    """For tasks that are learned in one way alone.

    Raises:
        ConfigurationError: another loss, or smoothing, is asked for.
    """
    if wishes.loss.kind != CrossEntropyConfig().kind:
        raise ConfigurationError(
            f"`training.loss.kind` must be cross_entropy, the default, for the task {task}, which has a loss of its "
            f"own, but is {wishes.loss.kind} instead. Leave it out."
        )
    if wishes.loss.label_smoothing:
        raise ConfigurationError(
            f"`training.loss.label_smoothing` must be 0 for the task {task}, but is {wishes.loss.label_smoothing:g} "
            "instead. Leave it out."
        )


def refuse_positive_weights(task: str, wishes: LossWishes) -> None:
    """For tasks whose answers are not yes and no.

    Raises:
        ConfigurationError: such weights are asked for.
    """
    if wishes.pos_weight != "none":
        raise ConfigurationError(
            f"`training.pos_weight` must be none for the task {task}: only in multi_label each label is a yes or a no. "
            "`training.class_weights: balanced` makes rare labels weigh more."
        )
