"""Splits that leak, or that measure what nobody could learn, are refused before the first step."""

from __future__ import annotations

from pathlib import Path

import pytest

from longdoc import api
from longdoc.api import train_with_report
from longdoc.config import load_config
from longdoc.errors import DataError
from longdoc.tasks import task_named
from longdoc.training.splits import refuse_leaks, refuse_unlearned
from longdoc.types import Document
from training_kit import CONFIG

LABELS_OF = task_named("single_label").gold_labels


def document(id: str, text: str = "a text", label: str = "a") -> Document:
    return Document(id=id, text=text, label=label)


TRAIN = [document("case-1"), document("case-2", label="b"), document("data.jsonl:7", "seventh"), document("0")]


def test_an_id_in_both_splits_is_refused_whatever_its_text() -> None:
    with pytest.raises(DataError) as caught:
        refuse_leaks(TRAIN, [document("new"), document("case-2", "another text"), document("data.jsonl:7", "seventh")])
    assert str(caught.value) == (
        "training and validation must have no document in common, but 2 of 3 validation documents have the id of a "
        "training document (numbers 2, 3). Take them out of one of the two; where each file counts its ids anew, set "
        "`data.allow_shared_ids`."
    )


def test_what_is_named_by_its_place_alone_is_no_leak() -> None:
    refuse_leaks(TRAIN, [document("0", "first of a list"), document("data.jsonl:7", "of another file of that name")])
    with pytest.raises(DataError, match=r"but 1 of 2 validation documents has the id of a training .*number 2"):
        refuse_leaks(TRAIN, [document("new"), document("0")])  # second of its list: an id after all


def test_a_label_that_no_training_document_shows_is_refused() -> None:
    with pytest.raises(DataError) as caught:
        refuse_unlearned(
            TRAIN, [document("v", label="a"), document("w", label="Mr Smith"), document("x", label="z")], LABELS_OF
        )
    assert str(caught.value) == (
        "every label must stand in a training document, but 2 labels stand in validation documents only (numbers 2, "
        "3). Move one of them to the training documents, or name all labels in `model.labels` to train without."
    )
    refuse_unlearned(TRAIN, [document("v", label="b")], LABELS_OF)


@pytest.mark.parametrize(
    ("validation", "refused", "allowed"),
    [
        ([document("case-1", "other")], "must have no document in common", "data.allow_shared_ids=true"),
        ([document("v", label="c")], "every label must stand in a training document", "model.labels=[a,b,c]"),
    ],
)
def test_training_refuses_them_before_anything_is_written(
    validation: list[Document], refused: str, allowed: str, tmp_path: Path
) -> None:
    given = {"train_documents": TRAIN, "validation_documents": validation}
    with pytest.raises(DataError, match=refused):
        train_with_report(load_config(CONFIG), tmp_path / "run", **given)
    assert not (tmp_path / "run").exists()
    assert set("ab") <= set(api._check(load_config(CONFIG, [allowed]), TRAIN, validation))
