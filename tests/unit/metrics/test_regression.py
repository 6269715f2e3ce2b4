"""Metrics of predicted numbers."""

from __future__ import annotations

import numpy as np
import pytest

from longdoc.errors import UsageError
from longdoc.metrics.regression import regression_metrics
from longdoc.tasks.regression import Regression


def test_values_of_a_hand_made_case():
    metrics = regression_metrics([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 4.0, 3.0], resamples=0)

    assert metrics["mae"] == pytest.approx(0.5)
    assert metrics["rmse"] == pytest.approx(np.sqrt(0.5))
    assert metrics["r2"] == pytest.approx(1 - 2 / 5)
    assert metrics["pearson"] == pytest.approx(0.8)
    assert metrics["intervals"] == {}


def test_a_constant_target_has_no_r2_and_no_interval_of_it():
    metrics = regression_metrics([0.1, 0.1, 0.1], [0.1, 0.2, 0.3])

    assert metrics["r2"] is None
    assert metrics["pearson"] is None
    assert metrics["mae"] == pytest.approx(0.1)
    assert metrics["intervals"] == {"mae": None, "rmse": None}, "three documents are too few"
    assert regression_metrics([0.1] * 10, np.arange(10) / 10)["intervals"]["mae"] is not None
    unanswered = [*np.arange(9) / 10, *[np.nan] * 5]
    assert regression_metrics([0.1] * 14, unanswered)["intervals"]["mae"] is None, "nine of fourteen are measured"


def test_numbers_that_differ_by_rounding_do_not_vary():
    """Their correlation was one of rounding errors, with an interval."""
    wobbling = 0.3 + 1e-16 * np.arange(20) * 2
    assert np.ptp(wobbling) > 0
    constant = regression_metrics(np.arange(20.0), wobbling)
    assert constant["pearson"] is None
    assert "pearson" not in constant["intervals"]
    assert regression_metrics(wobbling, np.arange(20.0))["r2"] is None


def test_a_correlation_that_is_none_is_zero():
    gold, predicted = np.tile([0.1, 0.1, 0.7, 0.7], 5), np.tile([0.2, 0.5, 0.2, 0.5], 5)
    metrics = regression_metrics(gold, predicted, resamples=0)
    assert metrics["pearson"] == 0.0
    assert str(metrics["pearson"]) == "0.0", "not -0.0, which reads as less than nothing"
    mean = regression_metrics(gold, np.full(20, gold.mean()), resamples=0)
    assert str(mean["r2"]) == "0.0"


def test_an_answer_that_is_not_finite_is_left_out_and_counted():
    metrics = Regression().measure(np.array([1.0, 2.0, 3.0]), np.array([[1.0], [np.nan], [2.0]]), ["size"])

    assert metrics["unanswered"] == 1
    assert metrics["mae"] == pytest.approx(0.5)


def test_a_missing_target_is_refused():
    with pytest.raises(UsageError) as refusal:
        regression_metrics([1.0, np.nan], [1.0, 1.0])

    assert str(refusal.value) == (
        "`gold` must hold finite numbers only, but does not. Remove the documents without a target."
    )
