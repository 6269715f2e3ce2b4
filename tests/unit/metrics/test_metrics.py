"""Metrics against hand-made values, against scikit-learn, and their choices about labels without support."""

from __future__ import annotations

import json

import numpy as np
import pytest
import sklearn.metrics as reference
from hypothesis import given, settings
from hypothesis import strategies as st

from longdoc.errors import UsageError
from longdoc.metrics.calibration import expected_calibration_error
from longdoc.metrics.classification import classification_metrics
from task_kit import measure

ABCD = ("a", "b", "c", "d")


def single(gold: str, predicted: str, labels: tuple[str, ...] = ABCD, **options):
    """Metrics of labels written as strings, with certain scores."""
    columns = np.array([labels.index(label) for label in predicted])
    right = [labels.index(label) for label in gold]
    return classification_metrics(right, columns, np.eye(len(labels))[columns], labels, False, **options)


class TestLabelsThatDoNotOccur:
    """Field case B095: gold a a b b b, predicted a a b b c, and a model that also knows d."""

    @pytest.mark.parametrize(("average_over", "right"), [(ABCD, 0.45), (None, 0.90), (("a", "b", "c"), 0.60)])
    def test_macro_f1_is_right_for_every_choice_of_labels(self, average_over, right):
        metrics = single("aabbb", "aabbc", average_over=average_over, resamples=0)

        assert metrics["macro_f1"] == pytest.approx(right)
        assert metrics["macro_f1_all_labels"] == pytest.approx(0.45)

    def test_the_result_states_the_choice(self):
        metrics = single("aabbb", "aabbc")

        assert metrics["labels"] == 4
        assert metrics["labels_without_support"] == 2
        assert metrics["choices"]["macro"] == "mean over 2 of the model's 4 labels: those that occur in the gold data"
        named = single("aabbb", "aabbc", average_over=ABCD)["choices"]["macro"]
        assert named == "mean over 4 of the model's 4 labels: those that the caller named"

    def test_two_halves_are_averaged_over_one_set_when_it_is_named(self):
        first = single("aa", "aa", average_over=("a", "b"), resamples=0)
        second = single("bbb", "bbc", average_over=("a", "b"), resamples=0)

        assert first["macro_f1"] == pytest.approx(0.5)
        assert second["macro_f1"] == pytest.approx(0.4)

    def test_a_label_of_another_model_is_refused(self):
        with pytest.raises(UsageError) as refusal:
            single("ab", "ab", average_over=("a", "z"))

        assert str(refusal.value) == "`average_over` must name labels of the model only, but names 'z' too."


class TestDocumentsWithoutLabels:
    """Field case B096: gold 100 000 010, predicted 100 000 110; the third label never occurs."""

    gold = np.array([[1, 0, 0], [0, 0, 0], [0, 1, 0]])
    predicted = np.array([[1, 0, 0], [0, 0, 0], [1, 1, 0]])

    def metrics(self, **options):
        scores = 0.1 + 0.8 * self.predicted
        return classification_metrics(self.gold, self.predicted, scores, "abc", True, **options)

    def test_values_are_right_for_the_stated_choices(self):
        metrics = self.metrics()

        assert metrics["micro_f1"] == pytest.approx(0.8)
        assert metrics["sample_f1"] == pytest.approx(8 / 9)  # an empty document rightly left empty counts 1
        assert metrics["macro_f1"] == pytest.approx(5 / 6)  # over the two labels that occur
        assert metrics["macro_f1_all_labels"] == pytest.approx(5 / 9)
        assert metrics["subset_accuracy"] == pytest.approx(2 / 3)
        assert "counts 1 in sample_f1" in metrics["choices"]["empty_documents"]

    def test_a_label_that_never_occurs_has_no_invented_values(self):
        row = self.metrics()["per_label"][2]

        assert row == {
            "label": "c",
            "support": 0,
            "predicted": 0,
            "precision": None,
            "recall": None,
            "f1": None,
            "average_precision": None,
            "f1_interval": None,
        }


class TestDocumentsWithoutAnswer:
    def test_they_are_wrong_answers_and_are_counted(self):
        scores = np.array([[0.9, 0.1], [np.nan, np.nan], [0.2, 0.8]])
        metrics = measure([0, 0, 1], scores, ["x", "y"], "single_label", resamples=0)

        assert metrics["documents"] == 3
        assert metrics["unanswered"] == 1
        assert metrics["accuracy"] == pytest.approx(2 / 3)
        assert metrics["log_loss"] == pytest.approx(-(np.log(0.9) + np.log(0.8)) / 2)
        assert metrics["confusion"] == {
            "gold": ["x", "y"],
            "predicted": ["x", "y", "no answer"],
            "matrix": [[1, 0, 1], [0, 1, 0]],
        }

    def test_not_one_answer_leaves_measures_of_scores_undefined(self):
        metrics = measure([[True], [False]], np.full((2, 1), np.nan), ["x"], "multi_label", resamples=20)

        assert metrics["unanswered"] == 2
        assert metrics["macro_f1"] == 0.0
        assert (
            metrics["log_loss"] is metrics["expected_calibration_error"] is metrics["macro_average_precision"] is None
        )
        assert "log_loss" not in metrics["intervals"]


