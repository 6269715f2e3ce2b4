"""Tags of words: what a tagger scores, which tags may follow which, and which runs of them are spans.

A span of several words is written as B I I (begin, inside) in the scheme `bio`, and as B I E or S (end, single) in
`bioes`; O is outside. Where spans of different labels may overlap there is one such sequence for each label, a layer,
else one for all.

Tags of checkpoints from elsewhere may follow each other in any way and need not have prefixes; they are then read as
people read them: a B begins a span, an I continues one of its label and otherwise begins one.

Shape letters: M layers, K tags of a layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from longdoc.errors import UsageError

__all__ = ["Role", "Scheme", "Tag", "TagLayout", "read_tags", "tags_of"]

Scheme = Literal["bio", "bioes"]
Role = Literal["O", "B", "I", "E", "S"]

_ROLES: dict[Scheme, tuple[Role, ...]] = {"bio": ("B", "I"), "bioes": ("B", "I", "E", "S")}
_PREFIXES: dict[str, Role] = {"B": "B", "I": "I", "E": "E", "S": "S", "L": "E", "U": "S"}
"""L(ast) and U(nit) are what BILOU calls the end and the single one."""
_STAND_INS: dict[Role, tuple[Role, ...]] = {
    "O": ("O",),
    "B": ("B", "I"),
    "I": ("I", "B"),
    "E": ("E", "I", "B"),
    "S": ("S", "B", "I"),
}
"""What says the same, the best first, where a checkpoint lacks a tag."""


class Tag(NamedTuple):
    """What a tag says of a word: its role in a span, and of which label (number; -1 outside)."""

    role: Role
    label: int


class TagLayout:
    """The tags that a tagger scores, in the order of its scores.

    Args:
        layers: for each layer its tags, all of them equally many.
        strict: whether only sequences that spell spans are possible, as in the schemes; else any tag may follow any.

    Attributes:
        start, end: bool (M, K): may a document begin, may it end with the tag.
        step: bool (M, K, K): may the second tag follow the first.
        continues: bool (M, K, K): is the word of the second tag in the span of the first one's.
        inside: bool (M, K): is it a tag of a span.
        labels: int (M, K): its label, -1 outside.
    """

    def __init__(self, layers: Sequence[Sequence[Tag]], strict: bool) -> None:
        self.layers = tuple(tuple(layer) for layer in layers)
        roles = np.array([[tag.role for tag in layer] for layer in self.layers])
        self.labels: NDArray[np.int64] = np.array([[tag.label for tag in layer] for layer in self.layers])
        self.inside: NDArray[np.bool_] = roles != "O"
        goes_on, follows = np.isin(roles, ("B", "I")), np.isin(roles, ("I", "E"))
        same = self.labels[:, :, None] == self.labels[:, None, :]
        self.continues: NDArray[np.bool_] = goes_on[:, :, None] & follows[:, None, :] & same
        self.start = np.ones(roles.shape, dtype=np.bool_)
        self.end = np.ones(roles.shape, dtype=np.bool_)
        self.step = np.ones(same.shape, dtype=np.bool_)
        if strict:
            must_go_on = goes_on & np.isin(roles, ("E",)).any()  # with E and S a B is never the last word
            self.start, self.end = ~follows, ~must_go_on
            self.step = self.continues | ~(must_go_on[:, :, None] | follows[:, None, :])

    @property
    def shape(self) -> tuple[int, int]:
        """(M, K)."""
        return self.inside.shape[0], self.inside.shape[1]

    @property
    def free(self) -> bool:
        """Whether any tag may follow any."""
        return bool(self.step.all() and self.start.all() and self.end.all())

    def layer_of(self, label: int) -> int:
        """The layer in which spans of a label are written."""
        return int(np.flatnonzero((self.labels == label).any(axis=1))[0])

    def spell(self, layer: int, label: int, words: int) -> list[int]:
        """The tags of a span of so many words."""
        if words == 1:
            return [self._number(layer, "S", label)]
        last: Role = "E" if any(tag == ("E", label) for tag in self.layers[layer]) else "I"
        inner = [self._number(layer, "I", label)] * (words - 2)
        return [self._number(layer, "B", label), *inner, self._number(layer, last, label)]

    @property
    def outside(self) -> tuple[int, ...]:
        """The number of O in each layer; the last tag where a checkpoint has none."""
        return tuple(
            next((number for number, tag in enumerate(layer) if tag.role == "O"), len(layer) - 1)
            for layer in self.layers
        )

    def _number(self, layer: int, role: Role, label: int) -> int:
        tags = self.layers[layer]
        return next(tags.index(Tag(other, label)) for other in _STAND_INS[role] if Tag(other, label) in tags)


def tags_of(labels: int, scheme: Scheme, overlapping: bool) -> TagLayout:
    """The layout of a scheme: O first, then B, I ... of each label; with `overlapping` a layer for each label."""

    def layer(numbers: Sequence[int]) -> list[Tag]:
        return [Tag("O", -1), *(Tag(role, number) for number in numbers for role in _ROLES[scheme])]

    numbers = range(labels)
    return TagLayout([layer([number]) for number in numbers] if overlapping else [layer(numbers)], strict=True)


def read_tags(names: Sequence[str]) -> tuple[tuple[str, ...], TagLayout]:
    """Labels and layout of a checkpoint whose tags have these names, in the order of its scores.

    Where all names but `O` have a prefix (`B-`, `I-`, also E, S, L, U) the rest is the label; otherwise each name is a
    label of its own, and neighbours of one label are one span. Nothing but the very name `O` is outside.

    Raises:
        UsageError: a prefix without a label behind it.
    """
    inner = [name for name in names if name != "O"]
    prefixed = bool(inner) and all(name[1:2] in ("-", "_") and name[0] in _PREFIXES for name in inner)
    if prefixed and (bare := [name for name in inner if len(name) == 2]):
        raise UsageError(
            f"`id2label` must name a label behind each prefix, but {bare[0]!r} has none. Rename it in `config.json`."
        )
    labels = tuple(dict.fromkeys(name[2:] if prefixed else name for name in inner))
    tags = [
        Tag("O", -1)
        if name == "O"
        else Tag(_PREFIXES[name[0]] if prefixed else "I", labels.index(name[2:] if prefixed else name))
        for name in names
    ]
    return labels, TagLayout([tags], strict=False)
