"""What labelled documents say is right, and what is said where they do not: counts, never a column's text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from longdoc.errors import DataError
from longdoc.readers import load_labelled
from longdoc.tasks import task_named
from longdoc.tasks.gold import doubtful, which
from longdoc.types import Document, Place
from task_kit import targets

SECRET = "Mr Smith is ill"


def documents(*labels: str | None) -> list[Document]:
    return [Document(id=str(n), text=f"text {n}", label=label) for n, label in enumerate(labels)]


def numbers(*targets: float) -> list[Document]:
    return [Document(id=str(n), text="x", target=target) for n, target in enumerate(targets)]


def test_labels_are_sorted_names() -> None:
    assert task_named("single_label").collect_labels(documents("b", "a", "b")) == ("a", "b")
    many = [Document(id="1", text="x", labels=("z", "y")), Document(id="2", text="x", labels=())]
    assert task_named("multi_label").collect_labels(many) == ("y", "z")
    assert task_named("regression").collect_labels([Document(id="1", text="x", target=1.5)]) == ("value",)


def test_one_label_is_not_a_task() -> None:
    with pytest.raises(DataError, match=r"needs at least 2 different labels, but the data have 1\.$"):
        task_named("single_label").collect_labels(documents("a", "a"))


def test_targets_have_the_form_of_the_task() -> None:
    assert [int(t) for t in targets(documents("b", "a"), ("a", "b"), "single_label")] == [1, 0]
    rows = targets([Document(id="1", text="x", labels=("c", "a"))], ("a", "b", "c"), "multi_label")
    assert rows[0].tolist() == [1.0, 0.0, 1.0]
    numbers = targets([Document(id="1", text="x", target=-2.0)], ("value",), "regression")
    assert torch.equal(numbers[0], torch.tensor(-2.0))


@pytest.mark.parametrize(
    ("purpose", "message"),
    [
        (
            "training",
            "`model.task: single_label` needs the field `label` in every training document, but 2 of 4 have none "
            "(numbers 2, 4). Map it with `read.fields.label` or set `model.task`.",
        ),
        (
            "validation",
            "`model.task: single_label` needs the field `label` in every validation document, but 2 of 4 have none "
            "(numbers 2, 4). Map it with `read.fields.label` or set `model.task`.",
        ),
        (
            "evaluation",
            "a single_label model needs the field `label` in every evaluation document, but 2 of 4 have none "
            "(numbers 2, 4). Map it with `read.fields.label`.",
        ),
    ],
)
def test_a_missing_field_is_counted_and_placed(purpose, message: str) -> None:
    with pytest.raises(DataError) as caught:
        task_named("single_label").check_gold(documents("a", None, "b", None), None, purpose)
    assert str(caught.value) == message


@pytest.mark.parametrize("task", ["single_label", "multi_label"])
@pytest.mark.parametrize(
    ("purpose", "message"),
    [
        (
            "training",
            "`model.labels` must name every label of the training documents, but 2 of 3 have a label that is not among "
            "its 2 (1 different one; numbers 2, 3). Is it a typo? Correct the data, or name them too.",
        ),
        (
            "evaluation",
            "the model must know every label of the evaluation documents, but 2 of 3 have a label that is not among "
            "its 2 (1 different one; numbers 2, 3). Is it a typo? Correct the data, or train a model with these "
            "labels.",
        ),
    ],
)
def test_an_unknown_label_is_counted_and_placed_and_never_shown(task: str, purpose, message: str) -> None:
    """A column that was taken for labels by mistake holds text."""
    given = documents("a", SECRET, SECRET)
    if task == "multi_label":
        given = [Document(id=d.id, text=d.text, labels=(d.label or "",)) for d in given]
    with pytest.raises(DataError) as caught:
        task_named(task).check_gold(given, ("a", "b"), purpose)
    assert str(caught.value) == message


def test_only_the_first_places_are_listed() -> None:
    with pytest.raises(DataError, match=r"numbers 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 5 more"):
        task_named("single_label").check_gold(documents(*[None] * 15), None)


def test_documents_of_files_are_named_by_file_and_line() -> None:
    read = [replace(item, place=Place("train.jsonl", 3 * n + 1)) for n, item in enumerate(documents("a", None, None))]
    with pytest.raises(DataError) as caught:
        task_named("single_label").check_gold(read, None)
    assert str(caught.value) == (
        "`model.task: single_label` needs the field `label` in every training document, but 2 of 3 have none "
        "(train.jsonl:4, train.jsonl:7). Map it with `read.fields.label` or set `model.task`."
    )
    assert which(range(12), [replace(read[0], place=Place("a.csv", n)) for n in range(1, 13)]) == (
        "a.csv:1, a.csv:2, a.csv:3, a.csv:4, a.csv:5, a.csv:6, a.csv:7, a.csv:8, a.csv:9, a.csv:10 and 2 more"
    )
    assert which([0, 1], [read[0], documents("a")[0]]) == "numbers 1, 2", "one of them came from nowhere"


def test_a_place_is_no_part_of_a_document(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text('{"id": "0", "text": "text 0", "label": "a"}\n')
    (read,) = load_labelled([tmp_path / "d.jsonl"])
    assert read.place == Place("d.jsonl", 1)
    assert replace(read, meta={}) == documents("a")[0]


def test_validation_documents_without_any_label_choose_nothing() -> None:
    task = task_named("multi_label")
    bare = [Document(id="a", text="x", labels=()), Document(id="b", text="y", labels=())]
    for metric in ("macro_f1", "macro_average_precision"):
        with pytest.raises(DataError) as caught:
            task.check_validation(bare, metric)
        assert str(caught.value) == (
            f"`training.metric_for_best_model: {metric}` needs validation documents with labels, but none has one. "
            "Choose loss."
        )
    task.check_validation(bare, "loss")
    task.check_validation([*bare, Document(id="c", text="z", labels=("q",))], "macro_f1")


def test_numbers_far_from_where_a_head_starts_are_pointed_out() -> None:
    task = task_named("regression")

    def told(*targets: float) -> tuple[str, ...]:
        return tuple(task.check_batches([[torch.tensor(target)] for target in targets]))

    assert told(1.0, 20.0, -50.0) == ()
    assert told(0.0, 99.0) == ()
    assert told(100_000.0, 200_000.0, 300_000.0) == (
        "targets have a mean of 2e+05 and a deviation of 8.16e+04, but a new head starts at 0 and learns in small "
        "steps: it may never get there. Give it (target - mean) / deviation instead, and turn its answers back.",
    )
    assert len(told(-1000.0, 1000.0)) == 1


@pytest.mark.parametrize("target", [1e300, -1e19])
def test_a_target_whose_square_is_no_float32_is_refused(target: float) -> None:
    with pytest.raises(DataError) as caught:
        task_named("regression").check_gold(numbers(1.0, target), None)
    assert str(caught.value) == (
        "`target` must be between -1e+18 and 1e+18 in every training document, but is beyond in 1 of 2 (number 2). "
        "Divide all by a constant."
    )
    task_named("regression").check_gold(numbers(1e18, 0.0), None)


def test_a_validation_document_that_was_trained_on_is_pointed_out() -> None:
    train, validation = documents("a", "b"), [*documents("a"), Document(id="z", text="new", label="b")]
    assert doubtful(train, validation, task_named("single_label").gold_labels) == [
        "1 validation document of 2 has the text of a training document (number 1): the measured quality will be too "
        "good."
    ]
    assert doubtful(train, validation[1:], task_named("single_label").gold_labels) == []


def test_a_label_without_a_training_document_is_pointed_out() -> None:
    validation = [Document(id="z", text="new", label=SECRET), Document(id="y", text="newer", label="a")]
    assert doubtful(documents("a", "b"), validation, task_named("single_label").gold_labels) == [
        "1 label stands in validation documents only (number 1): no training document shows the model what it is."
    ]


def test_spellings_of_one_label_are_pointed_out() -> None:
    assert doubtful(documents("yes", "Yes ", "1", " 1", "1.0"), [], task_named("single_label").gold_labels) == [
        "5 labels are 2 if capitals, spaces and ways to write a number or an accent do not count: each spelling is a "
        "class of its own."
    ]
    composed = doubtful(documents("caf\u00e9", "cafe\u0301"), [], task_named("single_label").gold_labels)
    assert [remark.partition(" if ")[0] for remark in composed] == ["2 labels are 1"]
    assert doubtful(documents("yes", "no", "1", "2"), [], task_named("single_label").gold_labels) == []
