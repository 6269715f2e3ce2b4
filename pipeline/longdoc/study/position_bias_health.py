"""What is wrong with a bias of the scores, in sentences.

Shape letters: H heads, L positions.
"""

from __future__ import annotations

import torch
from torch import Tensor

from longdoc.study.position_moments import DTYPES, by_distance

__all__ = ["bias_faults"]

_TOLERANCE = 0.05  # a score that is off by this changes an attention weight by a twentieth
_HEARD = 10.0  # so far below the best, a score has no weight worth speaking of
_LINE = 16  # a bias that is a straight line over so many distances is meant to be one


def bias_faults(bias: Tensor, dtype: str = "fp32", ran: Tensor | None = None) -> list[str]:
    """What is wrong with the bias (H, L, L) of one layer at a number format; `ran` = as it is said in that format."""
    if not bool(torch.isfinite(bias).all()):
        head, query, key = (int(n) for n in (~torch.isfinite(bias)).nonzero()[0])
        return [f"the bias of the scores holds NaN or infinity, first in head {head} at query {query} and key {key}"]
    if bias.shape[-1] == 1:
        return []
    if not bool(bias.any()):
        return ["the bias of the scores is 0 everywhere (as trained kinds that start at 0 are)"]
    faults = _flat(bias)
    exact = by_distance(bias)
    if (blurred := _blurred_line(exact)) is not None:
        head, distance = blurred
        faults.append(
            f"the bias of the scores is the same at distances {distance} and {distance + 1} in head {head}, on what is "
            "otherwise a straight line: it is computed in a format of too few bits"
        )
    faults.extend(_precision(exact, exact if ran is None else by_distance(ran), dtype))
    return faults


def _flat(bias: Tensor) -> list[str]:
    flat = (bias == bias[:, :1, :1]).flatten(1).all(-1)
    if bool(flat.all()):
        return ["the bias of the scores is the same at every distance: it says nothing about position"]
    heads = flat.nonzero()[:, 0].tolist()
    if not heads:
        return []
    word = "head" if len(heads) == 1 else "heads"
    return [f"the bias of the scores is the same at every distance in {word} {', '.join(map(str, heads))}"]


def _blurred_line(exact: Tensor) -> tuple[int, int] | None:
    """Head and distance where a straight line takes the same value twice and then goes on; None for no such place."""
    middle = exact.shape[1] // 2
    for side in (exact[:, middle:], exact[:, : middle + 1].flip(1)):
        steps = side.diff(dim=1)
        if steps.shape[1] <= _LINE:
            return None
        near = steps[:, :_LINE]
        mean = near.mean(1, keepdim=True)
        line = ((mean != 0) & ((near - mean).abs() <= 0.1 * mean.abs())).all(1)
        ends = steps.flip(1).eq(0).cumprod(1).flip(1).bool()  # it may stay as it is from some distance on
        twins = (steps == 0) & ~ends & line[:, None]
        if bool(twins.any()):
            head, distance = (int(n) for n in twins.nonzero()[0])
            return head, distance
    return None


def _precision(exact: Tensor, ran: Tensor, dtype: str) -> list[str]:
    """What rounding to `dtype` would do: the CPU's kernel alone takes a bias that is finer than the queries."""
    rounded = ran.to(DTYPES[dtype]).double()
    middle = exact.shape[1] // 2
    if not bool(torch.isfinite(rounded).all()):
        head, place = min(
            ((int(h), int(d)) for h, d in (~torch.isfinite(rounded)).nonzero()), key=lambda at: abs(at[1] - middle)
        )
        return [
            f"the bias of the scores overflows to infinity in {dtype}, first in head {head} at distance "
            f"{abs(place - middle)}"
        ]
    change = (rounded - exact).abs()
    error = float(change.max())
    after = exact[:, middle:].diff(dim=1).ne(0) & rounded[:, middle:].diff(dim=1).eq(0)
    heard = exact > exact.amax(1, keepdim=True) - _HEARD
    if error <= _TOLERANCE or not (bool(after.any()) or bool((change[heard] > _TOLERANCE).any())):
        return []
    twins = ""
    if bool(after.any()):
        distance = int(after.any(0).nonzero()[0])
        twins = f", and is then the same at distances {distance} and {distance + 1}"
    return [
        f"the bias of the scores loses {error:.2g} when rounded to {dtype}{twins}: every device but the CPU rounds it"
    ]
