"""What training and validation documents must not have in common, and what they must: said before the first step."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from longdoc.errors import DataError, counted
from longdoc.tasks.gold import which
from longdoc.types import Document

__all__ = ["refuse_leaks", "refuse_unlearned"]

_PLACE = re.compile(r":\d+$")


def refuse_leaks(train: Sequence[Document], validation: Sequence[Document]) -> None:
    """Refuse validation documents that have the id of a training document.

    A document that is named by its number in a list, or by its place in a file where another text stands at the same
    place of another file, has no id that could be compared.

    Raises:
        DataError: there are such; they are counted and given by their numbers.
    """
    known = {document.id: document.text for document in train}
    leaked = [
        number
        for number, document in enumerate(validation)
        if document.id in known
        and document.id != str(number)
        and not (_PLACE.search(document.id) and known[document.id] != document.text)
    ]
    if leaked:
        raise DataError(
            f"training and validation must have no document in common, but {len(leaked)} of {len(validation)} "
            f"validation documents {'has' if len(leaked) == 1 else 'have'} the id of a training document "
            f"({which(leaked, validation)}). Take them out of one of the two; where each file counts its ids anew, set "
            "`data.allow_shared_ids`."
        )


def refuse_unlearned(
    train: Sequence[Document], validation: Sequence[Document], labels_of: Callable[[Document], Sequence[str]]
) -> None:
    """Refuse labels that no training document shows: what would be measured by them nobody could have learned.

    Args:
        labels_of: the labels of a document, as its task reads them.

    Raises:
        DataError: there are such; they are counted, and their documents given by their numbers.
    """
    shown = {label for document in train for label in labels_of(document)}
    unseen = [number for number, document in enumerate(validation) if set(labels_of(document)) - shown]
    if unseen:
        count = len({label for number in unseen for label in labels_of(validation[number])} - shown)
        raise DataError(
            f"every label must stand in a training document, but {counted(count, 'label')} "
            f"{'stands' if count == 1 else 'stand'} in validation documents only ({which(unseen, validation)}). Move "
            "one of them to the training documents, or name all labels in `model.labels` to train without."
        )
