"""Where a long text may be cut so that its pieces give the tokens of the whole.

The main rule: cut before a single space (U+0020) that has a non-space on both sides; the space belongs to the right
piece, because most tokenizers read a word together with the space before it. Two further rules help texts that have
no such place: before a single line break, and between two ideographs. Which rules hold is a property of the
tokenizer, so each one is tried on `probe_text` when a tokenizer is opened, and only those that change nothing are used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from longdoc.errors import DocumentError

__all__ = ["CUT_RULES", "LARGEST_RUN", "cut", "probe_text"]

LARGEST_RUN = 8 * 1024 * 1024
"""Characters that may follow each other without a place to cut. Such a run is encoded in one go and costs 80 to 550
bytes of memory a character, so a longer one is refused as `too_large`."""

CUT_RULES: dict[str, str] = {
    " ": r"(?<=\S) (?=\S)",
    "\n": r"(?<=\S)\r?\n(?=\S)",
    "": r"(?<=[\u4e00-\u9fff])(?=[\u4e00-\u9fff])",
}
"""What stands between two words -> the pattern of a place to cut; the cut is before the match."""

# 龘靐 is hardly in any vocabulary: some models make one unknown token of several unknown characters.
_CONTEXTS = (
    *("a", "word", "Word", "HTML", "x" * 101, "it's", "'s", "42", "3.5", "a1b2", "_", "-", "...", "!", "(", "],"),
    *("##ing", "[SEP]", "</s>", "\u2581x", "\u0120x", "é", "e\u0301", "\u0301x", "ß", "İ", "ﬁ", "½", "㎎", "ﷺ"),
    *("中", "中文", "龘靐", "日本語の", "ｶﾞ", "かな", "한국", "\u1112\u1161\u11ab", "\u1161\u11ab", "ไทยๆ", "हिन्दी"),
    *("שלום", "عَرَب", "мир", "😀", "👨\u200d👩", "❤\ufe0f", "\u200bz", "z\u200b", "\ufeff", "\u00ad"),
    *("\x00q", "q\x00", "\ufffd", "𝐀"),
)


def probe_text(separator: str) -> str:
    """A fixed text in which each kind of word stands before and after each other kind, with `separator` between."""
    rows = ((left, right) for row, left in enumerate(_CONTEXTS) for right in _CONTEXTS[: row + 1])
    return separator.join(chain.from_iterable(rows))


def cut(text: str, pattern: re.Pattern[str] | None, size: int, largest: int = LARGEST_RUN) -> Iterator[tuple[int, int]]:
    """Half-open pieces of `text`, in order and without gaps, each at least `size` characters long but for the last.

    Args:
        text: what is cut; time is linear in its length.
        pattern: the place to cut is before a match; None = nowhere.
        size: a piece ends at the first place to cut after so many characters.
        largest: characters that a piece may have.

    Raises:
        DocumentError: `too_large`, when more than `largest` characters follow each other without a place to cut.
    """
    start = 0
    while pattern is not None and len(text) - start > size:
        match = pattern.search(text, start + size, start + largest + 2)  # a look-ahead needs the character after
        if match is None or match.start() - start > largest:
            break
        yield start, match.start()
        start = match.start()
    if len(text) - start > largest:
        raise DocumentError(
            "too_large",
            f"The text must have a place where it can be cut without changing its tokens within {largest} characters, "
            f"but has none after character {start}. Put spaces or line breaks between its words, or split it.",
            stage="tokenize",
        )
    yield start, len(text)
