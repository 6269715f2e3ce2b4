import math

import numpy as np
import pytest

from longdoc.decide import decide, probabilities


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
