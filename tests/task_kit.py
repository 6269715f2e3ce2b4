"""Tasks by name, for tests that go through all of them with the same words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from longdoc.decide import Decisions
from longdoc.tasks import TASKS, task_named
from longdoc.tasks.label_task import LabelTask
from longdoc.types import Document

_WORDS = [task.name for task in TASKS]
TASK_WORDS = f"{', '.join(_WORDS[:-1])} or {_WORDS[-1]}"
"""All tasks as a sentence names them."""


def label_task(name: str) -> LabelTask:
    task = task_named(name)
    assert isinstance(task, LabelTask)
    return task


def probabilities(logits: Any, name: str, temperature: float = 1.0) -> Any:
    return label_task(name).probabilities(logits, temperature)


def decide(logits: Any, labels: Sequence[str], name: str, decisions: Decisions | None = None) -> dict[str, Any]:
    return task_named(name).answer(logits, labels, decisions or Decisions())


def targets(documents: Sequence[Document], labels: Sequence[str], name: str) -> list[torch.Tensor]:
    task = task_named(name)
    task.check_gold(documents, labels, "evaluation")
    return [task.target(document, labels) for document in documents]


def measure(gold: Any, scores: Any, labels: Sequence[str], name: str, **options: Any) -> dict[str, Any]:
    """The metrics from probabilities, as nothing was fitted."""
    return label_task(name).measure_probabilities(gold, scores, labels, **options)
