"""GTE (mGTE, Zhang et al. 2024, arXiv 2407.19669; gte-v1.5): BERT with rotary positions and GeGLU.

Files keep the names of the authors' code, in which queries, keys and values are one tensor, and so are the two halves
of the gated part. Checkpoints that were published with that code (`model_type: new`) are read too, without running it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from longdoc.checkpoints.bert_layout import fields_from_hf, fields_to_hf, full_names
from longdoc.checkpoints.family import Family
from longdoc.checkpoints.heads import plain_tagger, pooler_head
from longdoc.checkpoints.keymap import QUERY_KEY_VALUE, Fusion, KeyMap
from longdoc.checkpoints.language_heads import LanguageModelFormat
from longdoc.checkpoints.reading import choice, encoder_config, mapping, require, whole
from longdoc.checkpoints.rope import rope_from_hf, rope_to_hf
from longdoc.errors import CheckpointError
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


def _from_authors(config: Mapping[str, Any]) -> dict[str, Any] | None:
    """Their `ntk` scaling by a factor s: theta becomes s theta, and all angles shrink by s^(2/head width).

    It holds at every length, so that it is a linear scaling of another theta (Su 2023, https://kexue.fm/archives/9706,
    formula 6).
    """
    if config.get("model_type") != "new":
        return None
    why = "Other checkpoints of the authors' code cannot be loaded."
    require(config, "position_embedding_type", "rope", "rope", why)
    require(config, "layer_norm_type", "layer_norm", "layer_norm", why)
    require(config, "logn_attention_scale", False, False, why)
    require(config, "pack_qkv", True, True, why)
    theta = choice(config, "rope_theta", 10000.0)
    if not _is_number(theta) or not theta > 0:
        raise CheckpointError(
            f"`rope_theta` must be a number above 0, but is {theta!r} instead. Correct `config.json`."
        )
    parameters: dict[str, Any] = {"rope_type": "default", "rope_theta": theta}
    if scaling := mapping(config, "rope_scaling"):
        factor = scaling.get("factor", 1.0)
        known = set(scaling) <= {"type", "rope_type", "factor", "mixed_b"} and scaling.get("mixed_b") is None
        kind = scaling.get("type", scaling.get("rope_type"))
        if not known or kind != "ntk" or not _is_number(factor) or not factor >= 1:
            raise CheckpointError(
                "`rope_scaling` must be of the type ntk with a `factor` of at least 1 and no `mixed_b`, but is not. "
                f"{why}"
            )
        head_width = whole(config, "hidden_size", 768) // whole(config, "num_attention_heads", 12)
        if factor > 1 and head_width:
            parameters = {"rope_type": "linear", "rope_theta": theta * factor, "factor": factor ** (2 / head_width)}
    named = config.get("architectures")
    return {
        "vocab_size": 30528,
        "max_position_embeddings": 2048,
        "type_vocab_size": 1,
        "pad_token_id": 0,
        **{name: value for name, value in config.items() if value is not None and name not in _THEIR_ROPE},
        "model_type": "gte",
        "architectures": [f"Gte{str(name).removeprefix('New')}" for name in named] if isinstance(named, list) else [],
        "rope_parameters": parameters,
    }


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


_THEIR_ROPE = ("rope_theta", "rope_scaling")

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
    language_model=LanguageModelFormat(
        architecture="GteForMaskedLM",
        keys=KeyMap(
            [
                ("lm_head.dense", "dense"),
                ("lm_head.norm", "norm"),
                ("lm_head.layer_norm", "norm"),
                ("lm_head.decoder", "output"),
            ]
        ),
        from_hf=lambda config: {"norm_eps": choice(config, "layer_norm_eps", 1e-12)},
    ),
    fix_name=_fix_name,
    ignored=(
        *("gte.pooler.", "gte.rotary_emb.", "gte.embeddings.rotary_emb.", "gte.embeddings.position_ids"),
        *("lm_head.", "classifier."),
    ),
    translate=_from_authors,
)
