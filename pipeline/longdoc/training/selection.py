"""Which epoch is kept: the best by one metric on the validation documents."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch

from longdoc.errors import ConfigurationError
from longdoc.model import LongDocModel
from longdoc.types import DocumentResult, Task

__all__ = ["BestEpoch", "chosen_metric"]

_LOWER_IS_BETTER = frozenset({"loss", "rmse", "mae", "expected_calibration_error", "log_loss"})
_KNOWN: dict[Task, tuple[str, ...]] = {
    "single_label": ("loss", "accuracy", "macro_f1", "micro_f1"),
    "multi_label": ("loss", "macro_f1", "micro_f1", "macro_average_precision"),
    "regression": ("loss", "rmse", "mae", "r2"),
}
_AUTOMATIC: dict[Task, str] = {"single_label": "macro_f1", "multi_label": "macro_f1", "regression": "rmse"}


def chosen_metric(asked: str, task: Task, has_validation: bool) -> str:
    """The metric's name from the configuration's word.

    Raises:
        ConfigurationError: the task has no such metric.
    """
    if not has_validation:
        return "loss"
    if asked == "auto":
        return _AUTOMATIC[task]
    if asked not in _KNOWN[task]:
        raise ConfigurationError(
            f"`training.metric_for_best_model` must be auto or one of {', '.join(_KNOWN[task])}, but is {asked!r} "
            "instead."
        )
    return asked


@dataclass
class BestEpoch:
    """The best epoch so far.

    Attributes:
        metric: name of what decides.
        epoch: counted from 1; 0 before the first validation.
        value: of the metric then.
        results: the answers for the validation documents then.
        weights: of the model then.
    """

    metric: str
    epoch: int = 0
    value: float = math.nan
    results: list[DocumentResult] = field(default_factory=list)
    weights: dict[str, torch.Tensor] | None = None

    def offer(self, epoch: int, value: float, results: list[DocumentResult], model: LongDocModel) -> bool:
        """Keep this epoch if it is the first or better; a NaN is never better. True when it was kept."""
        if self.weights is not None and not self._better(value):
            return False
        self.epoch, self.value, self.results = epoch, value, results
        self.weights = {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}
        return True

    def _better(self, value: float) -> bool:
        if math.isnan(value):
            return False
        if math.isnan(self.value):
            return True
        return value < self.value if self.metric in _LOWER_IS_BETTER else value > self.value
