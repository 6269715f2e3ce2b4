"""Tables and pictures of an evaluation: they show the numbers they are given, and label names stay inert."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

from longdoc.report import evaluation
from longdoc.report.evaluation import evaluation_plots, metrics_table
from longdoc.tasks.regression import Regression
from task_kit import measure

HOSTILE = '"><script>alert(1)</script>'
LABELS = ("lease", HOSTILE, "never")


@pytest.fixture(scope="module")
def metrics():
    scores = np.array([[0.8, 0.1, 0.1], [0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [np.nan] * 3])
    return measure([0, 1, 1, 0], scores, LABELS, "single_label", resamples=200)


def test_the_table_shows_measures_intervals_labels_and_choices(metrics):
    lines = metrics_table(metrics).splitlines()

    assert lines[0] == "4 documents, 1 without an answer"
    assert f"  macro_f1                     {metrics['macro_f1']:.3f}  [too few]" in lines
    given = metrics | {"intervals": {"macro_f1": [0.25, 0.75]}}
    expected = f"  macro_f1                     {metrics['macro_f1']:.3f}  [0.250, 0.750]"
    assert expected in metrics_table(given).splitlines()
    assert next(line for line in lines if line.startswith("  lease")).split() == [
        "lease",
        "2",
        "0.500",
        "0.500",
        "0.500",
        "1.000",
    ]
    assert next(line for line in lines if line.startswith("  never")).split() == ["never", "0", "-", "-", "-", "-"]
    assert "macro: mean over 2 of the model's 3 labels: those that occur in the gold data" in lines


def test_an_undefined_measure_is_a_dash():
    table = metrics_table(Regression().measure(np.array([1.0, 1.0]), np.array([[1.0], [2.0]]), ["size"]))

    assert "  r2                               -" in table.splitlines()
    assert "  mae                          0.500  [too few]" in table.splitlines()


def test_pictures_are_whole_and_hold_the_numbers(metrics):
    plots = evaluation_plots(metrics)

    assert sorted(plots) == ["calibration.svg", "confusion.svg", "labels.svg"]
    texts = {}
    for name, picture in plots.items():
        root = ElementTree.fromstring(picture)
        tags = {element.tag.rpartition("}")[2] for element in root.iter()}
        assert tags <= {"svg", "rect", "text", "title", "circle", "path"}
        texts[name] = [element.text or "" for element in root.iter() if element.tag.endswith(("text", "title"))]
    assert HOSTILE in texts["labels.svg"]
    assert "0.500, 2 documents" in texts["labels.svg"]
    assert "no answer" in texts["confusion.svg"]
    dots = [text for text in texts["calibration.svg"] if "pair" in text]
    assert "1 pair: confidence 0.600, accuracy 0.000" in dots
    assert len(dots) == len(metrics["calibration"])


@pytest.mark.parametrize("odd", ["a\u0000b", "a\u0007b", "a\ufffeb", "a\ud800b", "a\x1bb"])
def test_what_cannot_stand_in_xml_is_replaced(odd):
    """A control character in a label made files that no viewer opens."""
    scores = np.array([[0.8, 0.2], [0.3, 0.7]])
    plots = evaluation_plots(measure([0, 1], scores, (odd, "tab\tand \u00e9"), "single_label", resamples=0))
    for name in ("labels.svg", "confusion.svg"):
        root = ElementTree.fromstring(plots[name].encode("utf-8"))
        texts = [element.text for element in root.iter() if element.tag.endswith("text")]
        assert "a\ufffdb" in texts
        assert "tab\tand \u00e9" in texts


def test_a_regression_has_no_pictures():
    assert evaluation_plots(Regression().measure(np.array([1.0, 2.0]), np.array([[1.0], [2.0]]), ["size"])) == {}


def test_the_table_says_how_many_answers_were_held_back(metrics):
    held = metrics | {"abstention": {"coverage_promised": 0.9, "answered": 0.25, "accuracy_answered": None}}
    lines = metrics_table(held).splitlines()
    assert "    coverage_promised          0.900" in lines
    assert "    answered                   0.250" in lines
    assert "    accuracy_answered              -" in lines
    assert not [line for line in metrics_table(metrics).splitlines() if "abstention" in line]


@pytest.mark.parametrize(
    ("value", "said"), [(None, "-"), (-0.0001, "0.000"), (0.0, "0.000"), (-0.0006, "-0.001"), (0.12345, "0.123")]
)
def test_no_number_is_minus_nothing(value: float | None, said: str) -> None:
    assert evaluation._number(value) == said
