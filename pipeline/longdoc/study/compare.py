"""Which way of reading long documents to use on these ones: strategies side by side, and a verdict.

The encoder is frozen and reads each document once for each amount of text; on the rows of its chunks every strategy is
trained with the same budget. What wins here is worth fine-tuning. TF-IDF with a linear classifier stands beside them,
and the sum of both.

Shape letters: B documents, C labels.
"""

from __future__ import annotations

import itertools
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from longdoc.decide import Decisions
from longdoc.errors import UsageError
from longdoc.files import make_folder, write_text
from longdoc.linear import LinearClassifier
from longdoc.pipeline import DocumentRows, Pipeline
from longdoc.study.baseline import HEAD_WORDS, first_words, fit_linear
from longdoc.study.comparison import Comparison, Entry, comparison_table
from longdoc.study.hybrid import add_words
from longdoc.study.paired import RESAMPLES, paired_test, verdict
from longdoc.study.strategies import STRATEGIES, Strategy, strategies_for
from longdoc.tasks.document_task import DocumentTask
from longdoc.tasks.label_task import LabelTask
from longdoc.text.chunking import Keep
from longdoc.training.data import Example
from longdoc.training.evaluation import metrics_of
from longdoc.training.frozen_rows import FrozenRows, rows_in_bytes
from longdoc.training.loop import fine_tune
from longdoc.training.rows_on_disk import rows_of
from longdoc.training.settings import TrainingConfig
from longdoc.types import Document, DocumentFailure, DocumentPrediction, DocumentResult

__all__ = ["compare_strategies"]

Make = Callable[[Keep, Mapping[str, Any]], Pipeline]
Rows = list[DocumentRows | DocumentFailure]
Parts = tuple[Sequence[Document], Sequence[Document], Sequence[Document]]
_SAMPLE = 20_000  # tokens that tell how fast documents are read, where their rows were found on disk


def compare_strategies(
    make: Make,
    train: Sequence[Document],
    validation: Sequence[Document],
    test: Sequence[Document],
    output: Path,
    settings: TrainingConfig,
    strategies: Sequence[Strategy] | None = None,
    tell: Callable[[int, int], object] = lambda done, total: None,
) -> Comparison:
    """Train and measure every strategy, write `comparison.json`, `table.md` and a model folder for each.

    Args:
        make: what is read and a readout -> an untrained pipeline, always with the same encoder and labels.
        train, validation: labelled documents; `validation` chooses epochs and, among strategies, the best.
        test: what the figures are measured on; empty = the validation documents, and the result says so.
        output: the folder.
        settings: of training; the encoder is frozen whatever they say.
        strategies: None = all that suit the task.
        tell: hears how many strategies of how many are done.

    Raises:
        DataError: documents that do not fit the task.
        UsageError: a task that does not answer for documents as a whole.
    """
    measured = list(test) or list(validation)
    settings = settings.model_copy(update={"freeze": ("encoder",)})
    probe = make("all", STRATEGIES[0].readout)
    task, labels = probe.task, probe.labels
    if not isinstance(task, DocumentTask):
        raise UsageError(f"`model.task` must be one that answers for whole documents, but is {task.name} instead.")
    chosen = strategies_for(task) if strategies is None else list(strategies)
    make_folder(output)
    read: dict[Keep, tuple[Rows, Rows, Rows, float]] = {}
    entries: list[Entry] = []
    left_out: dict[str, str] = {}
    linear = None
    if isinstance(task, LabelTask):
        entries, linear = _linear(train, validation, measured, labels, task)
    tell(0, len(chosen))
    for number, strategy in enumerate(chosen):
        if strategy.keep not in read:
            reader = make(strategy.keep, STRATEGIES[0].readout)
            read[strategy.keep] = _read(reader, (train, validation, measured), settings.rows_folder)
        pipeline, rows = make(strategy.keep, strategy.readout), read[strategy.keep]
        if reason := _too_much(pipeline, rows, settings):
            left_out[strategy.name] = reason
        else:
            entries.append(
                _train(pipeline, strategy, rows, train, validation, measured, output / "models", settings, task)
            )
        tell(number + 1, len(chosen))
    best = _best_reader(entries, task)
    if linear is not None and best is not None:
        parts = train, validation, measured
        entries.append(_hybrid(best, linear, read["all"], parts, output / "models", settings, task, probe))
    gold = task.gold(measured, labels)
    found = paired_test(entries, gold, task)
    comparison = Comparison(
        task,
        (len(train), len(validation), len(measured)),
        bool(test),
        entries,
        found,
        verdict(entries, found, task),
        left_out,
    )
    write_text(output / "comparison.json", json.dumps(comparison.to_dict(), indent=2, ensure_ascii=False) + "\n")
    write_text(output / "table.md", comparison_table(comparison))
    return comparison


