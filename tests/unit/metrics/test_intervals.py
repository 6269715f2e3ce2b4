"""Bootstrap intervals: each vectorised statistic equals the metric computed on the resampled documents one by one."""

from __future__ import annotations

import numpy as np
import pytest

from longdoc.metrics import intervals
from longdoc.metrics.calibration import Calibration
from longdoc.metrics.regression import regression_metrics
from task_kit import measure

LABELS = ("a", "b", "c", "d")


def resampled(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The documents of one resample, written out."""
    return np.repeat(values, counts.astype(int), axis=0)


def draw(documents: int, resamples: int = 30) -> np.ndarray:
    return np.random.default_rng(5).multinomial(documents, np.full(documents, 1 / documents), resamples).astype(float)


def macro_f1_of_drawn(gold: np.ndarray, predicted: np.ndarray, labels: list[int], drawn: np.ndarray) -> float:
    """Label by label, document by document: what the data lack counts 0, what only this resample lacks is left out."""
    found, lacking = [], 0
    for label in labels:
        if not any(row[label] for row in gold):
            lacking += 1
            continue
        right = sum(int(n) for n, g, p in zip(drawn, gold, predicted, strict=True) if g[label] and p[label])
        support = sum(int(n) for n, g in zip(drawn, gold, strict=True) if g[label])
        answers = sum(int(n) for n, p in zip(drawn, predicted, strict=True) if p[label])
        if support:
            found.append(2 * right / (support + answers))
    return sum(found) / len(found) * (len(labels) - lacking) / len(labels)


@pytest.mark.parametrize("named", [False, True])
def test_f1_and_average_precision_of_a_resample_equal_those_of_its_documents(named):
    random = np.random.default_rng(0)
    gold = random.random((25, 4)) < [0.5, 0.3, 0.05, 0.0]
    scores = np.round(random.random((25, 4)), 1)
    predicted = scores >= 0.5
    counts = draw(25)
    averaged = np.array([0, 2, 3]) if named else np.flatnonzero(gold.any(axis=0))
    names = [LABELS[label] for label in averaged]
    f1 = intervals.bootstrap_f1(gold, predicted, averaged, counts)
    precision = intervals.bootstrap_average_precision(gold, scores, averaged, counts)
    calibration = Calibration(gold, scores, None).error(counts)
    assert any(not resampled(gold, drawn)[:, 2].any() for drawn in counts), "some resample lacks a label of the data"

    for row, drawn in enumerate(counts):
        expected = measure(
            resampled(gold, drawn),
            resampled(scores, drawn),
            LABELS,
            "multi_label",
            average_over=names if named else None,
            resamples=0,
        )
        assert f1["macro_f1"][row] == pytest.approx(macro_f1_of_drawn(gold, predicted, list(averaged), drawn))
        assert f1["macro_f1_all_labels"][row] == pytest.approx(macro_f1_of_drawn(gold, predicted, [0, 1, 2, 3], drawn))
        assert f1["micro_f1"][row] == pytest.approx(expected["micro_f1"])
        if not named:
            assert f1["macro_f1"][row] == pytest.approx(expected["macro_f1"])
        assert precision[row] == pytest.approx(expected["macro_average_precision"])
        assert calibration[row] == pytest.approx(expected["expected_calibration_error"])


@pytest.mark.parametrize("average_over", [None, ["w", "x", "y", "z"]])
def test_no_interval_measures_how_likely_a_label_is_drawn(average_over):
    """Twelve documents, all right: 1.000 [0.750, 1.000], since a resample without a label counted it as 0."""
    gold = np.arange(12) % 4
    for labels, all_labels in ((list("wxyz"), 1.0), (list("wxyzuv"), 4 / 6)):
        scores = np.eye(len(labels))[gold]
        metrics = measure(gold, scores, labels, "single_label", average_over=average_over)
        assert (metrics["macro_f1"], metrics["macro_f1_all_labels"]) == (1.0, pytest.approx(all_labels))
        assert metrics["intervals"]["macro_f1"] is None
        assert metrics["intervals"]["macro_f1_all_labels"] is None


def test_the_macro_interval_over_all_labels_holds_its_value_and_is_that_of_the_labels_that_occur():
    random = np.random.default_rng(4)
    gold = np.repeat([0, 1, 2], [20, 15, 2])
    scores = random.dirichlet(np.ones(4), 37)
    metrics = measure(gold, scores, LABELS, "single_label")
    of_these, of_all = metrics["intervals"]["macro_f1"], metrics["intervals"]["macro_f1_all_labels"]
    assert of_all == pytest.approx([0.75 * end for end in of_these])
    assert metrics["macro_f1_all_labels"] == pytest.approx(0.75 * metrics["macro_f1"])
    assert of_all[0] < metrics["macro_f1_all_labels"] < of_all[1]


def test_regression_of_a_resample_equals_that_of_its_documents():
    random = np.random.default_rng(1)
    gold = 1e6 + random.normal(size=20)
    predicted = gold + random.normal(size=20)
    counts = draw(20)
    found = intervals.bootstrap_regression(gold, predicted, counts)

    for row, drawn in enumerate(counts):
        expected = regression_metrics(resampled(gold, drawn), resampled(predicted, drawn), resamples=0)
        for name in ("mae", "rmse", "r2", "pearson"):
            assert found[name][row] == pytest.approx(expected[name], rel=1e-6)


def test_a_seed_draws_the_same_intervals_and_another_one_others():
    random = np.random.default_rng(2)
    gold, scores = random.integers(0, 4, 50), random.dirichlet(np.ones(4), 50)
    first, again, other = (measure(gold, scores, LABELS, "single_label", seed=seed)["intervals"] for seed in (0, 0, 1))

    assert first == again
    assert first != other


def test_blocks_of_resamples_change_nothing(monkeypatch):
    random = np.random.default_rng(3)
    gold, scores = random.integers(0, 4, 50), random.dirichlet(np.ones(4), 50)
    whole = measure(gold, scores, LABELS, "single_label")["intervals"]
    monkeypatch.setattr(intervals, "_BLOCK", 50 * 7)
    in_blocks = measure(gold, scores, LABELS, "single_label")["intervals"]

    assert {name: pytest.approx(ends) for name, ends in whole.items()} == in_blocks


def test_the_interval_of_an_accuracy_is_that_of_a_binomial():
    gold = np.zeros(400, dtype=int)
    predicted = np.arange(400) % 4 == 0  # a quarter wrong
    scores = np.stack([1.0 - predicted, predicted], axis=1)
    low, high = measure(gold, scores, ["x", "y"], "single_label", resamples=4000)["intervals"]["accuracy"]
    spread = 1.96 * np.sqrt(0.75 * 0.25 / 400)

    assert low == pytest.approx(0.75 - spread, abs=0.005)
    assert high == pytest.approx(0.75 + spread, abs=0.005)


def test_the_f1_of_each_label_is_that_of_the_documents_drawn():
    """Against a loop over resamples, labels and documents."""
    random = np.random.default_rng(5)
    gold, predicted = random.random((2, 9, 3)) < 0.4
    gold[:, 2] = predicted[:, 2] = False
    counts = random.integers(1, 3, (4, 9)).astype(float)
    found = intervals.bootstrap_label_f1(gold, predicted, counts)
    for resample, drawn in enumerate(counts):
        for label in range(2):
            right = sum(n for n, g, p in zip(drawn, gold[:, label], predicted[:, label], strict=True) if g and p)
            both = sum(
                n * (int(g) + int(p)) for n, g, p in zip(drawn, gold[:, label], predicted[:, label], strict=True)
            )
            assert found[str(label)][resample] == pytest.approx(2 * right / both)
    assert np.isnan(found["2"]).all()


def test_there_is_no_interval_where_it_would_state_certainty():
    """All right on one document was 1.000 to 1.000, as on ten thousand."""
    for documents in (1, 9, 40):
        gold = np.zeros(documents, dtype=int)
        scores = np.tile([0.9, 0.1], (documents, 1))
        metrics = measure(gold, scores, ["x", "y"], "single_label", resamples=50)
        assert (metrics["accuracy"], metrics["intervals"]["accuracy"]) == (1.0, None)
        assert metrics["intervals"]["macro_f1"] is None
        assert metrics["per_label"][0]["f1_interval"] is None
    assert metrics["choices"]["intervals"] == (
        "95% percentile bootstrap over documents, 50 resamples, seed 0; none where fewer than 10 documents stand "
        "behind a measure or all resamples give the same value"
    )


def test_a_label_has_an_interval_from_ten_documents_on():
    gold = np.array([0] * 9 + [1] * 31)
    scores = np.tile([0.2, 0.8], (40, 1))
    scores[:5] = [0.8, 0.2]
    few, many = measure(gold, scores, ["x", "y"], "single_label", resamples=50)["per_label"]
    assert few["f1_interval"] is None
    assert many["f1_interval"][0] < many["f1"] < many["f1_interval"][1]
    scores[39] = [0.8, 0.2]
    few, _ = measure(gold, scores, ["x", "y"], "single_label", resamples=50)["per_label"]
    assert few["f1_interval"] is not None, "a document that is given it is one more behind its F1"


def test_rounding_is_no_variation():
    found = intervals.bootstrap_intervals(
        lambda counts: {"third": 1 / 3 + 1e-15 * counts[:, 0], "first": counts[:, 0]}, 20, 50, 0, 0.95
    )
    assert found["third"] is None
    assert found["first"] is not None


def test_a_difference_that_is_rounding_is_none():
    found = intervals.without_rounding(np.array([1e-15, -1e-15, 1e-6, np.nan, -2e-9]), np.array([1, 1, 1, 1, 1e4]))
    assert found.tolist() == pytest.approx([0.0, 0.0, 1e-6, np.nan, 0.0], abs=0, nan_ok=True)
    assert not np.signbit(found[1]), "-0.0 reads as less than nothing"
