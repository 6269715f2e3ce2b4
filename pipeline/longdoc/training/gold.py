"""What labelled documents say is right: which labels there are, whether all fits the task, targets for the loss.

What stands in a column is text until it is known to be a label: messages count, and give numbers of documents.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch

from longdoc.errors import DataError, counted
from longdoc.types import Document, Task

__all__ = ["LARGEST_TARGET", "check_gold", "collect_labels", "doubtful", "encode_targets"]

Purpose = Literal["training", "validation", "evaluation"]

LARGEST_TARGET = 1e18
"""Its square is still a float32."""

_FIELDS: dict[Task, str] = {"single_label": "label", "multi_label": "labels", "regression": "target"}
_SHOWN = 10


def collect_labels(documents: Sequence[Document], task: Task) -> tuple[str, ...]:
    """The label names that occur, sorted; `("value",)` for regression.

    Raises:
        DataError: there are too few to choose from.
    """
    if task == "regression":
        return ("value",)
    if task == "single_label":
        labels = {document.label for document in documents if document.label is not None}
    else:
        labels = {label for document in documents for label in document.labels or ()}
    if task == "single_label" and len(labels) < 2:
        raise DataError(
            f"`model.task: single_label` needs at least 2 different labels, but the data have {len(labels)}."
        )
    if not labels:
        raise DataError("`model.task: multi_label` needs at least 1 label, but the data have none.")
    return tuple(sorted(labels))


def check_gold(
    documents: Sequence[Document], labels: Sequence[str] | None, task: Task, purpose: Purpose = "training"
) -> None:
    """Refuse documents that cannot be learned from or measured by: before the long part, all faults of a kind at once.

    What stands in a column is text until it is known to be a label, so messages count and give numbers of documents.

    Args:
        labels: that the model knows; None = any will do.
        purpose: what the documents are for; a model that is measured has its task and labels for good.

    Raises:
        DataError: documents without the field that the task needs, with labels that the model does not know, or with
            a number that is too large to be squared.
    """
    field, trained = _FIELDS[task], purpose == "evaluation"
    subject = f"a {task} model" if trained else f"`model.task: {task}`"
    missing = [number for number, document in enumerate(documents) if getattr(document, field) is None]
    if missing:
        way_out = "" if trained else " or set `model.task`"
        raise DataError(
            f"{subject} needs the field `{field}` in every {purpose} document, but {len(missing)} of {len(documents)} "
            f"have none ({_numbers(missing)}). Map it with `read.fields.{field}`{way_out}."
        )
    if task == "regression":
        beyond = [n for n, document in enumerate(documents) if abs(document.target or 0.0) > LARGEST_TARGET]
        if beyond:
            raise DataError(
                f"`target` must be between -{LARGEST_TARGET:g} and {LARGEST_TARGET:g} in every {purpose} document, but "
                f"is beyond in {len(beyond)} of {len(documents)} ({_numbers(beyond)}). Divide all by a constant."
            )
        return
    known = None if labels is None else set(labels)
    strange = [
        (number, unknown)
        for number, document in enumerate(documents)
        if known is not None and (unknown := set(_gold_labels(document, task)) - known)
    ]
    if strange:
        others = len(set().union(*(unknown for _, unknown in strange)))
        subject = "the model must know every label" if trained else "`model.labels` must name every label"
        way_out = "train a model with these labels" if trained else "name them too"
        raise DataError(
            f"{subject} of the {purpose} documents, but {len(strange)} of {len(documents)} "
            f"{'has' if len(strange) == 1 else 'have'} a label that is not among its {len(known or ())} ({others} "
            f"different ones; {_numbers([number for number, _ in strange])}). Correct the data, or {way_out}."
        )


def encode_targets(documents: Sequence[Document], labels: Sequence[str], task: Task) -> list[torch.Tensor]:
    """One target a document, in the form that the loss takes.

    Raises:
        DataError: as `check_gold`.
    """
    check_gold(documents, labels, task, "evaluation")
    if task == "regression":
        return [torch.tensor(document.target) for document in documents]
    index = {label: number for number, label in enumerate(labels)}
    if task == "single_label":
        return [torch.tensor(index[document.label or ""]) for document in documents]
    rows = [torch.zeros(len(labels)) for _ in documents]
    for row, document in zip(rows, documents, strict=True):
        for label in document.labels or ():
            row[index[label]] = 1.0
    return rows


def doubtful(train: Sequence[Document], validation: Sequence[Document], task: Task) -> list[str]:
    """What one should know about labelled documents that can be used all the same, in sentences without their text."""
    remarks = []
    texts = {document.text for document in train}
    if again := [number for number, document in enumerate(validation) if document.text in texts]:
        remarks.append(
            f"{counted(len(again), 'validation document')} of {len(validation)} "
            f"{'has' if len(again) == 1 else 'have'} the text of a training document ({_numbers(again)}): the measured "
            "quality will be too good."
        )
    shown = {label for document in train for label in _gold_labels(document, task)}
    unseen = [n for n, document in enumerate(validation) if set(_gold_labels(document, task)) - shown]
    if unseen:
        count = len({label for document in validation for label in _gold_labels(document, task)} - shown)
        remarks.append(
            f"{counted(count, 'label')} {'stands' if count == 1 else 'stand'} in validation documents only "
            f"({_numbers(unseen)}): no training document shows the model what {'it is' if count == 1 else 'they are'}."
        )
    folded = {_folded(label) for label in shown}
    if len(folded) < len(shown):
        remarks.append(
            f"{len(shown)} labels are {len(folded)} if capitals, spaces and ways to write a number do not count: each "
            "spelling is a class of its own."
        )
    return remarks


def _folded(label: str) -> str:
    """One form for spellings that people rarely mean to tell apart: `Yes ` and `yes`, `1` and `1.0`."""
    words = " ".join(label.split()).casefold()
    try:
        return repr(float(words))
    except ValueError:
        return words


def _gold_labels(document: Document, task: Task) -> tuple[str, ...]:
    if task == "multi_label":
        return document.labels or ()
    return (document.label,) if task == "single_label" and document.label is not None else ()


def _numbers(numbers: Sequence[int]) -> str:
    """Which documents, as people count them."""
    shown = ", ".join(str(number + 1) for number in numbers[:_SHOWN])
    more = f" and {len(numbers) - _SHOWN} more" if len(numbers) > _SHOWN else ""
    return f"number{'' if len(numbers) == 1 else 's'} {shown}{more}"
