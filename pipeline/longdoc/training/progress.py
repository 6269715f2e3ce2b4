"""What a training run tells while it goes on and when it has ended. Numbers only."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

__all__ = ["TrainingProgress", "TrainingReport"]


@dataclass(frozen=True)
class TrainingProgress:
    """Where a run stands: for progress bars.

    Attributes:
        phase: rows, train, validate; resume where a run goes on, `done` steps of `total` being over.
        epoch, epochs: from 1; 0 before the first.
        done, total: within the phase.
        loss, metric, improved: of the last step, or of the validation documents.
        tokens_per_second: of the last steps.
        step, steps: taken so far, and of the whole run.
        score: the name of `metric`.
    """

    phase: str
    epoch: int
    epochs: int
    done: int
    total: int
    loss: float | None = None
    metric: float | None = None
    improved: bool = False
    tokens_per_second: float | None = None
    step: int = 0
    steps: int = 0
    score: str = ""


@dataclass
class TrainingReport:
    """What a run did.

    Attributes:
        best_epoch: counted from 1; 0 when there was no validation set (the last epoch is kept).
        metric: name of the metric that chose it.
        best: its value on the validation documents.
        epochs_alike: how many epochs had that value; the one with the lowest loss of them was kept.
        validation: all metrics of the best epoch.
        empty_documents: training documents without a token, left out.
        unreadable_documents: training documents that the tokenizer hardly knows, left out, as they would not be
            answered either.
        unanswered_validation: validation documents without an answer in the best epoch.
        epochs: that were trained, all or fewer.
        stopped_early: whether epochs were left out, since none had been better for long enough.
        seconds: wall time, that of before a stop included.
    """

    best_epoch: int = 0
    metric: str = "loss"
    best: float = math.nan
    epochs_alike: int = 0
    validation: dict[str, Any] = field(default_factory=dict)
    train_documents: int = 0
    validation_documents: int = 0
    empty_documents: int = 0
    unreadable_documents: int = 0
    unanswered_validation: int = 0
    steps: int = 0
    epochs: int = 0
    stopped_early: bool = False
    seconds: float = 0.0
