"""Chunk rows of one document -> one row, one kind a file. `MergerConfig` is the only list of kinds."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from longdoc.nn.mergers.attention import AttentionMerger, AttentionMergerConfig
from longdoc.nn.mergers.base import Merger
from longdoc.nn.mergers.max import MaxMerger, MaxMergerConfig
from longdoc.nn.mergers.mean import MeanMerger, MeanMergerConfig

__all__ = [
    "AttentionMerger",
    "AttentionMergerConfig",
    "MaxMerger",
    "MaxMergerConfig",
    "MeanMerger",
    "MeanMergerConfig",
    "Merger",
    "MergerConfig",
]

# A new kind is one file and one name in this line.
MergerKind = MeanMergerConfig | MaxMergerConfig | AttentionMergerConfig

MergerConfig = Annotated[MergerKind, Field(discriminator="kind")]
"""How the chunks of a document become one, by its `kind`."""
