"""What is said of labelled documents that cannot be used, and of those that can but should be looked at.

What stands in a column is text until it is known to be a label: messages count, and say where the
documents stand, or their numbers.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from typing import Literal

from longdoc.errors import DataError, counted, on_one_line
from longdoc.types import Document

__all__ = ["Purpose", "doubtful", "refuse_missing", "refuse_unknown", "which"]

Purpose = Literal["training", "validation", "evaluation"]

_SHOWN = 10


def refuse_missing(
    missing: Sequence[int], documents: Sequence[Document], task: str, field: str, purpose: Purpose
) -> None:
    """Refuse documents without the field that a task needs.

    Args:
        missing: their numbers, from 0.
        documents: all of them.

    Raises:
        DataError: there are such.
    """
    if not missing:
        return
    trained = purpose == "evaluation"
    subject = f"a {task} model" if trained else f"`model.task: {task}`"
    way_out = "" if trained else " or set `model.task`"
    raise DataError(
        f"{subject} needs the field `{field}` in every {purpose} document, but {len(missing)} of {len(documents)} "
        f"have none ({which(missing, documents)}). Map it with `read.fields.{field}`{way_out}."
    )


def refuse_unknown(
    given: Sequence[Sequence[str]], labels: Sequence[str], purpose: Purpose, documents: Sequence[Document]
) -> None:
    """Refuse documents with labels that a model does not know.

    Args:
        given: the labels of each document.
        labels: those that are known.
        documents: all of them.

    Raises:
        DataError: there are such.
    """
    known = set(labels)
    strange = [(number, unknown) for number, row in enumerate(given) if (unknown := set(row) - known)]
    if not strange:
        return
    trained = purpose == "evaluation"
    others = len(set().union(*(unknown for _, unknown in strange)))
    subject = "the model must know every label" if trained else "`model.labels` must name every label"
    way_out = "train a model with these labels" if trained else "name them too"
    raise DataError(
        f"{subject} of the {purpose} documents, but {len(strange)} of {len(given)} "
        f"{'has' if len(strange) == 1 else 'have'} a label that is not among its {len(known)} "
        f"({counted(others, 'different one')}; {which([number for number, _ in strange], documents)}). "
        f"{'Is it a typo' if others == 1 else 'Are they typos'}? Correct the data, or {way_out}."
    )


def doubtful(
    train: Sequence[Document], validation: Sequence[Document], labels_of: Callable[[Document], Sequence[str]]
) -> list[str]:
    """What one should know about labelled documents that can be used all the same, in sentences without their text.

    Args:
        labels_of: the labels of a document, as its task reads them.
    """
    remarks = []
    texts = {document.text for document in train}
    if again := [number for number, document in enumerate(validation) if document.text in texts]:
        remarks.append(
            f"{counted(len(again), 'validation document')} of {len(validation)} "
            f"{'has' if len(again) == 1 else 'have'} the text of a training document "
            f"({which(again, validation)}): the measured quality will be too good."
        )
    shown = {label for document in train for label in labels_of(document)}
    unseen = [n for n, document in enumerate(validation) if set(labels_of(document)) - shown]
    if unseen:
        count = len({label for document in validation for label in labels_of(document)} - shown)
        remarks.append(
            f"{counted(count, 'label')} {'stands' if count == 1 else 'stand'} in validation documents only "
            f"({which(unseen, validation)}): no training document shows the model what "
            f"{'it is' if count == 1 else 'they are'}."
        )
    folded = {_folded(label) for label in shown}
    if len(folded) < len(shown):
        remarks.append(
            f"{len(shown)} labels are {len(folded)} if capitals, spaces and ways to write a number or an accent do not "
            "count: each spelling is a class of its own."
        )
    return remarks


def which(numbers: Sequence[int], documents: Sequence[Document]) -> str:
    """Documents of a list as people find them: by file and line, or by their numbers, counted from 1.

    Args:
        numbers: theirs, from 0.
        documents: the list.
    """
    shown = numbers[:_SHOWN]
    more = f" and {len(numbers) - _SHOWN} more" if len(numbers) > _SHOWN else ""
    places = [documents[number].place for number in shown]
    if all(place is not None for place in places):
        return ", ".join(on_one_line(str(place)) for place in places) + more
    return f"number{'' if len(numbers) == 1 else 's'} {', '.join(str(number + 1) for number in shown)}{more}"


def _folded(label: str) -> str:
    """One form for spellings that people rarely mean to tell apart: `Yes ` and `yes`, `1` and `1.0`, and letters that
    are composed of others or not."""
    words = " ".join(unicodedata.normalize("NFKC", label).split()).casefold()
    try:
        return repr(float(words))
    except ValueError:
        return words
