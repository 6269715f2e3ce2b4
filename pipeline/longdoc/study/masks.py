"""One row's mask from the rules that people name, for drawing."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from longdoc.errors import UsageError
from longdoc.nn.mask import AttentionMask

__all__ = ["mask_of", "mask_text", "rules_in_words"]


def mask_of(
    length: int,
    padding: int = 0,
    causal: bool = False,
    window: int | None = None,
    blocks: Sequence[int] = (),
    global_tokens: Sequence[int] = (),
) -> tuple[Tensor, list[str]]:
    """The pairs that all rules allow together, and the names of the rules.

    Args:
        length: L, padding included.
        padding: tokens at the end that are none.
        causal, window: as the encoder's.
        blocks: lengths of the texts packed into the row; together at most L.
        global_tokens: they see all and are seen by all, whatever the window says.

    Returns:
        bool (L, L), queries down, and names such as `window 2`.
    """
    if padding >= length:
        raise UsageError(f"`padding` must be less than the length ({length}), but is {padding} instead.")
    if sum(blocks) > length:
        raise UsageError(f"`blocks` must hold at most {length} tokens, the length, but hold {sum(blocks)} instead.")
    if any(token >= length for token in global_tokens):
        raise UsageError(f"`global` must be in [0, {length}), but reaches {max(global_tokens)} instead.")
    positions = torch.arange(length)[None]
    mask, rules = AttentionMask(torch.ones(1, 1, length, length, dtype=torch.bool)), []
    if window is not None:
        near = AttentionMask.sliding_window(positions, window)
        if global_tokens:
            near = near | AttentionMask.globals_(torch.isin(positions, torch.tensor(list(global_tokens))))
        mask = mask & near
        rules.append(f"window {window}" + (f" | global {','.join(map(str, global_tokens))}" if global_tokens else ""))
    if blocks:
        ends = torch.tensor(list(blocks)).cumsum(0)
        mask = mask & AttentionMask.blocks(torch.searchsorted(ends, positions, right=True))
        rules.append(f"blocks {','.join(map(str, blocks))}")
    if causal:
        mask = mask & AttentionMask.causal(positions)
        rules.append("causal")
    if padding:
        mask = mask & AttentionMask.padding(positions < length - padding)
        rules.append(f"padding {padding}")
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
