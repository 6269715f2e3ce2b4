"""Metrics of answers against the formulas of SQuAD written out, and where those have no answer, by hand."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longdoc.metrics.answers import answer_f1, answer_metrics, best_threshold, exact_match, normalised_words
from reference.answers import squad_best, squad_normalised

words = st.sampled_from(["the", "a", "An", "cat", "Cat,", "sat", "9.5", "-", "mat.", "anthem", "(the)", "U.S."])
texts = st.lists(words, max_size=5).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(right=st.lists(texts, max_size=3), answer=texts)
def test_exact_match_and_f1_are_those_of_squad(right: list[str], answer: str) -> None:
    exact, f1 = squad_best(right, answer)
    assert exact_match(answer, right) == exact
    assert answer_f1(answer, right) == pytest.approx(f1)
    assert " ".join(normalised_words(answer)) == squad_normalised(answer)


@pytest.mark.parametrize(
    ("answer", "right", "language", "f1"),
    [
        ("a cat", "the Cat!", "en", 1.0),
        ("a cat", "the cat", "en-GB", 1.0),
        ("a Katze", "die Katze", "de", 0.5),
        ("«Die Katze»", "die Katze.", "de", 1.0),
        ("“cat”", "cat", "en", 0.0),  # as the script of SQuAD has it: only ASCII's punctuation goes
        ("北京市", "北京", None, 0.8),
        ("東京 タワー", "東京タワー", "ja", 1.0),
        ("กขค", "กข", "th", 0.8),
    ],
)
def test_languages(answer: str, right: str, language: str | None, f1: float) -> None:
    assert answer_f1(answer, [right], language) == pytest.approx(f1)
    assert exact_match(answer, [right], language) == (f1 == 1.0)


def test_parts_and_intervals() -> None:
    right = [["the cat"], ["red", "a dark red"], [], [], ["gone"]]
    given_answers = ["cat", "dark", None, "something", "gone"]
    found = answer_metrics(right, given_answers, unanswered=[False, False, False, False, True], resamples=200)
    assert (found["documents"], found["with_answer"]) == (5, 3)
    assert found["exact_match"] == pytest.approx(2 / 5)
    assert found["f1"] == pytest.approx((1 + 2 / 3 + 1 + 0 + 0) / 5)
    assert found["has_answer_f1"] == pytest.approx((1 + 2 / 3 + 0) / 3)
    assert found["has_answer_exact_match"] == pytest.approx(1 / 3)
    assert found["no_answer_accuracy"] == pytest.approx(1 / 2)
    assert set(found["intervals"]) == {
        "exact_match", "f1", "has_answer_exact_match", "has_answer_f1", "no_answer_accuracy",
    }  # fmt: skip
    assert set(found["intervals"].values()) == {None}, "too few documents"
    found = answer_metrics(right * 4, given_answers * 4, unanswered=[*[False] * 4, True] * 4, resamples=200)
    low, high = found["intervals"]["f1"]
    assert low < found["f1"] < high
    assert found["intervals"]["has_answer_f1"] is not None
    assert found["intervals"]["no_answer_accuracy"] is None, "8 documents have no answer"


def test_a_document_that_could_not_be_read_is_wrong_where_silence_would_be_right() -> None:
    found = answer_metrics([[]], [None], unanswered=[True], resamples=0)
    assert (found["exact_match"], found["no_answer_accuracy"], found["has_answer_f1"]) == (0.0, 0.0, None)
    assert found["intervals"] == {}


def slow_threshold(margins: list[float], found: list[float], silent: list[float], at: float) -> float:
    return sum(f if margin <= at else s for margin, f, s in zip(margins, found, silent, strict=True))


@settings(max_examples=50, deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.integers(-3, 3), st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([0.0, 1.0])), min_size=1,
        max_size=7,
    )
)  # fmt: skip
def test_no_other_threshold_is_better(rows: list[tuple[int, float, float]]) -> None:
    margins, found, silent = (list(map(float, column)) for column in zip(*rows, strict=True))
    chosen = best_threshold(margins, found, silent)
    value = slow_threshold(margins, found, silent, chosen)
    assert value == pytest.approx(max(slow_threshold(margins, found, silent, at / 2) for at in range(-10, 11)))
    if value == pytest.approx(slow_threshold(margins, found, silent, 0.0)):
        assert chosen == 0.0
