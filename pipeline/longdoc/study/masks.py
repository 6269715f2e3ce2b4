"""One row's mask from the rules that people name, for drawing."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from longdoc.errors import UsageError, counted
from longdoc.nn.mask import AttentionMask
from longdoc.nn.position.counting import count_positions

__all__ = ["MaskRow", "mask_of", "mask_text", "padding_rules", "pairs_in_words", "real_pairs", "rules_in_words"]


class MaskRow:
    """One row of tokens: how long, where its padding is, and which texts are packed into it.

    Args:
        length: L, padding included.
        padding, padding_left: tokens at the end and at the start that are none.
        blocks: lengths of the texts packed into the row; together at most the real tokens. What is left is one more.

    Attributes:
        valid: bool (1, L), True = a real token.
        segments: int64 (1, L), the number of each token's text.
        positions: int64 (1, L), counted as the encoder counts them: from the real tokens, and anew in each block.
        texts: lengths of all texts, with the one of what is left.

    Raises:
        UsageError: padding that leaves no token, or blocks longer than the row.
    """

    def __init__(self, length: int, padding: int = 0, padding_left: int = 0, blocks: Sequence[int] = ()) -> None:
        if padding + padding_left >= length:
            raise UsageError(
                f"`padding` must be less than the length ({length}), but is {padding + padding_left} instead."
            )
        real = length - padding - padding_left
        if sum(blocks) > real:
            raise UsageError(
                f"`blocks` must hold at most {real} tokens, the real ones, but hold {sum(blocks)} instead."
            )
        self.length, self.padding, self.padding_left = length, padding, padding_left
        left = real - sum(blocks)
        self.texts = [*blocks, *([left] if left else [])]
        self.block_rules = [f"blocks {','.join(map(str, self.texts))}"] if blocks else []
        if blocks and left:
            self.block_rules[0] += " (the last is what is left)"
        place = torch.arange(length)[None] - padding_left
        self.valid = (place >= 0) & (place < real)
        ends = torch.tensor(list(blocks), dtype=torch.int64).cumsum(0)
        self.segments = torch.searchsorted(ends, place.clamp(0, real - 1), right=True)
        self.positions = count_positions(place, self.valid, self.segments)


def mask_of(
    length: int,
    padding: int = 0,
    causal: bool = False,
    window: int | None = None,
    blocks: Sequence[int] = (),
    global_tokens: Sequence[int] = (),
    padding_left: int = 0,
) -> tuple[Tensor, list[str]]:
    """The pairs that all rules allow together, and the names of the rules.

    Args:
        length, padding, padding_left, blocks: see `MaskRow`.
        causal, window: as the encoder's.
        global_tokens: positions that see all and are seen by all, whatever the window says; in each block its own.

    Returns:
        bool (L, L), queries down, and names such as `window 2`.

    Raises:
        UsageError: padding that leaves no token, blocks longer than the row, global tokens that no text has, or global
            tokens without a window.
    """
    row = MaskRow(length, padding, padding_left, blocks)
    if global_tokens and not 0 <= min(global_tokens) <= max(global_tokens) < max(row.texts):
        raise UsageError(
            f"`global` must be in [0, {max(row.texts)}), the tokens of the longest text, but reaches "
            f"{max(global_tokens)} instead."
        )
    if global_tokens and window is None:
        raise UsageError("`global` needs a `window`: without one every token sees all of its text anyway.")
    mask, rules = AttentionMask(torch.ones(1, 1, length, length, dtype=torch.bool)), []
    if window is not None:
        near = AttentionMask.sliding_window(row.positions, window)
        if global_tokens:
            is_global = torch.isin(row.positions, torch.tensor(list(global_tokens))) & row.valid
            near = near | AttentionMask.globals_(is_global)
        mask = mask & near
        rules.append(f"window {window}" + (f" | global {','.join(map(str, global_tokens))}" if global_tokens else ""))
    if blocks:
        mask = mask & AttentionMask.blocks(row.segments)
        rules += row.block_rules
    if causal:
        mask = mask & AttentionMask.causal(row.positions)
        rules.append("causal")
    allowed = (mask & AttentionMask.padding(row.valid)).allowed
    assert allowed is not None
    return allowed.expand(1, 1, length, length)[0, 0], rules + padding_rules(row)


def padding_rules(row: MaskRow) -> list[str]:
    """`padding 3`, `left padding 2`, where there is any."""
    sides = (("padding", row.padding), ("left padding", row.padding_left))
    return [f"{name} {tokens}" for name, tokens in sides if tokens]


def real_pairs(allowed: Tensor) -> tuple[int, int]:
    """How many pairs of real tokens may attend, and how many there are. What padding asks for counts for nothing."""
    real = allowed.any(0)  # a real token sees itself, and nobody sees padding
    return int(allowed[real].sum()), int(real.sum()) ** 2


def pairs_in_words(allowed: Tensor) -> str:
    """`12 of 25 pairs may attend`."""
    may, pairs = real_pairs(allowed)
    real = " of real tokens" if pairs < allowed.numel() else ""
    return f"{may} of {counted(pairs, 'pair')}{real} may attend"


def rules_in_words(rules: Sequence[str]) -> str:
    """The rules as one expression: `(window 2 | global 0) & causal`."""
    if len(rules) == 1:
        return rules[0]
    return " & ".join(f"({rule})" if "|" in rule else rule for rule in rules) or "no rule"


def mask_text(allowed: Tensor) -> str:
    """The drawing for a terminal: `#` = may attend, `.` = may not; queries down, keys across."""
    return "\n".join("".join("#" if pair else "." for pair in row) for row in allowed.tolist())
