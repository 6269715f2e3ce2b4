"""The yardstick: words and word pairs, weighted by rarity, and a linear classifier. Seconds on a laptop.

A model that does not beat it has not earned its electricity; and where the first words do as well as the whole text,
reading all of a document does not help.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from longdoc.errors import DataError
from longdoc.linear import LinearClassifier, digests_of
from longdoc.tasks.label_task import LabelTask
from longdoc.tasks.multi_label import MultiLabel
from longdoc.tasks.single_label import SingleLabel
from longdoc.types import Document

__all__ = ["HEAD_WORDS", "first_words", "fit_linear", "tfidf_baseline"]

HEAD_WORDS = 510
"""About what one chunk of 512 tokens shows at most."""


def tfidf_baseline(
    train: Sequence[Document], test: Sequence[Document], head_words: int | None = None, **options: Any
) -> dict[str, Any]:
    """Train on `train`, measure on `test`.

    Args:
        train, test: documents that all have `label` (single-label), or all have `labels` (multi-label).
        head_words: read only so many words of each document; None = the whole text.
        options: `average_over`, `resamples`, `seed`, `confidence`.

    Returns:
        The metrics of the task over the sorted labels of both parts.

    Raises:
        DataError: documents without labels, or a single-label task with fewer than two labels in `train`.
    """
    task: LabelTask = SingleLabel()
    if all(document.labels is not None for document in [*train, *test]):
        task = MultiLabel()
    elif any(document.label is None for document in [*train, *test]):
        raise DataError("the baseline needs documents that all have `label` or all have `labels`, but some have none.")
    given = [[task.gold_labels(document) for document in part] for part in (train, test)]
    labels = sorted({label for part in given for row in part for label in row})
    gold_train, gold_test = (np.array([[label in row for label in labels] for row in part]) for part in given)
    present = int(gold_train.any(axis=0).sum())
    if not task.several and present < 2:
        raise DataError(f"the baseline needs at least 2 labels in the training part, but finds {present}.")

    texts = [[first_words(document.text, head_words) for document in part] for part in (train, test)]
    linear = fit_linear(texts[0], gold_train, task.several)
    scores = np.stack([linear.probabilities(text) for text in texts[1]])
    gold = gold_test if task.several else gold_test.argmax(axis=1)
    return task.measure_probabilities(gold, scores, labels, **options)


def fit_linear(texts: Sequence[str], gold: NDArray[np.bool_], several: bool) -> LinearClassifier:
    """A logistic regression on words and word pairs that stand in two documents at least, 200,000 at most.

    Args:
        texts: of the training documents.
        gold: bool (texts, C), which labels they have; exactly one each unless `several`.
        several: whether a text has any number of labels, not exactly one.
    """
    vectorizer = TfidfVectorizer(ngram_range=(1, 2), min_df=min(2, len(texts)), sublinear_tf=True, max_features=200_000)
    rows = vectorizer.fit_transform(texts)
    count = gold.shape[1]
    weights, bias = np.zeros((count, rows.shape[1])), np.zeros(count)
    always = np.asarray(gold.all(axis=0))
    learned = np.asarray(gold.any(axis=0) & ~always)
    classifier = LogisticRegression(C=10.0, max_iter=1000)
    if several:
        for column in np.flatnonzero(learned):
            classifier.fit(rows, gold[:, column])
            weights[column], bias[column] = classifier.coef_[0], classifier.intercept_[0]
    elif learned.any():
        classifier.fit(rows, gold.argmax(axis=1))
        known, factors = classifier.classes_, classifier.coef_
        one = len(factors) == 1  # two labels: one row says how much the second is ahead
        weights[known] = np.concatenate([-factors, factors]) / 2 if one else factors
        bias[known] = classifier.intercept_ * [-0.5, 0.5] if one else classifier.intercept_
    digests = digests_of(vectorizer.get_feature_names_out().tolist())
    order = np.argsort(digests, kind="stable")
    return LinearClassifier(
        digests[order],
        vectorizer.idf_[order].astype(np.float32),
        weights[:, order].astype(np.float32),
        bias.astype(np.float32),
        learned,
        always,
        np.array([several]),
    )


def first_words(text: str, words: int | None) -> str:
    """The beginning of a text; None = all of it."""
    return text if words is None else " ".join(text.split(maxsplit=words)[:words])
