"""Chunk rows of one document -> one row, one kind a file. `MergerKind` lists all kinds, by what they merge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, get_args

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


def _unlike(kinds: Any, reason: str) -> BeforeValidator:
    """Read a kind by its word, and say why a merger that exists does not fit here."""
    known, fitting = ({kind.model_fields["kind"].default for kind in get_args(union)} for union in (MergerKind, kinds))

    def check(value: Any) -> Any:
        value = kind_by_word(value)
        kind = value.get("kind") if isinstance(value, Mapping) else None
        if kind in known - fitting:
            raise ValueError(f"`merger` {kind} {reason}")
        return value

    return BeforeValidator(check)


_NOT_VECTORS = "merges scores, not vectors. Set the readout's `kind` to logits."
_NOT_SCORES = "merges vectors, not scores. Set the readout's `kind` to vectors."

VectorMergerConfig = Annotated[VectorMergerKind, Field(discriminator="kind"), _unlike(VectorMergerKind, _NOT_VECTORS)]
"""How the vectors of a document's chunks become one, by its `kind`."""
LogitMergerConfig = Annotated[LogitMergerKind, Field(discriminator="kind"), _unlike(LogitMergerKind, _NOT_SCORES)]
"""How the scores of a document's chunks become one, label by label, by its `kind`."""
MergerConfig = Annotated[MergerKind, Field(discriminator="kind"), BeforeValidator(kind_by_word)]
"""Any of them."""
