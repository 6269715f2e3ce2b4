"""The rows of a comparison that know words alone: what a network must beat."""

from __future__ import annotations

import math
import time

import numpy as np

from longdoc.decide import Decisions
from longdoc.linear import LinearClassifier
from longdoc.study.baseline import HEAD_WORDS, first_words, fit_linear
from longdoc.study.comparison import Entry
from longdoc.study.paired import RESAMPLES
from longdoc.study.parts_read import Parts
from longdoc.study.word_tagger import WordTagger
from longdoc.tasks.decision_settings import DecisionConfig
from longdoc.tasks.label_task import LabelTask
from longdoc.tasks.spans import Spans
from longdoc.types import DocumentResult

__all__ = ["of_labels", "of_spans"]


def of_labels(
    parts: Parts, labels: tuple[str, ...], task: LabelTask, settings: DecisionConfig
) -> tuple[list[Entry], LinearClassifier]:
    """TF-IDF with a linear classifier, on whole texts and on their first words; and the one on whole texts.

    Thresholds are fitted on the validation documents, as those of every model in the comparison are.
    """
    gold = [task.gold(documents, labels) for documents in parts]
    table = task.table_of(gold[0], len(labels))
    entries: list[Entry] = []
    learned = []
    kinds = (("TF-IDF, linear", None, "all"), (f"TF-IDF, first {HEAD_WORDS} words", HEAD_WORDS, "head"))
    for name, words, reads in kinds:
        texts = [[first_words(document.text, words) for document in part] for part in parts]
        started = time.perf_counter()
        learned.append(fit_linear(texts[0], table, task.several))
        on_validation, on_test = (np.stack([learned[-1].probabilities(text) for text in part]) for part in texts[1:])
        seconds = time.perf_counter() - started
        decisions = Decisions(thresholds=task.fit_thresholds(on_validation, gold[1], settings.thresholds))
        validated = task.measure_probabilities(gold[1], on_validation, labels, decisions, resamples=0)[task.chosen_by]
        measured = task.measure_probabilities(gold[2], on_test, labels, decisions, resamples=RESAMPLES)
        answers = task.given(on_test, decisions)
        entries.append(Entry(name, reads, _number(validated), measured, answers, 0, seconds))
    return entries, learned[0]


def of_spans(parts: Parts, labels: tuple[str, ...], task: Spans, overlapping: bool) -> list[Entry]:
    """A linear tagger over words, on whole texts."""
    started = time.perf_counter()
    tagger = WordTagger(parts[0], labels, overlapping)
    validated, found = ([tagger.predict(document) for document in part] for part in parts[1:])
    seconds = time.perf_counter() - started
    results: list[DocumentResult] = list(found)
    main = task.metrics(parts[1], validated, labels, Decisions(), resamples=0)[task.chosen_by]
    measured = task.metrics(parts[2], results, labels, Decisions(), resamples=RESAMPLES)
    answers = task.compared(parts[2], results, labels)
    return [Entry("words, linear tagger", "all", _number(main), measured, answers, 0, seconds)]


def _number(value: float | None) -> float:
    """NaN where a measure is undefined."""
    return math.nan if value is None else float(value)
