"""Chunk rows of one document -> one row, one kind a file. `MergerKind` lists all kinds, by what they merge."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from longdoc.nn.mergers.attention import AttentionMerger, AttentionMergerConfig
from longdoc.nn.mergers.base import Merger, WeightedMerger
from longdoc.nn.mergers.gated_attention import GatedAttentionMerger, GatedAttentionMergerConfig
from longdoc.nn.mergers.hierarchical import HierarchicalMerger, HierarchicalMergerConfig
from longdoc.nn.mergers.logsumexp import LogSumExpMerger, LogSumExpMergerConfig
from longdoc.nn.mergers.max import MaxMerger, MaxMergerConfig
from longdoc.nn.mergers.mean import MeanMerger, MeanMergerConfig
from longdoc.nn.mergers.noisy_or import NoisyOrMerger, NoisyOrMergerConfig
from longdoc.schema import kind_by_word

__all__ = [
    "AttentionMerger",
    "AttentionMergerConfig",
    "GatedAttentionMerger",
    "GatedAttentionMergerConfig",
    "HierarchicalMerger",
    "HierarchicalMergerConfig",
    "LogSumExpMerger",
    "LogSumExpMergerConfig",
    "LogitMergerConfig",
    "LogitMergerKind",
    "MaxMerger",
    "MaxMergerConfig",
    "MeanMerger",
    "MeanMergerConfig",
    "Merger",
    "MergerConfig",
    "MergerKind",
    "NoisyOrMerger",
    "NoisyOrMergerConfig",
    "VectorMergerConfig",
    "VectorMergerKind",
    "WeightedMerger",
]

# A new kind is one file and one name in one of these lines, or in both.
VectorMergerKind = (
    MeanMergerConfig | MaxMergerConfig | AttentionMergerConfig | GatedAttentionMergerConfig | HierarchicalMergerConfig
)
LogitMergerKind = MeanMergerConfig | MaxMergerConfig | LogSumExpMergerConfig | NoisyOrMergerConfig

MergerKind = VectorMergerKind | LogitMergerKind

VectorMergerConfig = Annotated[VectorMergerKind, Field(discriminator="kind"), BeforeValidator(kind_by_word)]
"""How the vectors of a document's chunks become one, by its `kind`."""
LogitMergerConfig = Annotated[LogitMergerKind, Field(discriminator="kind"), BeforeValidator(kind_by_word)]
"""How the scores of a document's chunks become one, label by label, by its `kind`."""
MergerConfig = Annotated[MergerKind, Field(discriminator="kind"), BeforeValidator(kind_by_word)]
"""Any of them."""
