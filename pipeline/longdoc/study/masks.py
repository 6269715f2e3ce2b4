"""One row's mask from the rules that people name, for drawing."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from longdoc.errors import UsageError
from longdoc.nn.mask import AttentionMask
from longdoc.nn.position.counting import count_positions

__all__ = ["mask_of", "mask_text", "rules_in_words"]


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

    Positions are counted as the encoder counts them: from the real tokens, and anew in each block.

    Args:
        length: L, padding included.
        padding, padding_left: tokens at the end and at the start that are none.
        causal, window: as the encoder's.
        blocks: lengths of the texts packed into the row; together at most the real tokens. What is left is one more.
        global_tokens: positions that see all and are seen by all, whatever the window says; in each block its own.

    Returns:
        bool (L, L), queries down, and names such as `window 2`.

    Raises:
        UsageError: padding that leaves no token, blocks longer than the row, or global tokens without a window.
    """
    if padding + padding_left >= length:
        raise UsageError(f"`padding` must be less than the length ({length}), but is {padding + padding_left} instead.")
    real = length - padding - padding_left
    if sum(blocks) > real:
        raise UsageError(f"`blocks` must hold at most {real} tokens, the real ones, but hold {sum(blocks)} instead.")
    if any(token >= length for token in global_tokens):
        raise UsageError(f"`global` must be in [0, {length}), but reaches {max(global_tokens)} instead.")
    if global_tokens and window is None:
        raise UsageError("`global` needs a `window`: without one every token sees all of its text anyway.")
    place = torch.arange(length)[None] - padding_left
    valid = (place >= 0) & (place < real)
    ends = torch.tensor(list(blocks), dtype=torch.int64).cumsum(0)
    segments = torch.searchsorted(ends, place.clamp(0, real - 1), right=True)
    positions = count_positions(place, valid, segments)
    mask, rules = AttentionMask(torch.ones(1, 1, length, length, dtype=torch.bool)), []
    if window is not None:
        near = AttentionMask.sliding_window(positions, window)
        if global_tokens:
            is_global = torch.isin(positions, torch.tensor(list(global_tokens))) & valid
            near = near | AttentionMask.globals_(is_global)
        mask = mask & near
        rules.append(f"window {window}" + (f" | global {','.join(map(str, global_tokens))}" if global_tokens else ""))
    if blocks:
        mask = mask & AttentionMask.blocks(segments)
        rules.append(f"blocks {','.join(map(str, blocks))}")
    if causal:
        mask = mask & AttentionMask.causal(positions)
        rules.append("causal")
    for name, tokens in (("padding", padding), ("left padding", padding_left)):
        if tokens:
            mask = mask & AttentionMask.padding(valid)
            rules.append(f"{name} {tokens}")
    allowed = mask.allowed
    assert allowed is not None
    return allowed.expand(1, 1, length, length)[0, 0], rules


def rules_in_words(rules: Sequence[str]) -> str:
    """The rules as one expression: `(window 2 | global 0) & causal`."""
    if len(rules) == 1:
        return rules[0]
    return " & ".join(f"({rule})" if "|" in rule else rule for rule in rules) or "no rule"


def mask_text(allowed: Tensor) -> str:
    """The drawing for a terminal: `#` = may attend, `.` = may not; queries down, keys across."""
    return "\n".join("".join("#" if pair else "." for pair in row) for row in allowed.tolist())
