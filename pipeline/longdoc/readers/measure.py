"""How much a document may unpack to, against what it takes in a compressed file. Strangers make small files that unpack
to terabytes, so it is asked while a document is unpacked, not afterwards.
"""

from __future__ import annotations

from longdoc.errors import DocumentError
from longdoc.readers.zip_parts import MOST_RATIO

__all__ = ["FREE_BYTES", "MOST_RATIO", "UNPACKS_TO_TOO_MUCH", "beyond_measure", "unpacks_to_too_much"]

FREE_BYTES = 32 << 20
"""Bytes that a document may unpack to however small it is in the file."""
_TAKEN_AHEAD = 1 << 17
"""A decompressor takes the file in pieces of so many bytes at most: what it takes for one document may have been taken
for the one before it."""

UNPACKS_TO_TOO_MUCH = (
    f"unpacks to more than {FREE_BYTES >> 20} MiB, and to more than {MOST_RATIO} times what it takes in the file"
)
"""A predicate for messages."""


def beyond_measure(unpacked: int, packed: int) -> bool:
    """Whether a document is given up that has so many bytes by now, for which so many bytes of the file were taken."""
    return unpacked > FREE_BYTES and unpacked > MOST_RATIO * (packed + _TAKEN_AHEAD)


def unpacks_to_too_much(what: str) -> DocumentError:
    """The failure of `what`, such as "Line 3"."""
    return DocumentError("zip_bomb", f"{what} {UNPACKS_TO_TOO_MUCH}. If that is right, give it without compression.")
