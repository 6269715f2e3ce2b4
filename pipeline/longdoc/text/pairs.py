"""How a tokenizer puts two texts into one row: which special tokens stand around them, and which text is of which type.

The tokenizer itself is asked, by a pair of known words: BERT separates a pair by one token and numbers its texts 0 and
1, RoBERTa separates it by two and numbers both 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import NamedTuple

__all__ = ["PairTemplate", "TokenTypes", "find_pair_template"]

PairEncoding = Sequence[tuple[int, int, int | None]]
"""For each token of an encoded pair: its id, its type, and which of the two texts it belongs to (None: special)."""

_PROBES = (("a", "e"), ("0", "1"), (".", "."), ("a", "a"))


class TokenTypes(NamedTuple):
    """Token types along a row: of the tokens before the body, of those in it, and of those behind it."""

    lead: tuple[int, ...]
    body: int
    trail: tuple[int, ...]


class PairTemplate(NamedTuple):
    """Special tokens of a pair, by their ids, with the types of all tokens.

    Attributes:
        lead, between, trail: ids before the first text, between the two, and behind the second.
        lead_types, between_types, trail_types: their types.
        first_type, second_type: types of the tokens of the two texts.
    """

    lead: tuple[int, ...]
    between: tuple[int, ...]
    trail: tuple[int, ...]
    lead_types: tuple[int, ...]
    between_types: tuple[int, ...]
    trail_types: tuple[int, ...]
    first_type: int
    second_type: int

    @property
    def specials(self) -> int:
        """Special tokens of a pair."""
        return len(self.lead) + len(self.between) + len(self.trail)

    @property
    def most_type(self) -> int:
        """The largest type."""
        return max(*self.lead_types, *self.between_types, *self.trail_types, self.first_type, self.second_type)

    def types(self, first: int) -> TokenTypes | None:
        """The types along a row whose first text has so many tokens; its body is the second text. None = all are 0."""
        if not self.most_type:
            return None
        lead = (*self.lead_types, *[self.first_type] * first, *self.between_types)
        return TokenTypes(lead, self.second_type, self.trail_types)


def find_pair_template(encode: Callable[[str, str], PairEncoding]) -> PairTemplate | None:
    """The template of a tokenizer's pairs; None where the two texts do not stand in their order, each in one piece.

    Args:
        encode: two words -> the tokens of the pair.
    """
    for first, second in _PROBES:
        runs = [(text, list(tokens)) for text, tokens in groupby(encode(first, second), key=lambda token: token[2])]
        texts = [text for text, _ in runs if text is not None]
        if texts != [0, 1]:
            continue
        parts: list[list[tuple[int, int, int | None]]] = [[], [], []]
        seen = 0
        for text, tokens in runs:
            if text is None:
                parts[seen] = tokens
            else:
                seen += 1
        of_text = {text: tokens[0][1] for text, tokens in runs if text is not None}
        ids = [tuple(token[0] for token in part) for part in parts]
        types = [tuple(token[1] for token in part) for part in parts]
        return PairTemplate(ids[0], ids[1], ids[2], types[0], types[1], types[2], of_text[0], of_text[1])
    return None
