"""The kinds of rows that jobs write, by the name that a plan says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from longdoc.errors import JobError
from longdoc.jobs.answer_rows import ANSWERS, PAGED_ANSWERS
from longdoc.jobs.embedding_rows import EmbeddingRows
from longdoc.jobs.rows import PAGED_PREDICTIONS, PAGES_KEY, PREDICTIONS, RowKind

__all__ = ["KINDS", "rows_of"]

# A new kind is one file and one name in this table.
KINDS: dict[str, Callable[[Mapping[str, Any]], RowKind]] = {
    "predictions": lambda settings: PAGED_PREDICTIONS if settings.get(PAGES_KEY) else PREDICTIONS,
    "embeddings": EmbeddingRows.from_settings,
    "answers": lambda settings: PAGED_ANSWERS if settings.get(PAGES_KEY) else ANSWERS,
}


def rows_of(settings: Mapping[str, Any]) -> RowKind:
    """What the rows of a job hold, from the settings of its plan.

    Raises:
        JobError: rows of a kind that this longdoc does not know.
    """
    name = settings.get("rows.kind", "predictions")
    if name not in KINDS:
        raise JobError(
            f"the rows of this job are {name}, but this longdoc knows {', '.join(KINDS)}. Use the longdoc that wrote "
            "them, or a newer one."
        )
    return KINDS[name](settings)
