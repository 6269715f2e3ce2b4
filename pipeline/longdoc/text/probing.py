"""What has to be found out about a tokenizer before its tokens can be trusted, by trying it on known words."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from longdoc.text.cutting import CUT_RULES, cut, probe_text

__all__ = ["Encode", "EncodeIds", "find_cut_pattern", "find_glued_separators", "split_specials"]

Encode = Callable[[Sequence[str]], Sequence[tuple[NDArray[np.int32], NDArray[np.int32]]]]
"""Texts -> of each its token ids, int32[n], and offsets, int32[n, 2]."""

EncodeIds = Callable[[Sequence[str]], Sequence[Sequence[int]]]
"""Texts -> of each its token ids."""

_SEPARATORS = "\x0b\x0c\x1c\x1d\x1e\x1f\x85\u2028\u2029"  # they end a word, but BERT's clean-up deletes most of them
_SPACE_MARK = "\u2581"  # SentencePiece writes a space so, and a tokenizer without a decoder leaves it
_WORDS_TRIED = 1000
_WORD_PAIRS = (("a", "b"), ("end", "start"), ("7", "8"))


def split_specials(full: Sequence[int], body: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The ids that `full` has before and after `body`, or None where `body` is not in it as it stands."""
    for lead in range(len(full) - len(body) + 1):
        if body and list(full[lead : lead + len(body)]) == list(body):
            return tuple(full[:lead]), tuple(full[lead + len(body) :])
    return None


def find_glued_separators(encode: Encode, unknown_id: int | None) -> str:
    """The characters that stand between two words (form feed, line separator ...), but that this tokenizer deletes,
    so that the words become one, or does not know."""

    def glues(left: str, mark: str, right: str) -> bool:
        (ids, offsets), (ids_without, _) = encode([left + mark + right, left + right])
        before, after = offsets[:, 0] <= len(left), offsets[:, 1] > len(left)
        across = before & after & (offsets[:, 1] - offsets[:, 0] > 1)
        unknown = before & after & (ids == -1 if unknown_id is None else ids == unknown_id)
        return bool(across.any() or unknown.any()) or np.array_equal(ids, ids_without)

    return "".join(mark for mark in _SEPARATORS if any(glues(left, mark, right) for left, right in _WORD_PAIRS))


def _some(words: list[str]) -> list[str]:
    """All of them, or of very many some from all over."""
    return words[:: 1 + len(words) // _WORDS_TRIED]


def find_cut_pattern(
    encode: Encode, encode_ids: EncodeIds, surfaces: Sequence[str], added: Sequence[str] = ()
) -> re.Pattern[str] | None:
    """Where this tokenizer's texts may be cut; None = nowhere.

    A rule of `cutting` is used when no token of the vocabulary reaches over a place to cut (`the end` in one token),
    and when it changes neither ids nor offsets of a probe: the text of known words, and added tokens, which may swallow
    the space beside them. It is cut at every place, where ids are compared, and at some, where offsets are, too.

    Args:
        encode, encode_ids: the tokenizer.
        surfaces: the text of each token of the vocabulary.
        added: tokens that are looked for in a text before it becomes words.
    """

    def changes_nothing(separator: str, rule: re.Pattern[str]) -> bool:
        # Whether such a token is taken may depend on all words around it (Unigram weighs whole texts): no probe says.
        if any(rule.search(surface.replace(_SPACE_MARK, " ") + "x") for surface in surfaces):
            return False
        between = [f"x{separator}{word}{separator}x" for word in added]
        text = " ".join([probe_text(separator), *_some(between)])
        [(expected_ids, expected_offsets)] = encode([text])
        every = [text[start:end] for start, end in cut(text, rule, 1)]
        if list(chain.from_iterable(encode_ids(every))) != expected_ids.tolist():
            return False
        bounds = list(cut(text, rule, 200))
        parts = encode([text[start:end] for start, end in bounds])
        ids = np.concatenate([part for part, _ in parts])
        offsets = np.concatenate([part + start for (_, part), (start, _) in zip(parts, bounds, strict=True)])
        return np.array_equal(ids, expected_ids) and np.array_equal(offsets, expected_offsets)

    rules = [rule for separator, rule in CUT_RULES.items() if changes_nothing(separator, re.compile(rule))]
    return re.compile("|".join(rules)) if rules else None
