"""Why a document has no answer, in words."""

from __future__ import annotations

import re
from dataclasses import dataclass

from longdoc.errors import FailureReason
from longdoc.types import DocumentFailure

__all__ = ["FAILURE_WORDS", "FailureWords", "failure_words"]

FAILURE_WORDS: dict[FailureReason, str] = {
    "empty": "empty text or question",
    "too_large": "too large",
    "unreadable": "could not be read",
    "encrypted": "encrypted",
    "unsupported_type": "a type of file that is not read",
    "decode_error": "characters that could not be decoded",
    "timeout": "took too long",
    "memory_limit": "needed too much memory",
    "worker_died": "the process that computed it ended",
    "non_finite_output": "no finite number came out",
    "zip_bomb": "unpacks to too much",
    "xml_forbidden": "XML that is not let in",
    "path_escape": "a path that leads out of its folder",
}
_STAGES = {
    "read": "reading",
    "tokenize": "cutting it into tokens",
    "encode": "computing",
    "predict": "computing",
    "merge": "putting chunks together",
}
_MARKED = re.compile(r"`([^`]*)`")


@dataclass(frozen=True, repr=False)
class FailureWords:
    """A failure as a page lists it.

    Attributes:
        id: of the document.
        reason: in words.
        stage: what was being done.
        detail: our own sentence, names in quotation marks.
    """

    id: str
    reason: str
    stage: str
    detail: str


def failure_words(failure: DocumentFailure) -> FailureWords:
    """The words of a failure."""
    return FailureWords(
        failure.id,
        FAILURE_WORDS[failure.reason],
        _STAGES.get(failure.stage, failure.stage),
        _MARKED.sub("\u201c\\1\u201d", failure.detail),
    )
