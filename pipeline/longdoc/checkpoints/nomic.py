"""Nomic BERT (Nussbaum et al. 2024, arXiv 2402.01613): BERT with rotary positions, SwiGLU and no biases in its layers.

Files keep the names of the authors' code, in which queries, keys and values are one tensor. So do some configurations.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from longdoc.checkpoints.bert_layout import fields_from_hf, fields_to_hf, full_names
from longdoc.checkpoints.family import Family
from longdoc.checkpoints.heads import plain_tagger, pooler_head
from longdoc.checkpoints.keymap import QUERY_KEY_VALUE, Fusion, KeyMap
from longdoc.checkpoints.language_heads import bert_language_model
from longdoc.checkpoints.reading import encoder_config, head_width_of, require
from longdoc.checkpoints.rope import rope_from_hf, rope_to_hf
from longdoc.nn import EncoderConfig

__all__ = ["NOMIC_BERT"]

_LAYER = "nomic_bert.encoder.layers.{}"
_DROPOUTS = ("classifier_dropout", "hidden_dropout_prob")


# The authors' names of keys -> transformers'.
_OLD_KEYS = {
    "n_embd": "hidden_size",
    "n_layer": "num_hidden_layers",
    "n_head": "num_attention_heads",
    "n_inner": "intermediate_size",
    "n_positions": "max_position_embeddings",
    "layer_norm_epsilon": "layer_norm_eps",
    "rotary_emb_base": "rope_theta",
    "resid_pdrop": "hidden_dropout_prob",
    "attn_pdrop": "attention_probs_dropout_prob",
}
# What the authors' code could do otherwise, and its published encoders do not.
_AS_PUBLISHED = {
    "activation_function": "swiglu",
    "prenorm": False,
    "use_rms_norm": False,
    "qkv_proj_bias": False,
    "mlp_fc1_bias": False,
    "mlp_fc2_bias": False,
    "rotary_emb_fraction": 1.0,
    "rotary_emb_interleaved": False,
}


def _config_from_hf(config: Mapping[str, Any]) -> EncoderConfig:
    for name, wanted in _AS_PUBLISHED.items():
        require(config, name, wanted, wanted, "Only encoders built as the published ones can be loaded.")
    config = {_OLD_KEYS.get(name, name): value for name, value in config.items()}
    fields = fields_from_hf(
        config,
        vocab_size=30528,
        max_len=2048,
        hidden_act="silu",
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    return encoder_config(
        **fields,
        head_width=head_width_of(config, fields["width"], fields["heads"]),
        feed_forward="gated",
        bias=False,
        norm_bias=True,
        position=rope_from_hf(config, fields["max_len"], default_theta=1000.0),
        family="nomic_bert",
    )


def _config_to_hf(config: EncoderConfig) -> dict[str, Any]:
    return {
        "model_type": "nomic_bert",
        **fields_to_hf(config),
        "head_dim": config.geometry.head_width,
        **rope_to_hf(config.position),
    }


NOMIC_BERT = Family(
    model_type="nomic_bert",
    base_class="NomicBertModel",
    config_from_hf=_config_from_hf,
    config_to_hf=_config_to_hf,
    keys=KeyMap(
        [
            ("nomic_bert.embeddings.word_embeddings", "word"),
            ("nomic_bert.embeddings.token_type_embeddings", "token_type"),
            ("nomic_bert.emb_ln", "embedding_norm"),
            (f"{_LAYER}.attn.out_proj", "layers.{}.attention.output"),
            (f"{_LAYER}.norm1", "layers.{}.attention_norm"),
            (f"{_LAYER}.mlp.fc11", "layers.{}.feed_forward.inner"),
            (f"{_LAYER}.mlp.fc12", "layers.{}.feed_forward.gate"),
            (f"{_LAYER}.mlp.fc2", "layers.{}.feed_forward.output"),
            (f"{_LAYER}.norm2", "layers.{}.feed_forward_norm"),
        ]
    ),
    fusions=(Fusion(f"{_LAYER}.attn.Wqkv", QUERY_KEY_VALUE),),
    classifier=pooler_head("NomicBertForSequenceClassification", "nomic_bert", *_DROPOUTS),
    tagger=plain_tagger("NomicBertForTokenClassification", *_DROPOUTS, default=0.0),
    language_model=bert_language_model("NomicBertForMaskedLM", norm="layer_norm"),
    fix_name=full_names("nomic_bert", "embeddings.", "emb_ln.", "encoder.", "pooler."),
    ignored=("nomic_bert.pooler.", "nomic_bert.rotary_emb.", "cls.predictions.", "classifier."),
)
