"""Training on questions: losses fall, the margin is fitted, a frozen encoder keeps its states, what has no question is
left out and said."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from answer_kit import toy
from longdoc.errors import DataError
from longdoc.nn.readout import AnswersReadoutConfig
from longdoc.training.data import check_readable
from longdoc.training.loop import fine_tune
from longdoc.training.settings import TrainingConfig
from longdoc.types import Document, Span


def documents(question: str = "who") -> list[Document]:
    """The answer is `b1 out e1`, or nothing; fillers before and behind."""
    found = []
    for number in range(12):
        before, behind = "out " * (3 * number % 17), " out" * (5 * number % 13)
        answer = "b1 out e1" if number % 3 else ""
        places = (Span(len(before), len(before) + len(answer)),) if answer else ()
        text = f"{before}{answer}{behind}" if answer else f"{before}out{behind}"
        found.append(Document(str(number), text, question=question, answers=places))
    return found


@pytest.mark.parametrize("freeze", [[], ["encoder"]])
def test_it_learns_and_fits_the_margin(freeze: list[str], tmp_path: Path) -> None:
    pipeline = toy(12, 3)
    torch.manual_seed(0)
    pipeline.model.readout.head = AnswersReadoutConfig().build(pipeline.model.encoder.config.width, 2).head
    given = documents()
    settings = TrainingConfig.model_validate(
        {"num_train_epochs": 3, "per_device_train_batch_size": 4, "freeze": freeze, "head_learning_rate": 0.3,
         "learning_rate": 1e-4, "warmup_ratio": 0.0, "metric_for_best_model": "loss"}
    )  # fmt: skip
    report = fine_tune(pipeline, given, given, tmp_path / "run", settings)
    assert report.best_epoch == 3, "the loss falls from epoch to epoch"
    assert report.validation["f1"] == 1.0
    assert [result.answer for result in pipeline.predict(given)] == [
        "b1 out e1" if document.answers else None for document in given
    ]
    assert pipeline.settings.decisions.documents == 12
    assert pipeline.model.readout.learns_rows, "afterwards it predicts with rows of scores again"


def test_questions_that_leave_no_room_are_seen_before_the_long_part() -> None:
    pipeline = toy(12, 3)
    with pytest.raises(
        DataError,
        match=r"none of 12 can: 12 too_large\. The first of them: The question must have at most \d+ tokens in ",
    ):
        check_readable(documents("who " * 20), pipeline.tokenizer, pipeline.chunker, 1.0, pipeline.task)
