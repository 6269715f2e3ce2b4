"""A position encoding in numbers: what it adds, how it turns, how it biases, and whether something is wrong with it.

Everything is asked through the moments that all kinds share, so a new kind is studied without a word here.

Shape letters: L positions, E width of the embeddings, H heads, Dh width of a head.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from longdoc.errors import UsageError
from longdoc.nn.position import Geometry, PositionConfig, PositionEncoding
from longdoc.study.position_axes import AxisStudy, GridStudy, axis_faults, axis_notes, study_axes, study_grid
from longdoc.study.position_health import NOTHING_SAID, moment_faults
from longdoc.study.position_moments import DTYPES, Moments, by_distance, moments_of

__all__ = ["PositionStudy", "health", "study_encoding", "study_positions"]

_MOST_NUMBERS = 1 << 26  # 4,096 positions at width 16,384: half a gigabyte in float64, of which there are some copies
_MOST_PAIRS = 1 << 28  # 16 heads at 4,096 positions: a gigabyte in float32


@dataclass(frozen=True)
class PositionStudy:
    """What one encoding does to `length` positions.

    Attributes:
        kind, length: what was studied; positions that the encoding refuses are not.
        added: float64 (L, E), what is added to embeddings; None where nothing is.
        similarity: float64 (L,), cosine of what is added at position 0 and at each distance; None without `added`.
        turned, turned_key: float64 (L, Dh), a query and a key of ones as the first layer turns them, (L, H * Dh) where
            heads differ; None where they are not turned.
        agreement: float64 (L,), the product of that query at 0 with that key by distance, over Dh.
        bias: (H, L, L), what is added to the scores of the first layer for queries and keys of ones; None for nothing.
        values: float64 (2L - 1, Dh), what is added where all attention is on the key at distance -(L - 1) ... L - 1.
        width, heads, dtype: what for.
        axes, grid: what is said along further axes, where any are read.
        verdict: sentences about what is wrong; empty when nothing is.
        notes: sentences that one should know and that are no faults.
    """

    kind: str
    length: int
    added: Tensor | None = None
    similarity: Tensor | None = None
    turned: Tensor | None = None
    turned_key: Tensor | None = None
    agreement: Tensor | None = None
    bias: Tensor | None = None
    values: Tensor | None = None
    width: int = 0
    heads: int = 0
    dtype: str = "fp32"
    axes: tuple[AxisStudy, ...] = ()
    grid: GridStudy | None = None
    verdict: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def bias_by_distance(self) -> Tensor | None:
        """float64 (H, 2L - 1): the mean bias of each head at key minus query = -(L - 1) ... L - 1."""
        return None if self.bias is None else by_distance(self.bias)

    @property
    def moments(self) -> Moments:
        """What is said, without what follows from it."""
        return Moments(self.added, self.turned, self.turned_key, self.bias, self.values)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, rounded to seven digits, for JSON: NaN and infinity are None and counted in `not_finite`."""
        numbers: dict[str, Tensor | None] = {
            "added": self.added,
            "similarity_by_distance": self.similarity,
            "turned": self.turned,
            "turned_key": self.turned_key,
            "agreement_by_distance": self.agreement,
            "bias_by_distance": self.bias_by_distance,
            "values_by_distance": self.values,
        }
        bad = {name: int((~torch.isfinite(n)).sum()) for name, n in numbers.items() if n is not None}
        return {
            "kind": self.kind,
            "length": self.length,
            "width": self.width,
            "heads": self.heads,
            "dtype": self.dtype,
            **{name: _plain(each) for name, each in numbers.items()},
            "axes": [
                {
                    "axis": each.axis,
                    "name": each.name,
                    "added_beyond_step_0": _plain(each.changed),
                    "turned": _plain(each.moments.query),
                }
                for each in self.axes
            ],
            "not_finite": {name: count for name, count in bad.items() if count},
            "healthy": not self.verdict,
            "verdict": self.verdict,
            "notes": self.notes,
        }


def _plain(value: Tensor | None) -> Any:
    if value is None:
        return None
    if value.ndim > 1:
        return [_plain(each) for each in value]
    return [number if math.isfinite(number) else None for number in torch.round(value.double(), decimals=7).tolist()]


