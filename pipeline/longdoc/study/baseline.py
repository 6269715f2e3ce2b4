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
from longdoc.tasks.label_task import LabelTask
from longdoc.tasks.multi_label import MultiLabel
from longdoc.tasks.single_label import SingleLabel
from longdoc.types import Document

__all__ = ["HEAD_WORDS", "tfidf_baseline", "tfidf_scores"]

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

    scores = tfidf_scores(
        [document.text for document in train],
        gold_train,
        [document.text for document in test],
        task.several,
        head_words,
    )
    gold = gold_test if task.several else gold_test.argmax(axis=1)
    return task.measure_probabilities(gold, scores, labels, **options)


def tfidf_scores(
    train: Sequence[str], gold: NDArray[np.bool_], test: Sequence[str], several: bool, head_words: int | None = None
) -> NDArray[np.float64]:
    """Probabilities of a linear classifier over words and word pairs.

    Args:
        train, test: texts.
        gold: bool (training texts, C), which labels they have; exactly one each unless `several`.
        several: whether a text has any number of labels, not exactly one.
        head_words: read only so many words of each text; None = all.

    Returns:
        (test texts, C); labels that no training text has get 0, those that all have get 1.
    """
    vectorizer = TfidfVectorizer(ngram_range=(1, 2), min_df=min(2, len(train)), sublinear_tf=True, max_features=200_000)
    rows_train = vectorizer.fit_transform(_head(text, head_words) for text in train)
    rows_test = vectorizer.transform(_head(text, head_words) for text in test)
    classifier = LogisticRegression(C=10.0, max_iter=1000)
    scores = np.zeros((len(test), gold.shape[1]))
    if not several:
        classifier.fit(rows_train, gold.argmax(axis=1))
        scores[:, classifier.classes_] = classifier.predict_proba(rows_test)
        return scores
    for column, given in enumerate(gold.T):
        if 0 < given.sum() < len(given):
            scores[:, column] = classifier.fit(rows_train, given).predict_proba(rows_test)[:, 1]
        else:
            scores[:, column] = given[0]  # all or none of the training documents have it
    return scores


def _head(text: str, words: int | None) -> str:
    return text if words is None else " ".join(text.split(maxsplit=words)[:words])