class _GivenRows(FrozenRows):
    """Rows that were computed before, for every strategy that reads as much."""

    def __init__(self, pipeline: Pipeline, train: Rows, validation: Rows) -> None:
        super().__init__(pipeline)
        self._given, self.validation = train, validation

    def compute(
        self,
        examples: Sequence[Example],
        train: Sequence[Document],
        validation: Sequence[Document],
        tell: Callable[[int, int], None],
    ) -> None:
        rows = [self._given[example.number] for example in examples]
        self.train = [item for item in rows if isinstance(item, DocumentRows)]


def _read(pipeline: Pipeline, parts: Parts, folder: str | None) -> tuple[Rows, Rows, Rows, float]:
    """Rows of all documents; the seconds are those of the test documents."""
    train, validation, test = parts
    kept = Path(folder) if folder else None
    earlier = list(rows_of(pipeline, [*train, *validation], kept))
    started = time.perf_counter()
    last = list(rows_of(pipeline, test, kept))
    seconds = time.perf_counter() - started if kept is None else _reading_time(pipeline, test, last)
    return earlier[: len(train)], earlier[len(train) :], last, seconds


def _reading_time(pipeline: Pipeline, documents: Sequence[Document], rows: Rows) -> float:
    """Seconds that reading documents takes, by the first of them: all were perhaps read long ago."""
    tokens = [item.prepared.tokens_read if isinstance(item, DocumentRows) else 0 for item in rows]
    first = next((n for n, total in enumerate(itertools.accumulate(tokens), 1) if total >= _SAMPLE), len(tokens))
    started = time.perf_counter()
    for _ in pipeline.stream_rows(documents[:first]):
        pass
    return (time.perf_counter() - started) * sum(tokens) / max(1, sum(tokens[:first]))


def _too_much(pipeline: Pipeline, read: tuple[Rows, Rows, Rows, float], settings: TrainingConfig) -> str:
    """Why a readout that learns from tokens cannot be trained on what one pass of the encoder gives; empty = it can."""
    readout = pipeline.model.readout
    if not readout.learns_rows:
        return ""
    chunks = sum(item.prepared.n_chunks for rows in read[:2] for item in rows if isinstance(item, DocumentRows))
    kept = readout.keep_states(True)
    gigabytes = rows_in_bytes(readout, chunks) / 1e9
    readout.keep_states(False)
    if kept and gigabytes <= settings.kept_rows_gb:
        return ""
    return f"its tokens take {gigabytes:.2g} GB and `training.kept_rows_gb` allows {settings.kept_rows_gb:g}"


def _train(
    pipeline: Pipeline,
    strategy: Strategy,
    read: tuple[Rows, Rows, Rows, float],
    train: Sequence[Document],
    validation: Sequence[Document],
    test: Sequence[Document],
    models: Path,
    settings: TrainingConfig,
    task: DocumentTask,
) -> Entry:
    of_train, of_validation, of_test = (_as_wide(rows, pipeline) for rows in read[:3])
    given = partial(_GivenRows, train=of_train, validation=of_validation)
    shared = not pipeline.model.readout.learns_rows
    folder = models / strategy.name.replace(", ", "-").replace(" ", "-")
    report = fine_tune(pipeline, train, validation, folder, settings, rows=given if shared else None)
    results, seconds = _answers(pipeline, of_test, test)
    specials = pipeline.tokenizer.specials
    return Entry(
        name=strategy.name,
        reads=strategy.keep,
        validation=_number(report.validation[task.automatic]),
        metrics=metrics_of(pipeline, test, results, RESAMPLES),
        answers=task.compared(test, results, pipeline.labels),
        tokens=sum(_computed(item, pipeline, specials) for item in of_test if isinstance(item, DocumentRows)),
        seconds=read[3] if shared else seconds,
        folder=folder,
    )


def _answers(pipeline: Pipeline, rows: Rows, documents: Sequence[Document]) -> tuple[list[DocumentResult], float]:
    """Answers from rows that were made before, where the readout can use them, and the seconds that they took."""
    started = time.perf_counter()
    if pipeline.model.readout.learns_rows:
        return pipeline.predict(documents), time.perf_counter() - started
    results = [pipeline.answer(item) if isinstance(item, DocumentRows) else item for item in _as_wide(rows, pipeline)]
    return results, time.perf_counter() - started


