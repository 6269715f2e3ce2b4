"""The yardstick over words is given what every model is given: thresholds from the validation documents."""

from __future__ import annotations

import random

from longdoc.study.word_rows import of_labels
from longdoc.tasks import task_named
from longdoc.tasks.decision_settings import DecisionConfig
from longdoc.tasks.label_task import LabelTask
from longdoc.types import Document


def reports(seed: int, count: int) -> list[Document]:
    """A third of those about knees is urgent, too, and nothing in them says which."""
    draw = random.Random(seed)
    made = []
    for number in range(count):
        knee = draw.random() < 0.3
        text = "visit today knee pain" if knee else "visit today walks well"
        labels = ["visit", *["knee"] * knee, *["urgent"] * (knee and draw.random() < 0.35)]
        made.append(Document(id=f"{seed}-{number}", text=text, labels=tuple(labels)))
    return made


def test_rare_labels_get_thresholds_of_their_own_from_validation() -> None:
    task, labels = task_named("multi_label"), ("knee", "urgent", "visit")
    assert isinstance(task, LabelTask)
    parts = reports(1, 200), reports(2, 100), reports(3, 100)
    half, _ = of_labels(parts, labels, task, DecisionConfig(thresholds="half"))
    fitted, _ = of_labels(parts, labels, task, DecisionConfig())
    assert half[0].metrics["macro_f1"] < 0.8 < fitted[0].metrics["macro_f1"]
    assert fitted[0].answers[:, 1].sum() > half[0].answers[:, 1].sum()
    turned = [
        Document(id=document.id, text=document.text, labels=() if "urgent" in (document.labels or ()) else labels)
        for document in parts[2]
    ]
    again, _ = of_labels((parts[0], parts[1], turned), labels, task, DecisionConfig())
    assert (again[0].answers == fitted[0].answers).all(), "the labels of test documents choose nothing"


def test_no_threshold_is_flattered_when_strategies_with_many_labels_are_chosen() -> None:
    """Thresholds are fitted on the validation documents; what chooses among strategies there must not see them."""
    task, labels = task_named("multi_label"), ("knee", "urgent", "visit")
    assert isinstance(task, LabelTask)
    parts = reports(1, 200), reports(2, 100), reports(3, 100)
    rows = [of_labels(parts, labels, task, DecisionConfig(thresholds=wish))[0][0] for wish in ("half", "f1_per_label")]
    assert rows[0].validation == rows[1].validation
    assert rows[0].metrics["macro_f1"] != rows[1].metrics["macro_f1"]
