"""What vectors find among each other: by hand, by slow loops, and against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

from longdoc.errors import UsageError
from longdoc.metrics.neighbours import find_neighbours, group_numbers, neighbour_metrics

NOTHING = (np.nan, np.nan)


def by_loops(vectors: np.ndarray, groups: list[int], number: int) -> tuple[float, float, float, float] | None:
    """The four measures of one document, as they are defined."""
    alike = [n for n in range(len(groups)) if n != number and groups[n] == groups[number]]
    if not alike:
        return None

    def cosine(n: int) -> float:
        one, other = vectors[number], vectors[n]
        return float(one @ other / np.sqrt((one @ one) * (other @ other)))

    ranked = sorted((n for n in range(len(groups)) if n != number), key=lambda n: -cosine(n))
    hits = [n in alike for n in ranked]
    precisions = [sum(hits[: rank + 1]) / (rank + 1) for rank, hit in enumerate(hits) if hit]
    return (
        float(hits[0]),
        1 / (hits.index(True) + 1),
        sum(hits[:10]) / len(alike),
        sum(precisions) / len(alike),
    )


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=24), st.integers(0, 999))
def test_measures_are_those_of_slow_loops(groups: list[int], seed: int) -> None:
    vectors = np.random.default_rng(seed).normal(size=(len(groups), 5))
    found = find_neighbours(vectors, groups)
    for number in range(len(groups)):
        expected = by_loops(vectors, groups, number)
        measured = [float(values[number]) for values in found[:4]]
        assert np.isnan(measured).all() if expected is None else measured == pytest.approx(expected, abs=1e-12)


def test_where_some_ask_they_alone_do_and_find_the_others_alone() -> None:
    """Questions at 0 and 80 degrees; their texts at 30 and 60, and one for nobody at 5. What asks is never found."""
    degrees = np.deg2rad([0.0, 80.0, 30.0, 60.0, 5.0, 2.0])
    vectors, asking = np.stack([np.cos(degrees), np.sin(degrees)], axis=1), [True, True, False, False, False, True]
    found = find_neighbours(vectors, [0, 1, 0, 1, 2, 3], asking)
    assert found.nearest.tolist() == [4, 3, -1, -1, -1, 4]
    assert found.reciprocal_rank.tolist()[:2] == [0.5, 1.0]
    assert np.isnan(found.reciprocal_rank[2:]).all()
    measured = neighbour_metrics(vectors, [*"abab", "c", "d"], asking, resamples=0)
    assert (measured["alone"], measured["precision_at_1"], measured["mean_reciprocal_rank"]) == (1, 0.5, 0.75)
    assert "by_label" not in measured
    assert measured["choices"]["nearest"].startswith("by cosine, among all documents that do not ask; 2 ask; ")


def test_average_precision_is_that_of_scikit_learn() -> None:
    random = np.random.default_rng(3)
    vectors, groups = random.normal(size=(40, 6)), random.integers(0, 5, 40)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    found = find_neighbours(3.0 * vectors, groups)
    for number in range(40):
        others = np.arange(40) != number
        right = average_precision_score(groups[others] == groups[number], (unit @ unit[number])[others])
        assert found.average_precision[number] == pytest.approx(right, abs=1e-12)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(5)
    vectors, groups = random.normal(size=(30, 4)), random.integers(0, 6, 30)
    whole = find_neighbours(vectors, groups)
    monkeypatch.setattr("longdoc.metrics.neighbours._BLOCK", 61)
    for one, other in zip(whole, find_neighbours(vectors, groups), strict=True):
        np.testing.assert_array_equal(one, other)


def test_an_example_by_hand() -> None:
    """a at 0, 10 and 100 degrees, b at 25 and 90, c alone at 180; one a has no vector."""
    degrees = np.deg2rad([0.0, 10.0, 100.0, 25.0, 90.0, 180.0])
    vectors = np.vstack(
        [np.stack([np.cos(degrees), np.sin(degrees)], axis=1) * [[1], [2], [3], [4], [5], [6]], NOTHING]
    )
    measured = neighbour_metrics(vectors, ["a", "a", "a", "b", "b", "c", "a"], resamples=0)
    # Each a has three others, one of which nobody finds. Those at 0 and 10 find each other first and the one at 100
    # fourth; that one finds b, b, c, and they come fourth and fifth.
    first, second, third = (1 + 2 / 4) / 3, (1 + 2 / 4) / 3, (1 / 4 + 2 / 5) / 3
    blank, b_25, b_90 = 0.0, 1 / 3, 1 / 2
    assert (measured["documents"], measured["unanswered"], measured["alone"]) == (7, 1, 1)
    by_hand = find_neighbours(vectors, [0, 0, 0, 1, 1, 2, 0])
    assert by_hand.nearest.tolist() == [1, 0, 4, 1, 2, 2, -1]
    assert by_hand.average_precision.tolist()[:5] == pytest.approx([first, second, third, b_25, b_90])
    assert measured["mean_average_precision"] == pytest.approx((first + second + third + b_25 + b_90 + blank) / 6)
    assert measured["precision_at_1"] == pytest.approx(2 / 6)
    assert [row["label"] for row in measured["by_label"]] == ["a", "b"]
    assert [row["support"] for row in measured["by_label"]] == [4, 2]
    assert measured["by_label"][0]["precision_at_1"] == 0.5
    assert measured["intervals"] == {}
    assert measured["choices"]["alone"] == "1 whose label nobody shares: they do not ask, and others may find them"


def test_vectors_that_are_all_alike_find_nothing_by_chance() -> None:
    """Ties go to the documents of other labels: a model that says the same of all is not praised for their order."""
    found = find_neighbours(np.ones((6, 3)), [0, 0, 0, 1, 1, 2])
    assert found.precision_at_1.tolist()[:5] == [0.0] * 5
    assert found.reciprocal_rank.tolist()[:5] == pytest.approx([1 / 4, 1 / 4, 1 / 4, 1 / 5, 1 / 5])


def test_intervals_are_over_documents_that_ask() -> None:
    random = np.random.default_rng(0)
    vectors = random.normal(size=(24, 3))
    measured = neighbour_metrics(vectors, [*("ab" * 11), "c", "d"], resamples=200)
    low, high = measured["intervals"]["mean_average_precision"]
    assert low < measured["mean_average_precision"] < high
    few = neighbour_metrics(vectors[:8], [*"aabbccde"], resamples=200)
    assert set(few["intervals"].values()) == {None}


def test_nobody_shares_a_label() -> None:
    measured = neighbour_metrics(np.eye(3), ["a", "b", "c"])
    assert [measured[name] for name in ("precision_at_1", "mean_average_precision")] == [None, None]
    assert (measured["alone"], measured["by_label"], measured["intervals"]) == (3, [], {})


def test_very_many_labels_are_not_listed() -> None:
    labels = [str(number // 2) for number in range(202)]
    assert "by_label" not in neighbour_metrics(np.random.default_rng(0).normal(size=(202, 3)), labels, resamples=0)
    assert "by_label" in neighbour_metrics(np.random.default_rng(0).normal(size=(200, 3)), labels[:200], resamples=0)


def test_labels_are_told_apart_whatever_characters_they_have() -> None:
    names, numbers = group_numbers(["a\0", "a", "\ud800", "a\0"])
    assert (names, numbers.tolist()) == (["a", "a\0", "\ud800"], [1, 0, 2, 1])


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(UsageError) as caught:
        find_neighbours(np.zeros((2, 3)), [0, 1, 2])
    assert str(caught.value) == "`vectors` must be (B, D) and `groups` (B,), but are (2, 3) and (3,) instead."
