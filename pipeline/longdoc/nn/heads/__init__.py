"""Classification heads, one kind a file. `HeadConfig` is the only list of kinds.

A head has two halves, one before and one after the chunks of a document are merged. `transform` acts on each chunk's
row, `classify` on the document's merged row. The second half is linear, so that a score is a sum of what each chunk
gave to it. With a document of one chunk the merge is the identity and the head is that of the family it comes from.

Rows and scores are float32 or finer whatever the dtype of the weights: a document's scores are computed once and
cost nothing.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from longdoc.nn.heads.bert_pooler import BertHead, BertHeadConfig
from longdoc.nn.heads.deep_language import DeepLanguageHead, DeepLanguageHeadConfig
from longdoc.nn.heads.dense import DenseHead, DenseHeadConfig
from longdoc.nn.heads.language import LanguageHead, LanguageHeadConfig
from longdoc.nn.heads.linear import LinearHead, LinearHeadConfig
from longdoc.nn.heads.masked_language import MaskedLanguageHead, MaskedLanguageHeadConfig
from longdoc.schema import kind_by_word

__all__ = [
    "BertHead",
    "BertHeadConfig",
    "DeepLanguageHead",
    "DeepLanguageHeadConfig",
    "DenseHead",
    "DenseHeadConfig",
    "HeadConfig",
    "HeadKind",
    "LanguageHead",
    "LanguageHeadConfig",
    "LanguageHeadKind",
    "LinearHead",
    "LinearHeadConfig",
    "MaskedLanguageHead",
    "MaskedLanguageHeadConfig",
]

# A new kind is one file and one name in this line.
HeadKind = LinearHeadConfig | BertHeadConfig | DenseHeadConfig

HeadConfig = Annotated[Annotated[HeadKind, Field(discriminator="kind")], BeforeValidator(kind_by_word)]
"""A classification head by its `kind`."""

LanguageHeadKind = LanguageHeadConfig | MaskedLanguageHeadConfig | DeepLanguageHeadConfig
"""A head that guesses masked tokens, by its `kind`: likewise one file and one name."""
