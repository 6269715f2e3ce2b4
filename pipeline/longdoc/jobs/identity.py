"""Who is in a job: digests of ids, and the search for ids that occur twice in 8 bytes a document."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import numpy as np

__all__ = ["IdDigest", "IdLedger", "first_repetition"]

P = TypeVar("P")
_CANDIDATES = 1024


class IdDigest:
    """A digest of ids in their order. Each is led by its length, so no two lists of ids give the same bytes."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()

    def add(self, identity: str) -> None:
        """Append one id."""
        data = identity.encode("utf-8")
        self._digest.update(len(data).to_bytes(8, "little") + data)

    def hexdigest(self) -> str:
        """The 64 hexadecimal digits for the ids so far."""
        return self._digest.hexdigest()


class IdLedger:
    """All ids of a job as 8-byte hashes: enough to say that none occurs twice, and to name suspects when one may."""

    def __init__(self) -> None:
        self._hashes = array("Q")

    def __len__(self) -> int:
        return len(self._hashes)

    def add(self, identity: str) -> None:
        """Append one id."""
        self._hashes.append(_hash(identity))

    def suspects(self) -> list[int]:
        """Hashes that occur more than once, in rising order. Sorts in place: the order of `add` is lost."""
        if len(self._hashes) < 2:
            return []
        hashes = np.frombuffer(self._hashes, dtype=np.uint64)
        hashes.sort()
        return [int(value) for value in np.unique(hashes[1:][hashes[1:] == hashes[:-1]])]


def first_repetition(suspects: list[int], read_again: Callable[[], Iterable[tuple[str, P]]]) -> tuple[P, P] | None:
    """Where an id occurs for the first and for the second time, or None when the suspects only share a hash.

    Args:
        suspects: from `IdLedger.suspects`.
        read_again: starts another pass over all (id, place).

    Holds at most 1,024 hashes' ids at a time, however many suspects there are.
    """
    for group in _groups(suspects):
        seen: dict[str, P] = {}
        for identity, place in read_again():
            if _hash(identity) in group:
                if identity in seen:
                    return seen[identity], place
                seen[identity] = place
    return None


def _groups(suspects: list[int]) -> Iterator[frozenset[int]]:
    for start in range(0, len(suspects), _CANDIDATES):
        yield frozenset(suspects[start : start + _CANDIDATES])


def _hash(identity: str) -> int:
    return int.from_bytes(hashlib.blake2b(identity.encode("utf-8"), digest_size=8).digest(), "little")
