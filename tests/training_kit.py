"""Training runs in miniature: short documents, a pipeline of one tiny layer, and stops at chosen steps."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from longdoc.config import load_config
from longdoc.errors import InterruptedTrainingError
from longdoc.pipeline import Pipeline
from longdoc.training.loop import fine_tune
from longdoc.training.progress import TrainingProgress, TrainingReport
from longdoc.training.steps import Stepper
from longdoc.types import Document

CONFIG = Path(__file__).parent.parent / "configs" / "debug_tiny.yaml"
LABELS = ("contract", "letter", "notice")


def documents(count: int, first: int = 0, prefix: str = "d") -> list[Document]:
    """Documents of three kinds, of one to six chunks."""
    words = ("licence grants", "dear patient", "you are told")
    return [
        Document(id=f"{prefix}{n}", text=f"the {words[n % 3]} number {n} " * (2 + n % 5 * 6), label=LABELS[n % 3])
        for n in range(first, first + count)
    ]


def anew(pipeline: Pipeline) -> Pipeline:
    """The pipeline with weights of its own."""
    return Pipeline(copy.deepcopy(pipeline.model), pipeline.settings, pipeline.tokenizer, pipeline.prediction)


@contextlib.contextmanager
def stopping(after: int | None) -> Iterator[None]:
    """SIGTERM comes when step `after` is over."""
    take = Stepper.take

    def take_and_stop(self: Stepper, step: Any, wishes: Any, number: int, last_good: Any) -> Any:
        outcome = take(self, step, wishes, number, last_good)
        if number == after:
            os.kill(os.getpid(), signal.SIGTERM)
        return outcome

    with patch.object(Stepper, "take", take_and_stop):
        yield


def run(
    pipeline: Pipeline,
    output: Path,
    *overrides: str,
    train: Sequence[Document] | None = None,
    validation: Sequence[Document] = (),
    stop_after: int | None = None,
    progress: Callable[[TrainingProgress], None] | None = None,
    unfinished: Any = "continue",
) -> TrainingReport:
    """A copy of a pipeline is trained; SIGTERM comes when step `stop_after` is over."""
    settings = load_config(CONFIG, [f"training.{override}" for override in overrides]).training
    with stopping(stop_after):
        return fine_tune(
            anew(pipeline),
            documents(12) if train is None else train,
            validation,
            output,
            settings,
            progress,
            unfinished=unfinished,
        )


def stopped(pipeline: Pipeline, output: Path, *overrides: str, **given: Any) -> str:
    """A run that is stopped, and what it says."""
    try:
        run(pipeline, output, *overrides, **given)
    except InterruptedTrainingError as error:
        return str(error)
    raise AssertionError("the run went on to its end")


def lines(output: Path) -> list[dict[str, Any]]:
    """`metrics.jsonl` without the speed, the one number that a clock makes."""
    read = [json.loads(line) for line in (output / "metrics.jsonl").read_text().splitlines()]
    return [{key: value for key, value in line.items() if key != "tokens_per_second"} for line in read]
