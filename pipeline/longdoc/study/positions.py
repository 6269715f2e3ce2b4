"""A position encoding in numbers: what it adds, how it turns, how it biases, and whether something is wrong with it.

Everything is asked through the three moments that all kinds share, so a new kind is studied without a word here.

Shape letters: L positions, D width, H heads, Dh width of a head.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from longdoc.errors import UsageError
from longdoc.nn.position import Geometry, PositionConfig, PositionEncoding

__all__ = ["PositionStudy", "health", "study_positions"]

_DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
_TOLERANCE = 0.05  # of a value of size one: below it a model does not notice, above it neighbours begin to blur


@dataclass(frozen=True)
class PositionStudy:
    """What one encoding does to `length` positions.

    Attributes:
        kind, length: what was studied.
        added: float64 (L, D), what is added to embeddings; None where nothing is.
        similarity: float64 (L,), cosine of what is added at position 0 and at each distance; None without `added`.
        turned: float64 (L, Dh), a query of ones as the first layer turns it; None where it is not turned.
        agreement: float64 (L,), the product of that query with a key of ones, by distance, over its value at 0.
        bias: float64 (H, L, L), what is added to the scores of the first layer for a query of ones; None for nothing.
        verdict: sentences about what is wrong; empty when nothing is.
    """

    kind: str
    length: int
    added: Tensor | None = None
    similarity: Tensor | None = None
    turned: Tensor | None = None
    agreement: Tensor | None = None
    bias: Tensor | None = None
    verdict: list[str] = field(default_factory=list)

    @property
    def bias_by_distance(self) -> Tensor | None:
        """(H, 2L - 1): the mean bias of each head at key minus query = -(L - 1) ... L - 1."""
        if self.bias is None:
            return None
        rows = [self.bias.diagonal(offset, 1, 2).mean(-1) for offset in range(1 - self.length, self.length)]
        return torch.stack(rows, -1)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, rounded to seven digits, for JSON."""

        def plain(value: Tensor | None) -> Any:
            return None if value is None else torch.round(value, decimals=7).tolist()

        return {
            "kind": self.kind,
            "length": self.length,
            "added": plain(self.added),
            "similarity_by_distance": plain(self.similarity),
            "turned": plain(self.turned),
            "agreement_by_distance": plain(self.agreement),
            "bias_by_distance": plain(self.bias_by_distance),
            "healthy": not self.verdict,
            "verdict": self.verdict,
        }


