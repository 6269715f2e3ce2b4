"""Which way of reading long documents to use on these ones: strategies side by side, and a verdict.

The encoder is frozen and reads each document once for each amount of text; on the rows of its chunks every strategy is
trained with the same budget. What wins here is worth fine-tuning. TF-IDF with a linear classifier stands beside them,
and the sum of both; beside finders of spans a linear tagger of words.

Shape letters: B documents, C labels.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from longdoc.errors import UsageError
from longdoc.files import make_folder, write_text
from longdoc.linear import LinearClassifier
from longdoc.nn.readout import TokensReadoutConfig
from longdoc.pipeline import DocumentRows, Pipeline
from longdoc.study.comparison import Comparison, Entry, comparison_table
from longdoc.study.hybrid import add_words
from longdoc.study.paired import RESAMPLES, paired_test, verdict
from longdoc.study.parts_read import (
    GivenRows,
    Parts,
    PartsRead,
    Rows,
    as_wide,
    count_parts,
    read_parts,
    tokens_computed,
)
from longdoc.study.strategies import STRATEGIES, Strategy, strategies_for
from longdoc.study.word_rows import of_labels, of_spans
from longdoc.tasks.compared_task import ComparedTask
from longdoc.tasks.label_task import LabelTask
from longdoc.tasks.spans import Spans
from longdoc.text.chunking import Keep, PreparedDocument
from longdoc.training.evaluation import metrics_of
from longdoc.training.frozen_rows import rows_in_bytes
from longdoc.training.loop import fine_tune
from longdoc.training.settings import TrainingConfig
from longdoc.types import Document, DocumentPrediction, DocumentResult

__all__ = ["compare_strategies"]

Make = Callable[[Keep, Mapping[str, Any] | None], Pipeline]


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
        make: what is read and a readout (None = the one that is configured) -> an untrained pipeline, always with the
            same encoder and labels.
        train, validation: labelled documents; `validation` chooses epochs and, among strategies, the best.
        test: what the figures are measured on; empty = the validation documents, and the result says so.
        output: the folder.
        settings: of training; the encoder is frozen whatever they say.
        strategies: None = all that suit the task.
        tell: hears how many strategies of how many are done.

    Raises:
        DataError: documents that do not fit the task.
        UsageError: a task whose answers cannot be compared so.
    """
    parts = train, validation, list(test) or list(validation)
    measured = parts[2]
    settings = settings.model_copy(update={"freeze": ("encoder",)})
    probe = make("all", None)
    task, labels = probe.task, probe.labels
    if not isinstance(task, ComparedTask):
        raise UsageError(f"`model.task` must be one with labels, a number or spans, but is {task.name} instead.")
    chosen = strategies_for(task) if strategies is None else list(strategies)
    make_folder(output)
    read: dict[Keep, PartsRead] = {}
    entries: list[Entry] = []
    left_out: dict[str, str] = {}
    linear = None
    if isinstance(task, LabelTask):
        entries, linear = of_labels(parts, labels, task, settings.decisions)
    elif isinstance(task, Spans):
        config = probe.settings.readout
        entries = of_spans(parts, labels, task, isinstance(config, TokensReadoutConfig) and bool(config.overlapping))
    tell(0, len(chosen))
    for number, strategy in enumerate(chosen):
        pipeline = make(strategy.keep, strategy.readout)
        shares = not pipeline.model.readout.learns_rows
        known = read.get(strategy.keep)
        if known is None or (shares and known.rows is None):
            reader = make(strategy.keep, STRATEGIES[0].readout) if shares else pipeline
            known = read_parts(reader, parts, settings.rows_folder) if shares else count_parts(reader, parts)
            read[strategy.keep] = known
        if reason := _too_much(pipeline, known, settings):
            left_out[strategy.name] = reason
        else:
            entries.append(_train(pipeline, strategy, known, parts, output / "models", settings, task))
        tell(number + 1, len(chosen))
    best = _best_reader(entries, task)
    if linear is not None and best is not None:
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


