"""The yardstick: words and word pairs, weighted by rarity, and a linear classifier. Seconds on a laptop.

A model that does not beat it has not earned its electricity; and where the first words do as well as the whole text,
reading all of a document does not help.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from longdoc.errors import DataError
from longdoc.training.metrics import document_metrics
from longdoc.types import Document

__all__ = ["HEAD_WORDS", "tfidf_baseline"]

HEAD_WORDS = 510
"""About what one chunk of 512 tokens shows at most."""


def tfidf_baseline(
    train: Sequence[Document], test: Sequence[Document], head_words: int | None = None, **options: Any
) -> dict[str, Any]:
    """Train on `train`, measure on `test`.

    Args:
        train, test: documents that all have `label` (single-label), or all have `labels` (multi-label).
        head_words: read only so many words of each document; None = the whole text.
        options: of `document_metrics`.

    Returns:
        The metrics of `document_metrics` over the sorted labels of both parts.

    Raises:
        DataError: documents without labels, or a single-label task with fewer than two labels in `train`.
    """
    task: Literal["single_label", "multi_label"] = "single_label"
    if all(document.labels is not None for document in [*train, *test]):
        task = "multi_label"
    elif any(document.label is None for document in [*train, *test]):
        raise DataError("the baseline needs documents that all have `label` or all have `labels`, but some have none.")
    given = [[_labels_of(document, task) for document in part] for part in (train, test)]
    labels = sorted({label for part in given for row in part for label in row})
    gold_train, gold_test = (np.array([[label in row for label in labels] for row in part]) for part in given)
    present = int(gold_train.any(axis=0).sum())
    if task == "single_label" and present < 2:
        raise DataError(f"the baseline needs at least 2 labels in the training part, but finds {present}.")

    vectorizer = TfidfVectorizer(ngram_range=(1, 2), min_df=min(2, len(train)), sublinear_tf=True, max_features=200_000)
    rows_train = vectorizer.fit_transform(_head(document.text, head_words) for document in train)
    rows_test = vectorizer.transform(_head(document.text, head_words) for document in test)
    classifier = LogisticRegression(C=10.0, max_iter=1000)
    scores = np.zeros(gold_test.shape)
    if task == "single_label":
        classifier.fit(rows_train, gold_train.argmax(axis=1))
        scores[:, classifier.classes_] = classifier.predict_proba(rows_test)
        return document_metrics(gold_test.argmax(axis=1), scores, labels, task, **options)
    for column, gold in enumerate(gold_train.T):
        if 0 < gold.sum() < len(gold):
            scores[:, column] = classifier.fit(rows_train, gold).predict_proba(rows_test)[:, 1]
        else:
            scores[:, column] = gold[0]  # all or none of the training documents have it
    return document_metrics(gold_test, scores, labels, task, **options)


def _labels_of(document: Document, task: str) -> tuple[str, ...]:
    return document.labels or () if task == "multi_label" else (document.label or "",)


def _head(text: str, words: int | None) -> str:
    return text if words is None else " ".join(text.split(maxsplit=words)[:words])
