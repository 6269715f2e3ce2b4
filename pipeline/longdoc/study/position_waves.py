"""Whether rows of numbers are waves, and where they stop being the same waves.

A sine and a cosine of one frequency and size make products of two rows that depend on their distance alone (Vaswani et
al. 2017, arXiv 1706.03762, section 3.5): `sin a sin b + cos a cos b = cos(a - b)`. Whatever changes the size, phase or
frequency of some rows, or their order, changes a product.
"""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["first_break", "first_break_of_products"]

_NEAR = 3  # a row that agrees with its neighbours at so many distances goes on as they do
_NOWHERE = -1


def first_break(values: Tensor) -> int | None:
    """The first row at which waves break; None where none does, or where the rows are no waves.

    They claim to be waves if more than half of the rows go on as the row before them does; trained tables do not. A
    sine without its cosine, as odd widths have, is left out: the last component or, where all sines come first, the
    middle one.

    Args:
        values: float64 (L, D), finite.
    """
    width = values.shape[1]
    ways = [values]
    if width % 2:
        ways = [values[:, [c for c in range(width) if c != dropped]] for dropped in (width - 1, width // 2)]
    found = [_first_break(way, way) for way in ways if way.shape[1]]
    claimed = [place for place in found if place is not None]
    return max(claimed) if claimed and _NOWHERE not in claimed else None


def first_break_of_products(queries: Tensor, keys: Tensor) -> int | None:
    """The same for the products of two sets of rows, (L, D) each; None where either set is no unbroken wave itself."""
    if any(_first_break(rows, rows) != _NOWHERE for rows in (queries, keys)):
        return None
    place = _first_break(queries, keys, claimed=True)
    return None if place == _NOWHERE else place


def _first_break(left: Tensor, right: Tensor, claimed: bool = False) -> int | None:
    """The first break, `_NOWHERE` for waves without one, None for what claims to be none."""
    if len(left) < _NEAR + 2:
        return None
    products = left @ right.T
    # float32 angles are off by up to 1e-7 of the position
    tolerance = (1e-5 + 2e-7 * len(left)) * float(products.diagonal().abs().median())
    if tolerance == 0:
        return None
    change = (products[1:, 1:] - products[:-1, :-1]).abs() > tolerance  # row p: p + 1 against p, at the same distances
    goes_on = ~torch.stack([change.diagonal(-k)[_NEAR - 1 - k :] for k in range(_NEAR)]).any(0)
    if not claimed and float(goes_on.double().mean()) <= 0.5:
        return None
    broken = change.tril().any(-1)
    if not bool(broken.any()):
        return _NOWHERE
    place = int(broken.nonzero()[0]) + 1
    if place == 1 and _first_break(left[1:], right[1:], claimed) == _NOWHERE:
        return 0  # all the others agree
    return place