def study_positions(
    config: PositionConfig,
    width: int = 64,
    heads: int = 4,
    length: int = 100,
    dtype: str = "fp32",
    seed: int = 0,
    geometry: Geometry | None = None,
) -> PositionStudy:
    """Build an encoding and look at its first `length` positions.

    Args:
        config: which one.
        width, heads: of the encoder that it would serve.
        length: L.
        dtype: `fp32`, `bf16` or `fp16`: the number format whose loss of precision the verdict judges.
        seed: of kinds that are trained, which start at random.
        geometry: of the encoder that it does serve, instead of `width`, `heads`, and tables as long as `length`.

    Raises:
        UsageError: an unknown number format, a width that cannot be shared out among the heads, or more than fits
            into memory.
    """
    if geometry is None:
        if width % heads:
            raise UsageError(f"`width` must be a multiple of `heads` ({heads}), but is {width} instead.")
        geometry = Geometry(width, heads, width // heads, 1, length)
    _check_size(config, geometry, length)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        encoding = config.build(geometry)
    return study_encoding(encoding, geometry, config.kind, length, dtype)


def _check_size(config: PositionConfig, geometry: Geometry, length: int) -> None:
    """Refuse what no memory holds, before minutes are spent on it."""
    wide = length * max(geometry.embedding_width, geometry.heads * geometry.head_width)
    sizes = [
        ("`length` x `width`", wide, _MOST_NUMBERS),
        ("`heads` x `length` x `length`", geometry.heads * length * length, _MOST_PAIRS),
    ]
    if wide <= _MOST_NUMBERS:
        with torch.device("meta"):
            weights = sum(weight.numel() for weight in config.build(geometry).parameters())
        sizes.append(("The weights of the encoding", weights, _MOST_NUMBERS))
    for name, size, most in sizes:
        if size > most:
            raise UsageError(
                f"{name} must be at most {most:,} numbers to be studied, but is {size:,} instead. Study a smaller one."
            )


@torch.no_grad()
def study_encoding(
    encoding: PositionEncoding, geometry: Geometry, kind: str, length: int = 100, dtype: str = "fp32"
) -> PositionStudy:
    """Look at the first `length` positions of an encoding, of any kind, in every layer of an encoder.

    Raises:
        UsageError: an unknown number format.
    """
    if dtype not in DTYPES:
        raise UsageError(f"`dtype` must be one of {', '.join(DTYPES)}, but is {dtype!r} instead.")
    limit = encoding.max_tokens
    seen = length if limit is None else min(length, limit)
    positions = torch.arange(seen)[None]
    said = moments_of(encoding, geometry, positions)
    query, key = said.query, said.key
    if query is not None or key is not None:
        still = torch.ones(seen, (query if query is not None else key).shape[1], dtype=torch.float64)  # type: ignore[union-attr]
        query, key = still if query is None else query, still if key is None else key
    axes = study_axes(encoding, geometry)
    study = PositionStudy(
        kind,
        seen,
        added=said.added,
        similarity=None if said.added is None else torch.cosine_similarity(said.added[:1], said.added, dim=-1),
        turned=said.query,
        turned_key=said.key,
        agreement=_agreement(query, key),
        bias=said.bias,
        values=said.values,
        width=geometry.width,
        heads=geometry.heads,
        dtype=dtype,
        axes=tuple(axes),
        grid=study_grid(encoding, geometry, axes),
    )
    ran = None if dtype == "fp32" else moments_of(encoding, geometry, positions, dtype=DTYPES[dtype])
    verdict = _verdict(encoding, study, dtype, ran)
    for layer in range(1, geometry.layers):
        here = moments_of(encoding, geometry, positions, layer)
        faults = moment_faults(here, encoding, positions, dtype)
        verdict.extend(f"in layer {layer}: {fault}" for fault in faults if fault not in verdict)
    verdict.extend(fault for axis in axes for fault in axis_faults(axis))
    if seen < length:
        verdict.append(f"positions from {limit} on are refused")
    notes = [note for axis in axes for note in axis_notes(axis)]
    if seen == 1:
        notes.append("one position has no other to be told from: ask for 2 or more")
    elif _unlike_at_one_distance(said.bias):
        notes.append("the bias of the scores depends on more than the distance: the curves are means")
    return replace(study, verdict=verdict, notes=notes)


def _agreement(query: Tensor | None, key: Tensor | None) -> Tensor | None:
    if query is None or key is None or query.shape != key.shape:
        return None
    return key @ query[0] / query.shape[1]


def _unlike_at_one_distance(bias: Tensor | None) -> bool:
    if bias is None:
        return False
    size = float(bias.abs().max())
    return bool(((bias[:, 1:, 1:] - bias[:, :-1, :-1]).abs() > 1e-4 * size).any())


def health(encoding: PositionEncoding, study: PositionStudy, dtype: str = "fp32") -> list[str]:
    """What is wrong with an encoding at this length and number format, in sentences; nothing when it is healthy."""
    faults = _verdict(encoding, study, dtype, None)
    limit = encoding.max_tokens
    return faults if limit is None or study.length <= limit else [*faults, f"positions from {limit} on are refused"]


def _verdict(encoding: PositionEncoding, study: PositionStudy, dtype: str, ran: Moments | None) -> list[str]:
    if not study.moments.spoken() and study.length > 1:
        return [NOTHING_SAID]
    return moment_faults(study.moments, encoding, torch.arange(study.length)[None], dtype, ran)
