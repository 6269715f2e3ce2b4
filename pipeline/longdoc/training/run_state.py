"""All that changes while a run goes on, taken into a checkpoint and put back from one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from longdoc.model import LongDocModel
from longdoc.training.averages import Average
from longdoc.training.checkpointing import Checkpoint
from longdoc.training.progress import TrainingReport
from longdoc.training.random_states import random_states, set_random_states
from longdoc.training.selection import BestEpoch
from longdoc.training.steps import Stepper

__all__ = ["RunState"]


@dataclass
class RunState:
    """Where a run stands.

    Attributes:
        model, stepper, best, report: what learns, how, and what came of it.
        gather: hands every process the list of what all of them hand in.
        rank: which process this is.
        epoch: the epoch that is under way, from 0.
        done: its steps that are over.
        average: of the loss since the last line of metrics.
    """

    model: LongDocModel
    stepper: Stepper
    best: BestEpoch
    report: TrainingReport
    gather: Callable[[Any], list[Any]]
    rank: int
    epoch: int = 0
    done: int = 0
    average: Average = field(default_factory=Average)

    def take(self, metrics_bytes: int, seconds: float) -> Checkpoint:
        """Everything as it is now. Called on all processes at once.

        Args:
            metrics_bytes: of `metrics.jsonl`, with lines of before this moment alone.
            seconds: that the run has taken so far.
        """
        stepper, average = self.stepper, self.average
        device = stepper.accelerator.device
        states = self.gather((random_states(device), stepper.micro_batch_tokens))
        moments, others = _apart(stepper.optimizer.state_dict()["state"])
        scaler = stepper.accelerator.scaler
        checkpoint = Checkpoint(
            numbers={
                "format": 1,
                "step": self.report.steps,
                "epoch": self.epoch,
                "done": self.done,
                "metrics_bytes": metrics_bytes,
                "seconds": seconds,
                "average": [average.loss, average.documents],
                "best": {
                    "epoch": self.best.epoch,
                    "value": None if math.isnan(self.best.value) else self.best.value,
                    "loss": None if math.isnan(self.best.loss) else self.best.loss,
                    "reached": self.best.reached,
                    "alike": self.best.alike,
                    "kept": self.best.weights is not None,
                },
                "micro_batch_tokens": [tokens for _, tokens in states],
                "optimizer": others,
                "scaler": None if scaler is None else scaler.state_dict(),
            },
            tensors={
                "weights": self._learning(self.model.state_dict()),
                "optimizer": moments,
                "random": {f"{rank}.{name}": t for rank, (own, _) in enumerate(states) for name, t in own.items()},
            },
        )
        if self.best.weights is not None:
            checkpoint.tensors["best"] = self._learning(self.best.weights)
        return checkpoint

    def put_back(self, checkpoint: Checkpoint) -> None:
        """Make everything as it was."""
        numbers, tensors, stepper = checkpoint.numbers, checkpoint.tensors, self.stepper
        self.epoch, self.done, self.report.steps = numbers["epoch"], numbers["done"], numbers["step"]
        frozen = {name: tensor for name, tensor in self.model.state_dict().items() if name not in tensors["weights"]}
        self.model.load_state_dict(frozen | tensors["weights"])
        fresh = stepper.optimizer.state_dict()  # groups have the rates and options of the configuration
        stepper.optimizer.load_state_dict(fresh | {"state": _together(tensors["optimizer"], numbers["optimizer"])})
        stepper.schedule.step = numbers["step"]
        stepper.micro_batch_tokens = numbers["micro_batch_tokens"][self.rank]
        if numbers["scaler"] is not None and stepper.accelerator.scaler is not None:
            stepper.accelerator.scaler.load_state_dict(numbers["scaler"])
        self.average.loss, self.average.documents = numbers["average"]
        best = numbers["best"]
        self.best.epoch, self.best.value = best["epoch"], math.nan if best["value"] is None else best["value"]
        loss = best.get("loss")  # runs that an earlier version has begun do not know it
        self.best.loss = math.nan if loss is None else loss
        self.best.reached, self.best.alike = best.get("reached", best["epoch"]), best.get("alike", 1)
        if best["kept"]:
            device = stepper.accelerator.device
            self.best.weights = frozen | {name: tensor.to(device) for name, tensor in tensors["best"].items()}
        own = f"{self.rank}."
        set_random_states(
            stepper.accelerator.device,
            {name.removeprefix(own): t for name, t in tensors["random"].items() if name.startswith(own)},
        )

    def _learning(self, weights: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Without what is frozen, which comes from the configuration again."""
        frozen = {name for name, parameter in self.model.named_parameters() if not parameter.requires_grad}
        return {name: tensor for name, tensor in weights.items() if name not in frozen}


def _apart(state: Mapping[int, Mapping[str, Any]]) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """An optimiser's state, parameter number -> name -> value, as tensors and as what is none."""
    flat = {f"{number}.{name}": value for number, values in state.items() for name, value in values.items()}
    tensors = {key: value for key, value in flat.items() if isinstance(value, torch.Tensor)}
    return tensors, {key: value for key, value in flat.items() if key not in tensors}


def _together(tensors: Mapping[str, torch.Tensor], others: Mapping[str, Any]) -> dict[int, dict[str, Any]]:
    state: dict[int, dict[str, Any]] = {}
    for key, value in {**tensors, **others}.items():
        number, _, name = key.partition(".")
        state.setdefault(int(number), {})[name] = value
    return state