def random_case(seed: int, documents: int, labels: int, task: str):
    random = np.random.default_rng(seed)
    scores = np.round(random.random((documents, labels)), 1)  # rounding makes ties
    if task == "single_label":
        scores = scores + 0.01
        return random.integers(0, labels, documents), scores / scores.sum(axis=1, keepdims=True)
    return random.random((documents, labels)) < 0.3, scores


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10_000), st.integers(1, 40), st.integers(2, 5))
def test_single_label_measures_equal_those_of_scikit_learn(seed, documents, labels):
    gold, scores = random_case(seed, documents, labels, "single_label")
    predicted = scores.argmax(axis=1)
    metrics = measure(gold, scores, [str(n) for n in range(labels)], "single_label", resamples=0)

    every, present = np.arange(labels), np.unique(gold)
    assert metrics["accuracy"] == pytest.approx(reference.accuracy_score(gold, predicted))
    f1 = {"y_true": gold, "y_pred": predicted, "zero_division": 0}
    assert metrics["macro_f1"] == pytest.approx(reference.f1_score(**f1, labels=present, average="macro"))
    assert metrics["macro_f1_all_labels"] == pytest.approx(reference.f1_score(**f1, labels=every, average="macro"))
    assert metrics["micro_f1"] == pytest.approx(reference.f1_score(**f1, labels=every, average="micro"))
    assert metrics["log_loss"] == pytest.approx(reference.log_loss(gold, scores, labels=every))
    assert metrics["confusion"]["matrix"] == reference.confusion_matrix(gold, predicted, labels=every).tolist()


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10_000), st.integers(1, 40), st.integers(2, 5))
def test_multi_label_measures_equal_those_of_scikit_learn(seed, documents, labels):
    gold, scores = random_case(seed, documents, labels, "multi_label")
    predicted = scores >= 0.5
    metrics = measure(gold, scores, [str(n) for n in range(labels)], "multi_label", resamples=0)

    f1 = {"y_true": gold, "y_pred": predicted}
    assert metrics["macro_f1_all_labels"] == pytest.approx(reference.f1_score(**f1, average="macro", zero_division=0))
    assert metrics["sample_f1"] == pytest.approx(reference.f1_score(**f1, average="samples", zero_division=1))
    assert metrics["subset_accuracy"] == pytest.approx(reference.accuracy_score(gold, predicted))
    losses = [reference.log_loss(gold[:, n], scores[:, n], labels=[False, True]) for n in range(labels)]
    assert metrics["log_loss"] == pytest.approx(np.mean(losses))


def test_average_precision_counts_equal_scores_together():
    metrics = measure([1, 0], [[0.5, 0.5], [0.5, 0.5]], ["x", "y"], "single_label", resamples=0)

    assert [row["average_precision"] for row in metrics["per_label"]] == [0.5, 0.5]


def test_calibration_error_of_a_hand_made_table():
    # Two bins: 0.9 twice with one right: |0.9 - 0.5| * 2; 0.3 once, wrong: 0.3 * 1; over three pairs.
    assert expected_calibration_error([0.9, 0.9, 0.3], [True, False, False]) == pytest.approx((0.8 + 0.3) / 3)
    assert expected_calibration_error([1.0, 0.0], [True, False]) == 0.0


def test_the_calibration_error_has_no_interval_and_the_result_says_why():
    """A percentile interval of it need not even hold the estimate: 0.117 stood beside 0.119 to 0.278."""
    random = np.random.default_rng(0)
    scores = random.dirichlet(np.ones(3), 40)
    metrics = measure(random.integers(0, 3, 40), scores, ("a", "b", "c"), "single_label", resamples=50)
    assert metrics["expected_calibration_error"] > 0
    assert "expected_calibration_error" not in metrics["intervals"]
    assert "accuracy" in metrics["intervals"]
    assert metrics["choices"]["calibration_interval"].startswith("none: ")
    for name, (low, high) in metrics["intervals"].items():
        assert low <= metrics[name] <= high, name


def test_calibration_error_and_table_of_a_classification_agree():
    gold, scores = random_case(3, 200, 4, "single_label")
    metrics = measure(gold, scores, list(ABCD), "single_label", resamples=0)
    best = scores.max(axis=1)
    bins = metrics["calibration"]

    assert metrics["expected_calibration_error"] == pytest.approx(
        expected_calibration_error(best, scores.argmax(axis=1) == gold)
    )
    assert sum(row["pairs"] for row in bins) == 200
    assert sum(row["pairs"] * abs(row["confidence"] - row["accuracy"]) for row in bins) / 200 == pytest.approx(
        metrics["expected_calibration_error"]
    )


@pytest.mark.parametrize("task", ["single_label", "multi_label"])
def test_the_result_is_plain_json_without_nan(task):
    gold, scores = random_case(1, 12, 4, task)
    metrics = measure(gold, scores, list(ABCD), task, resamples=50)

    assert json.loads(json.dumps(metrics, allow_nan=False)) == metrics


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(UsageError) as refusal:
        classification_metrics([0, 1], [0, 1], np.zeros((2, 3)), ["x", "y"], False)

    assert str(refusal.value) == (
        "`gold`, `predicted` and `scores` must be (B,), (B,) and (B, C) with B >= 1 and C = 2, "
        "but are (2,), (2,) and (2, 3) instead."
    )
    with pytest.raises(UsageError) as refusal:
        classification_metrics([0, 2], [0, 1], np.zeros((2, 2)), ["x", "y"], False)
    assert str(refusal.value) == "`gold` must be in [0, 2), but reaches from 0 to 2 instead."
