"""The TF-IDF yardstick reads what it says it reads, in both tasks, and refuses what it cannot learn."""

from __future__ import annotations

import pytest

from longdoc.errors import DataError
from longdoc.study.baseline import tfidf_baseline
from longdoc.types import Document

FILLER = "word " * 20


def documents(texts_and_labels, field="label"):
    return [
        Document(id=str(number), text=text, **{field: label}) for number, (text, label) in enumerate(texts_and_labels)
    ]


def late_signal(count: int):
    """Documents whose 21st word alone gives the label away."""
    return documents([(FILLER + ("alpha" if n % 2 else "omega"), "a" if n % 2 else "o") for n in range(count)])


def test_the_whole_text_is_read_unless_a_head_is_asked_for():
    whole = tfidf_baseline(late_signal(20), late_signal(10), resamples=0)
    head = tfidf_baseline(late_signal(20), late_signal(10), head_words=20, resamples=0)

    assert whole["accuracy"] == 1.0
    assert head["accuracy"] == 0.5
    assert head["documents"] == 10


def test_several_labels_a_document():
    train = documents([("red blue", ("r", "b")), ("red", ("r",)), ("blue", ("b",)), ("grey", ())] * 5, field="labels")
    test = documents([("red", ("r",)), ("blue red", ("b", "r")), ("grey", ())], field="labels")
    metrics = tfidf_baseline(train, test, resamples=0)

    assert metrics["task"] == "multi_label"
    assert metrics["sample_f1"] == 1.0


def test_a_label_that_all_documents_have_is_given_to_all():
    train = documents([("red", ("x", "r")), ("blue", ("x",))] * 5, field="labels")
    metrics = tfidf_baseline(train, documents([("blue", ("x",))], field="labels"), resamples=0)

    assert metrics["subset_accuracy"] == 1.0


def test_a_label_that_only_the_test_part_has_counts_as_missed():
    train = documents([("red", "r"), ("blue", "b")] * 5)
    metrics = tfidf_baseline(train, documents([("red", "r"), ("green", "g")]), resamples=0)

    assert metrics["accuracy"] == 0.5
    assert [row["label"] for row in metrics["per_label"]] == ["b", "g", "r"]


def test_documents_without_labels_are_refused():
    with pytest.raises(DataError) as refusal:
        tfidf_baseline(documents([("red", "r"), ("blue", None)]), late_signal(2))

    assert str(refusal.value) == (
        "the baseline needs documents that all have `label` or all have `labels`, but some have none."
    )


def test_one_label_is_nothing_to_learn():
    with pytest.raises(DataError) as refusal:
        tfidf_baseline(documents([("red", "r")] * 4), documents([("red", "r")]))

    assert str(refusal.value) == "the baseline needs at least 2 labels in the training part, but finds 1."
