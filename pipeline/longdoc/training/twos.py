"""Documents in twos: each beside another of its group, so that a batch of any size shows what is alike."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["in_twos", "twos_of"]


def in_twos(order: Sequence[int], groups: Sequence[int]) -> list[int]:
    """Draw documents to each other: two of a group stand side by side, where the second of them stood.

    What is left over, one of each group with an odd number, comes at the end, so that batches of an even size never
    part two. Where the order is a random one, so is which documents meet, where they stand, and which is left over.

    Args:
        order: numbers of documents.
        groups: the group of every document.
    """
    waiting: dict[int, int] = {}
    together: list[int] = []
    for number in order:
        if (other := waiting.pop(groups[number], None)) is None:
            waiting[groups[number]] = number
        else:
            together += [other, number]
    return [*together, *waiting.values()]


def twos_of(members: Sequence[int], groups: Sequence[int]) -> list[list[int]]:
    """Part of such an order as units of two neighbours of one group, and of one where there is none."""
    units: list[list[int]] = []
    for number in members:
        if units and len(units[-1]) == 1 and groups[units[-1][0]] == groups[number]:
            units[-1].append(number)
        else:
            units.append([number])
    return units
