import math

import numpy as np
import pytest

from longdoc.decide import ConformalSets, Decisions
from task_kit import decide, label_task, probabilities


def test_single_label_probabilities_are_the_softmax_written_out() -> None:
    logits = [0.2, -1.0, 3.0]
    total = sum(math.exp(x) for x in logits)
    assert probabilities(np.array(logits), "single_label").tolist() == pytest.approx(
        [math.exp(x) / total for x in logits], abs=1e-15
    )


@pytest.mark.parametrize("huge", [1e3, 1e300])
def test_huge_logits_stay_probabilities(huge: float) -> None:
    assert probabilities(np.array([huge, -huge]), "single_label").tolist() == [1.0, 0.0]
    assert probabilities(np.array([huge, -huge]), "multi_label").tolist() == pytest.approx([1.0, 0.0], abs=1e-300)


def test_a_single_label_answer_names_all_labels_best_first() -> None:
    answer = decide([0.0, 2.0, 1.0], ["a", "b", "c"], "single_label")
    assert answer["label"] == "b"
    assert [item.label for item in answer["labels"]] == ["b", "c", "a"]
    assert [item.chosen for item in answer["labels"]] == [None, None, None]
    assert answer["score"] == answer["labels"][0].score
    assert sum(item.score for item in answer["labels"]) == pytest.approx(1.0, abs=1e-12)
    assert answer["logits"] == (0.0, 2.0, 1.0)
    assert type(answer["score"]) is float


def test_ties_keep_the_order_of_the_labels() -> None:
    assert [item.label for item in decide([1.0, 1.0, 1.0], ["z", "a", "m"], "single_label")["labels"]] == [
        "z",
        "a",
        "m",
    ]


def test_multi_label_chooses_what_is_at_least_half_sure() -> None:
    answer = decide([0.0, -0.1, 4.0], ["a", "b", "c"], "multi_label")
    assert [(item.label, item.chosen) for item in answer["labels"]] == [("c", True), ("a", True), ("b", False)]
    assert "label" not in answer


def test_regression_gives_the_number() -> None:
    assert decide([-2.5], ["value"], "regression") == {"logits": (-2.5,), "value": -2.5}


def test_the_temperature_softens_probabilities_and_keeps_the_order_and_the_logits() -> None:
    cold, warm = (decide([3.0, 0.0, 1.0], "abc", "single_label", Decisions(temperature=t)) for t in (1.0, 4.0))
    assert [item.label for item in warm["labels"]] == [item.label for item in cold["labels"]] == ["a", "c", "b"]
    assert warm["score"] == pytest.approx(math.exp(0.75) / (math.exp(0.75) + 1 + math.exp(0.25)), abs=1e-12)
    assert warm["logits"] == cold["logits"] == (3.0, 0.0, 1.0)
    assert probabilities(np.array([2.0]), "multi_label", 2.0).tolist() == [pytest.approx(1 / (1 + math.exp(-1.0)))]
    assert decide([2.0], ["value"], "regression", Decisions(temperature=2.0))["value"] == 2.0


def test_each_label_has_its_threshold() -> None:
    answer = decide([0.0, 0.0, 0.0], "abc", "multi_label", Decisions(thresholds=(0.5, 0.51, 0.1)))
    assert [(item.label, item.chosen) for item in answer["labels"]] == [("a", True), ("b", False), ("c", True)]
    assert answer["abstained"] is False


def conformal(*limits: float) -> Decisions:
    return Decisions(conformal=ConformalSets(coverage=0.9, limits=limits, documents=99))


def logits_of(*probability: float) -> list[float]:
    return [math.log(p) for p in probability]


def test_a_set_of_one_label_is_an_answer() -> None:
    answer = decide(logits_of(0.7, 0.2, 0.1), "abc", "single_label", conformal(0.75))
    assert (answer["label"], answer["score"]) == ("a", pytest.approx(0.7))
    assert [item.chosen for item in answer["labels"]] == [True, False, False]
    assert "abstained" not in answer


@pytest.mark.parametrize(
    ("limit", "expected"),
    [(0.85, [None, None, False]), (1.0, [None, None, None]), (0.2, [False, False, False])],
    ids=["two cannot be excluded", "nothing can be excluded", "everything is excluded"],
)
def test_any_other_set_is_no_answer(limit: float, expected: list[bool | None]) -> None:
    answer = decide(logits_of(0.7, 0.2, 0.1), "abc", "single_label", conformal(limit))
    assert answer["abstained"] is True
    assert answer.get("label") is answer.get("score") is None
    assert [item.label for item in answer["labels"]] == ["a", "b", "c"]
    assert [item.chosen for item in answer["labels"]] == expected


def test_a_label_of_many_is_undecided_where_yes_and_no_are_plausible_or_neither_is() -> None:
    scores = np.array([0.95, 0.6, 0.05, 0.6])
    limits = conformal(0.3, 0.7, 0.3, 0.3)
    chosen = label_task("multi_label").chosen(scores, limits)
    assert chosen.tolist() == [True, None, False, None]
    answer = decide([math.log(p / (1 - p)) for p in scores], "abcd", "multi_label", limits)
    assert {item.label: item.chosen for item in answer["labels"]} == {"a": True, "b": None, "c": False, "d": None}
    assert answer["abstained"] is True


def test_a_threshold_and_a_set_that_contradict_each_other_give_no_answer() -> None:
    both = Decisions(thresholds=(0.2,), conformal=ConformalSets(coverage=0.9, limits=(0.4,), documents=9))
    chosen = [label_task("multi_label").chosen(np.array([score]), both).tolist() for score in (0.3, 0.7, 0.1)]
    assert chosen == [[None], [True], [False]], "given by one, refused by the other; by both; by neither"
