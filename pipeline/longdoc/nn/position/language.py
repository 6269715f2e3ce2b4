"""A vector for the language of each token, on top of an encoding that all languages share.

Multilingual encoders share one position encoding (mBERT, XLM-R); a language may add a vector of its own (the language
embeddings of XLM, Conneau and Lample 2019, arXiv 1901.07291). It starts at zero, so an unknown language has exactly the
shared encoding. The language of a token is an axis of its positions, from an explicit column of the data; nothing is
guessed from the text. Right-to-left scripts need nothing of their own, see `direction.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import torch
from pydantic import AfterValidator, Field
from torch import Tensor, nn
from torch.nn import functional as F

from longdoc.errors import UsageError
from longdoc.languages import COMMON_LANGUAGES, language_number
from longdoc.nn.position.axes import axis_or_zeros
from longdoc.nn.position.base import AdditivePosition, Geometry, StackedPosition
from longdoc.nn.position.limits import check_distinct
from longdoc.nn.position.sinusoidal import SinusoidalConfig
from longdoc.schema import Config

if TYPE_CHECKING:
    from longdoc.nn.position import PositionConfig

__all__ = ["COMMON_LANGUAGES", "LanguageConfig", "LanguagePosition", "LanguageTable", "Languages", "language_number"]


def _check_languages(languages: tuple[str, ...]) -> tuple[str, ...]:
    if not all(languages):
        raise UsageError("`languages` must be codes, but one is empty.")
    check_distinct(languages, "languages")
    return languages


Languages = Annotated[tuple[str, ...], Field(min_length=1), AfterValidator(_check_languages)]


class LanguageTable(nn.Module):
    """One trained row for each language, zero at the start.

    Args:
        width: D.
        languages: codes; number n on the axis is the n-th of them, 0 and what lies beyond are unknown.
        axis: the axis of (A, 1|N, L) positions that holds the number.

    Attributes:
        weight: (languages, D).
    """

    def __init__(self, width: int, languages: Sequence[str], axis: int) -> None:
        super().__init__()
        if not languages:
            raise UsageError("`languages` must name at least one language, but is empty.")
        if axis < 1:
            raise UsageError(f"`axis` must be the number of a further axis, 1 or more, but is {axis} instead.")
        self.languages = _check_languages(tuple(languages))
        self.axis = axis
        self.weight = nn.Parameter(torch.zeros(len(languages), width))

    def forward(self, positions: Tensor) -> Tensor:
        """(1|N, L) or (A, 1|N, L) -> (1|N, L, D), in the dtype of the table; zeros for an unknown language."""
        number = axis_or_zeros(positions, self.axis)
        known = (number > 0) & (number <= len(self.languages))
        return F.embedding((number - 1).clamp(0, len(self.languages) - 1), self.weight) * known[..., None]

    def extra_repr(self) -> str:
        return f"languages={', '.join(self.languages)}, axis={self.axis}"


class LanguagePosition(AdditivePosition):
    """Adds a vector for the language of each token; it never replaces the order. Arguments: see `LanguageTable`."""

    def __init__(self, width: int, languages: Sequence[str] = COMMON_LANGUAGES, axis: int = 1) -> None:
        super().__init__(width)
        self.table = LanguageTable(width, languages, axis)

    @property
    def further_axes(self) -> Mapping[int, str]:
        return {self.table.axis: "language"}

    @property
    def languages(self) -> tuple[str, ...]:
        return self.table.languages

    def vectors(self, positions: Tensor) -> Tensor:
        return self.table(positions)  # type: ignore[no-any-return]


class LanguageConfig(Config):
    """A trained vector for the language of each token, on top of an encoding that all languages share."""

    kind: Literal["language"] = "language"
    order: PositionConfig = SinusoidalConfig()
    """The encoding that all languages share."""
    languages: Languages = COMMON_LANGUAGES
    """Codes; number n on the axis is the n-th of them, 0 is unknown."""
    axis: int = Field(default=1, ge=1)
    """The axis of the positions that holds the number. Plain text has none, and no language."""

    def build(self, geometry: Geometry) -> StackedPosition:
        """The encoding for an encoder of this geometry."""
        own = LanguagePosition(geometry.embedding_width, self.languages, self.axis)
        return StackedPosition([self.order.build(geometry), own])
