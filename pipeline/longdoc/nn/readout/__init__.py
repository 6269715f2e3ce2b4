"""Where the chunks of a document become its answer, one kind a file. `ReadoutConfig` is the only list of kinds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from longdoc.nn.readout.answers import AnswersReadout, AnswersReadoutConfig
from longdoc.nn.readout.base import DocumentReadout, Readout
from longdoc.nn.readout.embedding import EmbeddingReadout, EmbeddingReadoutConfig
from longdoc.nn.readout.label_attention import LabelAttentionReadout, LabelAttentionReadoutConfig
from longdoc.nn.readout.logits import LogitsReadout, LogitsReadoutConfig
from longdoc.nn.readout.tokens import TokensReadout, TokensReadoutConfig
from longdoc.nn.readout.vectors import VectorsReadout, VectorsReadoutConfig
from longdoc.schema import kind_by_word

__all__ = [
    "AnswersReadout",
    "AnswersReadoutConfig",
    "DocumentReadout",
    "EmbeddingReadout",
    "EmbeddingReadoutConfig",
    "LabelAttentionReadout",
    "LabelAttentionReadoutConfig",
    "LogitsReadout",
    "LogitsReadoutConfig",
    "Readout",
    "ReadoutConfig",
    "ReadoutKind",
    "TokensReadout",
    "TokensReadoutConfig",
    "VectorsReadout",
    "VectorsReadoutConfig",
]

# A new kind is one file and one name in this line.
ReadoutKind = (
    VectorsReadoutConfig
    | LogitsReadoutConfig
    | LabelAttentionReadoutConfig
    | TokensReadoutConfig
    | AnswersReadoutConfig
    | EmbeddingReadoutConfig
)


def _vectors_unless_named(value: Any) -> Any:
    """Before there were other kinds, a readout did not have to name its own."""
    value = kind_by_word(value)
    return {"kind": "vectors", **value} if isinstance(value, Mapping) else value


ReadoutConfig = Annotated[ReadoutKind, Field(discriminator="kind"), BeforeValidator(_vectors_unless_named)]
"""Where the chunks of a document become its answer, by its `kind`."""