def _too_much(pipeline: Pipeline, read: PartsRead, settings: TrainingConfig) -> str:
    """Why a readout that learns from tokens cannot be trained on what one pass of the encoder gives; empty = it can."""
    readout = pipeline.model.readout
    if not readout.learns_rows:
        return ""
    chunks = sum(item.n_chunks for part in read.prepared[:2] for item in part if isinstance(item, PreparedDocument))
    kept = readout.keep_states(True)
    gigabytes = rows_in_bytes(readout, chunks) / 1e9
    readout.keep_states(False)
    if kept and gigabytes <= settings.kept_rows_gb:
        return ""
    return f"its tokens take {gigabytes:.2g} GB and `training.kept_rows_gb` allows {settings.kept_rows_gb:g}"


def _train(
    pipeline: Pipeline,
    strategy: Strategy,
    read: PartsRead,
    parts: Parts,
    models: Path,
    settings: TrainingConfig,
    task: ComparedTask,
) -> Entry:
    train, validation, test = parts
    shared = None if pipeline.model.readout.learns_rows else read.rows
    given = None
    if shared is not None:
        wide = [as_wide(part, pipeline) for part in shared]
        given = partial(GivenRows, train=wide[0], validation=wide[1])
    folder = models / strategy.name.replace(", ", "-").replace(" ", "-")
    report = fine_tune(pipeline, train, validation, folder, settings, rows=given)
    results, seconds = _answers(pipeline, None if shared is None else shared[2], test)
    return Entry(
        name=strategy.name,
        reads=strategy.keep,
        validation=_number(report.validation[task.chosen_by]),
        metrics=metrics_of(pipeline, test, results, RESAMPLES),
        answers=task.compared(test, results, pipeline.labels),
        tokens=tokens_computed(read.prepared[2], pipeline),
        seconds=seconds if shared is None else read.seconds,
        folder=folder,
    )


def _answers(
    pipeline: Pipeline, rows: Rows | None, documents: Sequence[Document]
) -> tuple[list[DocumentResult], float]:
    """Answers from rows that were made before, where the readout can use them, and the seconds that they took."""
    started = time.perf_counter()
    if rows is None or pipeline.model.readout.learns_rows:
        return pipeline.predict(documents), time.perf_counter() - started
    results = [pipeline.answer(item) if isinstance(item, DocumentRows) else item for item in as_wide(rows, pipeline)]
    return results, time.perf_counter() - started


def _best_reader(entries: Sequence[Entry], task: ComparedTask) -> Entry | None:
    """Of those that read all of a document the best on the validation documents."""
    whole = [entry for entry in entries if entry.folder is not None and entry.reads == "all"]
    sign = -1 if task.chosen_by in task.lower_is_better else 1
    defined = [entry for entry in whole if not math.isnan(entry.validation)] or whole
    return max(defined, key=lambda entry: sign * entry.validation, default=None)


def _hybrid(
    best: Entry,
    linear: LinearClassifier,
    read: PartsRead,
    parts: Parts,
    models: Path,
    settings: TrainingConfig,
    task: ComparedTask,
    probe: Pipeline,
) -> Entry:
    """The best model and the linear classifier, added up."""
    train, validation, test = parts
    assert best.folder is not None
    pipeline = Pipeline.load(best.folder, probe.prediction)
    rows = (None, None, None) if read.rows is None else read.rows
    alone, _ = _answers(pipeline, rows[1], validation)
    answers, _ = _answers(pipeline, rows[2], test)
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
        validation=_number(metrics_of(pipeline, validation, mixed, 0)[task.chosen_by]),
        metrics=metrics_of(pipeline, test, results, RESAMPLES),
        answers=task.compared(test, results, pipeline.labels),
        tokens=best.tokens,
        seconds=seconds,
        folder=models / "hybrid",
        by_words=True,
    )


def _number(value: float | None) -> float:
    """NaN where a measure is undefined."""
    return math.nan if value is None else float(value)
