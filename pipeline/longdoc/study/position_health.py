"""What is wrong with a position encoding, in sentences.

Judged are NaN and infinity, positions that cannot be told apart, waves that break, and what a number format loses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

from longdoc.nn.position import AdditivePosition, PositionEncoding
from longdoc.study.position_bias_health import bias_faults
from longdoc.study.position_moments import DTYPES, Moments
from longdoc.study.position_waves import first_break, first_break_of_products

__all__ = ["NOTHING_SAID", "TOLERANCE", "moment_faults", "not_finite"]

TOLERANCE = 0.05  # of a value of size one: below it a model does not notice, above it neighbours begin to blur
NOTHING_SAID = "no position is said at all: without a causal mask the encoder sees a bag of words"


def moment_faults(
    moments: Moments, encoding: PositionEncoding, positions: Tensor, dtype: str = "fp32", ran: Moments | None = None
) -> list[str]:
    """What is wrong with what an encoding says in one layer.

    Args:
        moments: what it says in float32.
        encoding: whose formulas are looked at one by one where trained parameters lie over them.
        positions: (1, L), which ones it was asked for.
        dtype: the number format whose loss of precision is judged.
        ran: what it says in that format; None = `moments`, rounded.
    """
    length = positions.shape[-1]
    faults: list[str] = []
    sound: dict[str, Tensor] = {}  # what holds NaN or repeats rows is no wave, and that has been said
    for name, values in moments.rows.items():
        if (fault := not_finite(name, values, "position")) is not None:
            faults.append(fault)
            continue
        same = _sameness_faults(name, values)
        if not same:
            sound[name] = values
        other = None if ran is None else ran.rows.get(name)
        faults.extend([*same, *_precision_faults(name, values, values if other is None else other, dtype)])
    faults.extend(_wave_faults(sound, encoding, positions))
    if moments.values is not None:
        if (fault := not_finite("what is added to the values", moments.values, "distance", 1 - length)) is not None:
            faults.append(fault)
        elif length > 1 and bool((moments.values == moments.values[:1]).all()):
            faults.append("what is added to the values is the same at every distance")
    if moments.bias is not None:
        faults.extend(bias_faults(moments.bias, dtype, None if ran is None else ran.bias))
    return faults


def not_finite(name: str, values: Tensor, place: str, first: int = 0) -> str | None:
    """The sentence for rows of which one holds NaN or infinity; None where none does."""
    bad = ~torch.isfinite(values).flatten(1).all(-1)
    if not bool(bad.any()):
        return None
    return f"{name} holds NaN or infinity, first at {place} {int(bad.nonzero()[0]) + first}"


def _sameness_faults(name: str, values: Tensor) -> list[str]:
    if len(values) == 1:
        return []
    if bool((values == values[:1]).all()):
        return [f"{name} is the same at every position"]
    twins = _first_twins(values)
    return (
        []
        if twins is None
        else [f"{name} is the same at positions {twins[0]} and {twins[1]}: they cannot be told apart"]
    )


def _first_twins(values: Tensor) -> tuple[int, int] | None:
    seen: dict[bytes, int] = {}
    for number, row in enumerate(values + 0.0):  # -0 is 0
        key = row.numpy().tobytes()
        if key in seen:
            return seen[key], number
        seen[key] = number
    return None


def _precision_faults(name: str, values: Tensor, ran: Tensor, dtype: str) -> list[str]:
    """What `dtype` does to the values, whether they are computed in it or rounded to it."""
    rounded = ran.to(DTYPES[dtype]).double()
    if not bool(torch.isfinite(rounded).all()):
        return [f"{name} overflows in {dtype}"]
    faults = []
    error = float((rounded - values).abs().max())
    if error > TOLERANCE:
        faults.append(f"{name} loses {error:.2g} when rounded to {dtype}")
    if (twins := _first_twins(rounded)) is not None and _first_twins(values) is None:
        faults.append(f"{name} is the same at positions {twins[0]} and {twins[1]} once rounded to {dtype}")
    return faults


def _wave_faults(rows: Mapping[str, Tensor], encoding: PositionEncoding, positions: Tensor) -> list[str]:
    """Where a formula breaks its waves. Trained tables are none: only the formulas beside them are judged."""
    trained = any(True for _ in encoding.parameters())
    judged = {} if trained else rows
    named = [*judged.items(), *(_formulas(encoding, positions) if trained else ())]
    faults = []
    for name, values in named:
        if bool(torch.isfinite(values).all()) and (place := first_break(values)) is not None:
            faults.append(f"{name} breaks its wave pattern at position {place}")
    query, key = judged.get("the turned query"), judged.get("the turned key")
    if not faults and query is not None and key is not None and query.shape == key.shape:
        place = first_break_of_products(query, key)
        if place is not None:
            faults.append(
                f"the product of a query and a key depends on more than their distance from position {place} on"
            )
    return faults


@torch.no_grad()
def _formulas(encoding: PositionEncoding, positions: Tensor) -> Iterator[tuple[str, Tensor]]:
    """What the parts without parameters would add if they were alone."""
    for part in encoding.modules():
        if isinstance(part, AdditivePosition) and not any(True for _ in part.parameters()):
            yield f"what {type(part).__name__} adds", part.vectors(positions)[0].double()