def _best_reader(entries: Sequence[Entry], task: DocumentTask) -> Entry | None:
    """Of those that read all of a document the best on the validation documents."""
    whole = [entry for entry in entries if entry.folder is not None and entry.reads == "all"]
    sign = -1 if task.automatic in task.lower_is_better else 1
    defined = [entry for entry in whole if not math.isnan(entry.validation)] or whole
    return max(defined, key=lambda entry: sign * entry.validation, default=None)


def _hybrid(
    best: Entry,
    linear: LinearClassifier,
    read: tuple[Rows, Rows, Rows, float],
    parts: tuple[Sequence[Document], Sequence[Document], Sequence[Document]],
    models: Path,
    settings: TrainingConfig,
    task: DocumentTask,
    probe: Pipeline,
) -> Entry:
    """The best model and the linear classifier, added up."""
    train, validation, test = parts
    assert best.folder is not None
    pipeline = Pipeline.load(best.folder, probe.prediction)
    alone, _ = _answers(pipeline, read[1], validation)
    answers, _ = _answers(pipeline, read[2], test)
    mixed = add_words(pipeline, linear, len(train), validation, alone, settings.decisions)
    started = time.perf_counter()
    results: list[DocumentResult] = [
        pipeline.mixed(result, pipeline.word_scores(document.text))
        if isinstance(result, DocumentPrediction)
        else result
        for document, result in zip(test, answers, strict=True)
    ]
    seconds = best.seconds + time.perf_counter() - started
    pipeline.save(models / "hybrid", pipeline.card, overwrite=True)
    return Entry(
        name=f"TF-IDF + {best.name}",
        reads="all",
        validation=_number(metrics_of(pipeline, validation, mixed, 0)[task.automatic]),
        metrics=metrics_of(pipeline, test, results, RESAMPLES),
        answers=task.compared(test, results, pipeline.labels),
        tokens=best.tokens,
        seconds=seconds,
        folder=models / "hybrid",
        by_words=True,
    )


def _as_wide(rows: Rows, pipeline: Pipeline) -> Rows:
    """Rows with the numbers of their chunks behind them, where the merger asks for them."""
    if not getattr(pipeline.model.readout, "merger", None) or not pipeline.model.readout.merger.ordered:  # type: ignore[union-attr]
        return rows
    return [
        replace(item, rows=torch.cat([item.rows, torch.arange(len(item.rows))[:, None].to(item.rows.dtype)], dim=1))
        if isinstance(item, DocumentRows)
        else item
        for item in rows
    ]


def _number(value: float | None) -> float:
    """NaN where a measure is undefined."""
    return math.nan if value is None else float(value)


def _computed(item: DocumentRows, pipeline: Pipeline, specials: int) -> int:
    chunks = item.prepared.n_chunks
    overlaps = pipeline.settings.chunking.overlap * (chunks - 1) if pipeline.settings.chunking.keep == "all" else 0
    return item.prepared.tokens_read + overlaps + specials * chunks


def _linear(
    train: Sequence[Document],
    validation: Sequence[Document],
    test: Sequence[Document],
    labels: Sequence[str],
    task: LabelTask,
) -> tuple[list[Entry], LinearClassifier]:
    """TF-IDF with a linear classifier, on whole texts and on their first words; and the one on whole texts."""
    gold = {
        part: task.gold(documents, labels)
        for part, documents in (("train", train), ("validation", validation), ("test", test))
    }
    main, table = task.automatic, task.table_of(gold["train"], len(labels))
    entries: list[Entry] = []
    learned = []
    kinds = (("TF-IDF, linear", None, "all"), (f"TF-IDF, first {HEAD_WORDS} words", HEAD_WORDS, "head"))
    for name, words, reads in kinds:
        texts = [[first_words(document.text, words) for document in part] for part in (train, validation, test)]
        started = time.perf_counter()
        learned.append(fit_linear(texts[0], table, task.several))
        on_validation, on_test = (np.stack([learned[-1].probabilities(text) for text in part]) for part in texts[1:])
        seconds = time.perf_counter() - started
        entries.append(
            Entry(
                name,
                reads,
                _number(task.measure_probabilities(gold["validation"], on_validation, labels, resamples=0)[main]),
                task.measure_probabilities(gold["test"], on_test, labels, resamples=RESAMPLES),
                task.given(on_test, Decisions()),
                0,
                seconds,
            )
        )
    return entries, learned[0]
