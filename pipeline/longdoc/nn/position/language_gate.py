"""A position encoding that all languages share, with components that each language weighs in its own way.

The weights are `1 + gate` with gates of zero at the start, so an unknown language has exactly the shared encoding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from pydantic import Field
from torch import Tensor

from longdoc.errors import UsageError
from longdoc.nn.position.base import AdditivePosition, Geometry, PositionEncoding
from longdoc.nn.position.language import COMMON_LANGUAGES, Languages, LanguageTable
from longdoc.nn.position.sinusoidal import SinusoidalConfig, SinusoidalPosition
from longdoc.schema import Config

if TYPE_CHECKING:
    from longdoc.nn.position import PositionConfig

__all__ = ["LanguageGateConfig", "LanguageGatePosition"]


class LanguageGatePosition(AdditivePosition):
    """Adds `(1 + gate of the language) * shared vector`.

    Args:
        width: D.
        shared: the encoding that all languages share, one that adds vectors; None = sinusoidal.
        languages: codes; number n on the axis is the n-th of them, 0 and what lies beyond are unknown.
        axis: the axis of (A, 1|N, L) positions that holds the number.
    """

    def __init__(
        self,
        width: int,
        shared: PositionEncoding | None = None,
        languages: Sequence[str] = COMMON_LANGUAGES,
        axis: int = 1,
    ) -> None:
        super().__init__(width)
        shared = SinusoidalPosition(width) if shared is None else shared
        if not isinstance(shared, AdditivePosition):
            raise UsageError(
                "`shared` must be an encoding that adds vectors, such as `sinusoidal` or `learned`, but is "
                f"{type(shared).__name__} instead."
            )
        self.shared = shared
        self.gates = LanguageTable(width, languages, axis)

    @property
    def max_tokens(self) -> int | None:
        return self.shared.max_tokens

    @property
    def further_axes(self) -> Mapping[int, str]:
        return {self.gates.axis: "language"}

    @property
    def languages(self) -> tuple[str, ...]:
        return self.gates.languages

    def vectors(self, positions: Tensor) -> Tensor:
        """(1|N, L) or (A, 1|N, L) -> (1|N, L, D), in the precision of the shared encoding."""
        gates: Tensor = self.gates(positions)
        return (1 + gates) * self.shared.vectors(positions)

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        gated: Tensor = self.gates(positions) * self.shared.vectors(positions)
        return self.shared.embed(x, positions) + gated.to(x.dtype)  # the shared one may do more to `x` than add


class LanguageGateConfig(Config):
    """A shared encoding whose components each language weighs in its own way."""

    kind: Literal["language_gate"] = "language_gate"
    shared: PositionConfig = SinusoidalConfig()
    """The encoding that all languages share, one that adds vectors."""
    languages: Languages = COMMON_LANGUAGES
    """Codes; number n on the axis is the n-th of them, 0 is unknown."""
    axis: int = Field(default=1, ge=1)
    """The axis of the positions that holds the number. Plain text has none, and no language."""

    def build(self, geometry: Geometry) -> LanguageGatePosition:
        """The encoding for an encoder of this geometry."""
        return LanguageGatePosition(geometry.embedding_width, self.shared.build(geometry), self.languages, self.axis)
