"""Which epoch is kept: the best by one metric on the validation documents, and of those that are as good by it the one
with the lowest loss there, since a measure that counts answers does not see how far from right they are."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch

from longdoc.errors import ConfigurationError
from longdoc.model import LongDocModel
from longdoc.tasks import Task
from longdoc.types import DocumentResult

__all__ = ["BestEpoch", "chosen_metric"]


def chosen_metric(asked: str, task: Task, has_validation: bool) -> str:
    """The metric's name from the configuration's word.

    Raises:
        ConfigurationError: the task has no such metric.
    """
    if not has_validation:
        return "loss"
    if asked == "auto":
        return task.automatic
    if asked not in task.metric_names:
        raise ConfigurationError(
            f"`training.metric_for_best_model` must be auto or one of {', '.join(task.metric_names)}, but is {asked!r} "
            "instead."
        )
    return asked


@dataclass
class BestEpoch:
    """The best epoch so far.

    Attributes:
        metric: name of what decides.
        lower_is_better: of it.
        epoch: counted from 1; 0 before the first validation.
        value: of the metric then.
        loss: on the validation documents then.
        reached: the epoch that was the first with that value.
        alike: how many epochs had it.
        results: the answers for the validation documents then.
        weights: of the model then.
    """

    metric: str
    lower_is_better: bool = False
    epoch: int = 0
    value: float = math.nan
    loss: float = math.nan
    reached: int = 0
    alike: int = 0
    results: list[DocumentResult] = field(default_factory=list)
    weights: dict[str, torch.Tensor] | None = None

    def offer(
        self, epoch: int, value: float, results: list[DocumentResult], model: LongDocModel, loss: float = math.nan
    ) -> bool:
        """Keep this epoch if it is the first, better, or as good with a lower loss; a NaN is never better.

        Returns:
            Whether it was kept.
        """
        if self.weights is None or self._better(value):
            self.reached, self.alike = epoch, 1
        elif value == self.value:
            self.alike += 1
            if not loss < self.loss:
                return False
        else:
            return False
        self.epoch, self.value, self.results, self.loss = epoch, value, results, loss
        self.weights = {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}
        return True

    def _better(self, value: float) -> bool:
        if math.isnan(value):
            return False
        if math.isnan(self.value):
            return True
        return value < self.value if self.lower_is_better else value > self.value
