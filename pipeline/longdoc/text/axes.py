"""What a token knows beside its place in the reading order: its section, paragraph and sentence, its language.

These are further axes of positions, for encodings that read them (`tree`, `depth`, `language`). They are counted from
the text: a section begins at a Markdown heading or a form feed, a paragraph after an empty line, a sentence where
`sentences.py` says so. Formats with headings of their own say in `meta["sections"]` where sections begin, and that
counts instead. What a text does not have is 0 for all of its tokens: a letter without headings has no sections, and
its paragraphs are children of the root.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from longdoc.languages import COMMON_LANGUAGES, language_number
from longdoc.text.headings import told_sections
from longdoc.text.sentences import sentence_starts
from longdoc.types import Document

__all__ = ["AXES", "Axis", "DocumentAxes"]

Axis = Literal["section", "paragraph", "sentence", "depth", "language"]

_SECTION = re.compile(r"^(?=#{1,6}[ \t]+\S)|(?<=\f)", re.MULTILINE)
_PARAGRAPH = re.compile(r"\n[^\S\n]*\n\s*|\f\s*")

Ints = NDArray[np.int64]


class DocumentAxes:
    """Further axes of the tokens of one document.

    Args:
        document: its text and language are read.
        names: which axes, in this order.
        languages: codes; number n on the axis `language` is the n-th of them, 0 is unknown.
    """

    def __init__(self, document: Document, names: Sequence[Axis], languages: Sequence[str] = COMMON_LANGUAGES) -> None:
        self.text, self.language = document.text, language_number(languages, document.language)
        self._code = document.language
        self.names = tuple(names)
        self._told = told_sections(document.text, document.meta)

    def of(self, offsets: NDArray[np.int32]) -> NDArray[np.int32]:
        """Code points of tokens, int32 (n, 2) -> int32 (axes, n)."""
        starts = offsets[:, 0].astype(np.int64)
        return np.stack([AXES[name](self, starts) for name in self.names]).astype(np.int32)

    @cached_property
    def sections(self) -> Ints:
        """Where sections begin, in code points."""
        if self._told is not None:
            return _starts(self._told)
        return _starts(found.start() for found in _SECTION.finditer(self.text))

    @cached_property
    def paragraphs(self) -> Ints:
        """Where paragraphs begin: a section begins one too."""
        breaks = [found.end() for found in _PARAGRAPH.finditer(self.text)]
        return np.union1d(_starts([0, *breaks]), self.sections)

    @cached_property
    def sentences(self) -> Ints:
        """Where sentences begin: a paragraph begins one too."""
        return np.union1d(_starts(sentence_starts(self.text, self._code)), self.paragraphs)

    def section(self, starts: Ints) -> Ints:
        """Number of the section, from 1; 0 before the first."""
        return _passed(self.sections, starts)

    def paragraph(self, starts: Ints) -> Ints:
        """Number of the paragraph in its section, from 1."""
        return _number_within(self.paragraphs, self.sections, starts)

    def sentence(self, starts: Ints) -> Ints:
        """Number of the sentence in its paragraph, from 1."""
        return _number_within(self.sentences, self.paragraphs, starts)

    def depth(self, starts: Ints) -> Ints:
        """Steps from the root of the document to the token's sentence: 3, or 2 outside of sections."""
        return 2 + (self.section(starts) > 0).astype(np.int64)


AXES: dict[Axis, Callable[[DocumentAxes, Ints], Ints]] = {
    "section": DocumentAxes.section,
    "paragraph": DocumentAxes.paragraph,
    "sentence": DocumentAxes.sentence,
    "depth": DocumentAxes.depth,
    "language": lambda axes, starts: np.full(len(starts), axes.language, dtype=np.int64),
}
"""Name of an axis -> its numbers for tokens that begin at the given code points."""


def _starts(places: Iterable[int]) -> Ints:
    return np.unique(np.fromiter(places, dtype=np.int64))


def _passed(begins: Ints, starts: Ints) -> Ints:
    """How many nodes have begun at or before each token."""
    return np.searchsorted(begins, starts, side="right").astype(np.int64)


def _number_within(begins: Ints, parents: Ints, starts: Ints) -> Ints:
    """Number of the node among those that begin in the same parent, from 1."""
    parent = _passed(parents, starts)
    first = np.concatenate([np.zeros(1, dtype=np.int64), np.searchsorted(begins, parents, side="left")])
    return np.asarray(_passed(begins, starts) - first[parent])
