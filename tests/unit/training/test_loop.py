"""What a training run leaves while it goes on and when it ends."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import longdoc as library
from longdoc.api import train_with_report
from longdoc.tasks import task_named
from longdoc.training.progress import TrainingProgress
from longdoc.training.run_layout import BEST_SO_FAR
from longdoc.training.selection import BestEpoch, chosen_metric
from longdoc.types import Document
from nn_kit import tiny_model

CONFIG = Path(__file__).parents[3] / "configs" / "debug_tiny.yaml"
DOCUMENTS = [
    Document(id=str(n), text=f"the {'licence grants' if n % 2 else 'patient had'} number {n} " * 9, label="ab"[n % 2])
    for n in range(8)
]


def test_the_best_epoch_can_be_used_while_the_run_goes_on_and_is_the_model_when_it_ends(tmp_path: Path) -> None:
    config = library.load_config(CONFIG, ["training.num_train_epochs=3", "training.metric_for_best_model=loss"])
    seen: dict[int, list[float]] = {}

    def look(progress: TrainingProgress) -> None:
        if progress.phase == "train" and progress.epoch > 1 and progress.done == 1:
            pipe = library.Pipeline.load(tmp_path / "run" / BEST_SO_FAR)
            seen[progress.epoch - 1] = [r.logits[0] for r in pipe.predict(DOCUMENTS)]

    _, report = train_with_report(
        config, tmp_path / "run", train_documents=DOCUMENTS, validation_documents=DOCUMENTS, progress=look
    )
    assert sorted(seen) == [1, 2]
    assert seen[1] != seen[2], "each better epoch took the place of the one before"
    assert not (tmp_path / "run" / BEST_SO_FAR.parts[0]).exists()
    assert report.best_epoch == 3
    last = [r.logits[0] for r in library.Pipeline.load(tmp_path / "run").predict(DOCUMENTS)]
    assert last not in seen.values()


def test_the_kept_epoch_is_the_best_one_and_not_the_last(tmp_path: Path) -> None:
    best = BestEpoch("macro_f1")
    model = tiny_model()
    values = [float("nan"), 0.5, 0.7, 0.7, float("nan"), 0.6]
    kept = []
    for epoch, value in enumerate(values, 1):
        with torch.no_grad():
            model.encoder.word.weight.fill_(float(epoch))
        kept.append(best.offer(epoch, value, [], model))
    assert kept == [True, True, True, False, False, False]
    assert (best.epoch, best.value) == (3, 0.7)
    assert best.weights is not None
    assert best.weights["encoder.word.weight"][0, 0] == 3.0, "a copy, not the model's own tensor"


def test_of_epochs_that_are_as_good_the_one_with_the_lowest_loss_is_kept() -> None:
    """Where no epoch finds a span, or grades come out alike, the first one was kept, which has learned the least."""
    best, model = BestEpoch("strict_f1"), tiny_model()
    values, losses = [0.0, 0.0, 0.0, 0.0, 0.5, 0.5], [2.1, 1.1, 1.3, float("nan"), 3.0, 2.0]
    kept = [best.offer(n, v, [], model, loss) for n, (v, loss) in enumerate(zip(values, losses, strict=True), 1)]
    assert kept == [True, True, False, False, True, True]
    assert (best.epoch, best.reached, best.alike, best.loss) == (6, 5, 2, 2.0)


@pytest.mark.parametrize("metric", ["loss", "rmse", "mae"])
def test_errors_are_better_when_they_are_lower(metric: str) -> None:
    best, model = BestEpoch(metric, metric in task_named("regression").lower_is_better), tiny_model()
    assert [best.offer(n, value, [], model) for n, value in enumerate((2.0, 3.0, 1.0), 1)] == [True, False, True]


@pytest.mark.parametrize(
    ("asked", "task", "has_validation", "metric"),
    [
        ("auto", "single_label", True, "macro_f1"),
        ("auto", "regression", True, "rmse"),
        ("macro_average_precision", "multi_label", True, "macro_average_precision"),
        ("accuracy", "single_label", False, "loss"),
    ],
)
def test_the_metric_that_decides(asked: str, task: str, has_validation: bool, metric: str) -> None:
    assert chosen_metric(asked, task_named(task), has_validation) == metric


def test_a_metric_that_the_task_does_not_have_is_refused() -> None:
    with pytest.raises(library.errors.ConfigurationError) as caught:
        chosen_metric("rmse", task_named("single_label"), True)
    assert str(caught.value) == (
        "`training.metric_for_best_model` must be auto or one of loss, accuracy, macro_f1, micro_f1, but is 'rmse' "
        "instead."
    )


def test_a_document_that_a_frozen_encoder_cannot_encode_is_named_with_its_cause() -> None:
    from longdoc.errors import LongDocError
    from longdoc.training.data import Example
    from longdoc.training.frozen_rows import FrozenRows
    from longdoc.types import DocumentFailure

    class Broken:
        def stream_rows(self, documents: list[Document]):
            yield DocumentFailure(documents[0].id, "memory_limit", "encode", "MemoryError")

    (kept,) = [Example(4, "4", (), torch.tensor(0), 9)]  # four documents before it were left out
    with pytest.raises(LongDocError) as caught:
        FrozenRows(Broken()).compute([kept], DOCUMENTS, [], lambda done, of: None)  # type: ignore[arg-type]
    assert str(caught.value) == (
        "training document number 5 cannot be encoded: memory_limit while the stage encode was at work, MemoryError. "
        "Remove it, or free memory."
    )


def test_metrics_that_cannot_be_written_are_status_74(tmp_path: Path) -> None:
    from longdoc.errors import CannotWriteError
    from longdoc.training.metrics_file import MetricsFile

    with pytest.raises(CannotWriteError, match=r"metrics.jsonl cannot be written: No such file or directory"):
        MetricsFile(tmp_path / "none" / "metrics.jsonl", active=True).__enter__()