@torch.no_grad()
def study_positions(
    config: PositionConfig, width: int = 64, heads: int = 4, length: int = 100, dtype: str = "fp32", seed: int = 0
) -> PositionStudy:
    """Build an encoding and look at its first `length` positions.

    Args:
        config: which one.
        width, heads: D and H of the encoder that it would serve.
        length: L.
        dtype: `fp32`, `bf16` or `fp16`: the number format whose loss of precision the verdict judges.
        seed: of kinds that are trained, which start at random.

    Raises:
        UsageError: an unknown number format, or a width that cannot be shared out among the heads.
    """
    if dtype not in _DTYPES:
        raise UsageError(f"`dtype` must be one of {', '.join(_DTYPES)}, but is not.")
    if width % heads:
        raise UsageError(f"`width` must be a multiple of `heads` ({heads}), but is {width} instead.")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        encoding = config.build(Geometry(width, heads, width // heads, 1, length))
    return _study(encoding, config.kind, width, heads, length, dtype)


def _study(encoding: PositionEncoding, kind: str, width: int, heads: int, length: int, dtype: str) -> PositionStudy:
    head_width = width // heads
    positions = torch.arange(length)[None]
    added: Tensor | None = encoding.embed(torch.zeros(1, length, width), positions)[0].double()
    plan = encoding.plan(positions, torch.float32)
    ones = torch.ones(1, heads, length, head_width)
    q, k = plan.rotate(ones, ones, 0)
    turned: Tensor | None = q[0, 0].double()
    bias = plan.content_bias(ones, ones, lambda table: _as_is(table, heads), 0)
    if added is not None and not bool(added.any()):
        added = None
    if turned is not None and bool((turned == 1).all()):
        turned = None
    square = None if bias is None else bias.expand(1, heads, length, length)[0].double()
    found = PositionStudy(
        kind,
        length,
        added=added,
        similarity=None if added is None else torch.cosine_similarity(added[:1], added, dim=-1),
        turned=turned,
        agreement=None if turned is None else (q[0, 0, :1].double() @ k[0, 0].double().T)[0] / head_width,
        bias=square,
    )
    found.verdict.extend(health(encoding, found, dtype))
    return found


def _as_is(table: Tensor, heads: int) -> tuple[Tensor, Tensor]:
    """Stands in for a layer's projections: the table itself, cut into heads."""
    cut = table.view(len(table), heads, -1).transpose(0, 1)
    return cut, cut


def health(encoding: PositionEncoding, study: PositionStudy, dtype: str = "fp32") -> list[str]:
    """What is wrong with an encoding at this length and number format, in sentences; nothing when it is healthy."""
    faults: list[str] = []
    parts = {"what is added": study.added, "the turned query": study.turned}
    for name, values in parts.items():
        if values is None:
            continue
        if not bool(torch.isfinite(values).all()):
            faults.append(f"{name} holds NaN or infinity")
            continue
        if study.length > 1 and bool((values == values[:1]).all()):
            faults.append(f"{name} is the same at every position")
        elif (twins := _first_twins(values)) is not None:
            faults.append(f"{name} is the same at positions {twins[0]} and {twins[1]}: they cannot be told apart")
        faults.extend(_wave_faults(name, values))
        faults.extend(_precision_faults(name, values, dtype))
    if study.bias is not None:
        if not bool(torch.isfinite(study.bias).all()):
            faults.append("the bias of the scores holds NaN or infinity")
        elif not study.bias.any():
            faults.append("the bias of the scores is 0 everywhere (as trained kinds that start at 0 are)")
    if study.added is None and study.turned is None and study.bias is None:
        faults.append("no position is said at all: without a causal mask the encoder sees a bag of words")
    limit = encoding.max_tokens
    if limit is not None and study.length > limit:
        faults.append(f"positions from {limit} on are refused")
    return faults


def _first_twins(values: Tensor) -> tuple[int, int] | None:
    seen: dict[bytes, int] = {}
    for number, row in enumerate(values):
        key = row.numpy().tobytes()
        if key in seen:
            return seen[key], number
        seen[key] = number
    return None


def _wave_faults(name: str, values: Tensor) -> list[str]:
    """Sines and cosines keep the length of a row; a formula whose rows change their length is a broken wave.

    Only judged where the first rows are a wave at all, so trained tables are left alone.
    """
    lengths = values.square().sum(-1)
    head = lengths[: min(16, len(lengths))]
    if len(lengths) <= 16 or float(head.std()) > 1e-4 * float(head.mean()):
        return []
    off = (lengths - head.mean()).abs() > 1e-3 * head.mean()
    return [f"{name} breaks its wave pattern at position {int(off.nonzero()[0])}"] if bool(off.any()) else []


def _precision_faults(name: str, values: Tensor, dtype: str) -> list[str]:
    """What rounding to `dtype` would do: to the values, and to positions that are kept in that format."""
    target = _DTYPES[dtype]
    faults = []
    rounded = values.to(target).double()
    error = float((rounded - values).abs().max())
    if error > _TOLERANCE:
        faults.append(f"{name} loses {error:.2g} when rounded to {dtype}")
    if (twins := _first_twins(rounded)) is not None and _first_twins(values) is None:
        faults.append(f"{name} is the same at positions {twins[0]} and {twins[1]} once rounded to {dtype}")
    return faults
