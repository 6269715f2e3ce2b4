"""Where it is good to begin a chunk: at a section, a paragraph or a sentence of the text.

Formats with headings of their own say in `meta["sections"]` where sections begin; in other texts they begin at the
headings of `headings.py`. A paragraph begins after an empty line, and with a section. A sentence begins where
`sentences.py` says so, and with a paragraph. Nothing begins right below a heading, which stays with what it is about,
and a form feed, which ends a page wherever that falls, is a line end and no more.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from longdoc.text.headings import find_headings, told_sections
from longdoc.text.sentences import sentence_starts
from longdoc.types import Document

__all__ = ["BorderKind", "BorderRanks", "text_starts"]

BorderKind = Literal["section", "paragraph", "sentence"]

_EMPTY_LINE = re.compile(r"\n[^\S\n]*\n\s*")

Ints = NDArray[np.int64]


def text_starts(document: Document) -> dict[BorderKind, Ints]:
    """Where sections, paragraphs and sentences begin, in code points: what begins a section begins the others too.

    The start of the text is none of them unless something begins there. Time is linear in the length of the text.
    """
    text = document.text
    paragraphs = np.array([found.end() for found in _EMPTY_LINE.finditer(text)], dtype=np.int64)
    sentences = np.array(sentence_starts(text, document.language), dtype=np.int64)
    told = told_sections(text, document.meta)
    if told is None:
        headings = find_headings(text)
        sections = np.array([heading.start for heading in headings], dtype=np.int64)
        below = np.array([heading.end for heading in headings], dtype=np.int64)
    else:
        sections = np.unique(np.array(told, dtype=np.int64))
        below = sections + 1
    # What begins below a heading: the next sentence there is, since a heading is one of its own.
    first = np.union1d(paragraphs, sentences)
    after = np.searchsorted(first, below, side="left")
    headed = np.setdiff1d(first[after[after < len(first)]], sections)
    paragraphs = np.union1d(np.setdiff1d(paragraphs, headed), sections)
    sentences = np.union1d(np.setdiff1d(sentences, headed), paragraphs)
    return {"section": sections, "paragraph": paragraphs, "sentence": sentences}


class BorderRanks:
    """How good it is to begin a chunk with each token of one document.

    Args:
        document: its text, language and sections are read.
        prefer: what may begin a chunk, the best first.
    """

    def __init__(self, document: Document, prefer: Sequence[BorderKind]) -> None:
        starts = text_starts(document)
        # The worst first: what is better overwrites it.
        self._starts = [(rank, starts[kind]) for rank, kind in enumerate(reversed(prefer), 1)]
        self._last_start, self._last_end = -1, 0

    def of(self, offsets: NDArray[np.int32]) -> NDArray[np.int8]:
        """int8 (n,): 0 where nothing that is preferred begins with a token, `len(prefer)` where the best does.

        Args:
            offsets: int32 (n, 2), code points of the document's next tokens; calls go through the text in order.
        """
        ranks = np.zeros(len(offsets), dtype=np.int8)
        if not len(offsets):
            return ranks
        starts = offsets[:, 0].astype(np.int64)
        ends_before = np.concatenate([[self._last_end], offsets[:-1, 1]])
        for rank, places in self._starts:
            first, last = np.searchsorted(places, [self._last_start, starts[-1]], side="right")
            here = places[first:last]
            tokens = np.searchsorted(starts, here, side="left")
            ranks[tokens[ends_before[tokens] <= here]] = rank  # a token that reaches over a border hides it
        self._last_start, self._last_end = int(starts[-1]), int(offsets[-1, 1])
        return ranks
