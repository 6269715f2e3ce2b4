"""GTE (mGTE, Zhang et al. 2024, arXiv 2407.19669; gte-v1.5): BERT with rotary positions and GeGLU.

Files keep the names of the authors' code, in which queries, keys and values are one tensor, and so are the two halves
of the gated part.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from longdoc.checkpoints.bert_layout import fields_from_hf, fields_to_hf, full_names
from longdoc.checkpoints.family import Family
from longdoc.checkpoints.heads import plain_tagger, pooler_head
from longdoc.checkpoints.keymap import QUERY_KEY_VALUE, Fusion, KeyMap
from longdoc.checkpoints.reading import encoder_config
from longdoc.checkpoints.rope import rope_from_hf, rope_to_hf
from longdoc.nn import EncoderConfig

__all__ = ["GTE"]

_LAYER = "gte.encoder.layer.{}"
_DROPOUTS = ("classifier_dropout", "hidden_dropout_prob")


def _config_from_hf(config: Mapping[str, Any]) -> EncoderConfig:
    fields = fields_from_hf(
        config, vocab_size=250048, max_len=8192, token_types=1, pad_id=1, attention_probs_dropout_prob=0.0
    )
    return encoder_config(
        **fields,
        feed_forward="gated",
        feed_forward_bias=False,
        position=rope_from_hf(config, fields["max_len"], default_theta=160000.0),
        family="gte",
    )


def _fix_name(name: str) -> str:
    return full_names("gte", "embeddings.", "encoder.", "pooler.")(name.removeprefix("new."))


GTE = Family(
    model_type="gte",
    base_class="GteModel",
    config_from_hf=_config_from_hf,
    config_to_hf=lambda config: {"model_type": "gte", **fields_to_hf(config), **rope_to_hf(config.position)},
    keys=KeyMap(
        [
            ("gte.embeddings.word_embeddings", "word"),
            ("gte.embeddings.token_type_embeddings", "token_type"),
            ("gte.embeddings.LayerNorm", "embedding_norm"),
            (f"{_LAYER}.attention.o_proj", "layers.{}.attention.output"),
            (f"{_LAYER}.attn_ln", "layers.{}.attention_norm"),
            (f"{_LAYER}.mlp.down_proj", "layers.{}.feed_forward.output"),
            (f"{_LAYER}.mlp_ln", "layers.{}.feed_forward_norm"),
        ]
    ),
    fusions=(
        Fusion(f"{_LAYER}.attention.qkv_proj", QUERY_KEY_VALUE),
        Fusion(f"{_LAYER}.mlp.up_gate_proj", ("layers.{}.feed_forward.inner", "layers.{}.feed_forward.gate")),
    ),
    classifier=pooler_head("GteForSequenceClassification", "gte", *_DROPOUTS),
    tagger=plain_tagger("GteForTokenClassification", *_DROPOUTS),
    fix_name=_fix_name,
    ignored=("gte.pooler.", "gte.rotary_emb.", "gte.embeddings.position_ids", "lm_head.", "classifier."),
)
