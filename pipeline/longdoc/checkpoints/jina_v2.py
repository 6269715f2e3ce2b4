"""Jina embeddings 2 (Günther et al. 2023, arXiv 2310.19923): BERT with ALiBi on both sides and GeGLU.

Their files call themselves `bert` and bring code of their own, which is not run; `position_embedding_type` tells them
from BERT. The encoder for code differs in names, in the order of the gated halves, and by norms of queries and keys.
Saved again, they are called what they are, so that nobody takes them for BERT.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from longdoc.checkpoints.bert_layout import fields_from_hf, fields_to_hf, full_names
from longdoc.checkpoints.family import Family
from longdoc.checkpoints.heads import pooler_head
from longdoc.checkpoints.keymap import Fusion, KeyMap
from longdoc.checkpoints.language_heads import bert_language_model
from longdoc.checkpoints.reading import encoder_config, require
from longdoc.nn import EncoderConfig

__all__ = ["JINA_V2", "JINA_V2_CODE"]

_LAYER = "bert.encoder.layer.{}"
_PLAIN, _CODE = "jina_bert_v2", "jina_bert_v2_code"


def _is(model_type: str) -> Callable[[Mapping[str, Any]], bool]:
    def check(config: Mapping[str, Any]) -> bool:
        if config.get("model_type") != "bert" or config.get("position_embedding_type") != "alibi":
            return False
        of_code = "qk-post-norm" in f"{config.get('auto_map')}{config.get('_name_or_path')}"
        return of_code == (model_type == _CODE)

    return check


def _config_from_hf(model_type: str) -> Callable[[Mapping[str, Any]], EncoderConfig]:
    def read(config: Mapping[str, Any]) -> EncoderConfig:
        require(config, "feed_forward_type", "geglu", "original", "Other checkpoints of Jina 2 cannot be loaded.")
        fields = fields_from_hf(config, vocab_size=30528, max_len=8192) | {"activation": "gelu"}
        return encoder_config(
            **fields,
            position={"kind": "alibi"},
            feed_forward="gated",
            feed_forward_bias=False,
            query_key_norm=model_type == _CODE,
            family=model_type,
        )

    return read


def _config_to_hf(model_type: str) -> Callable[[EncoderConfig], dict[str, Any]]:
    said = {"model_type": model_type, "position_embedding_type": "alibi", "feed_forward_type": "geglu"}
    return lambda config: {**fields_to_hf(config), **said}


def _family(model_type: str, names: list[tuple[str, str]], fusion: Fusion) -> Family:
    rules = [
        ("bert.embeddings.word_embeddings", "word"),
        ("bert.embeddings.token_type_embeddings", "token_type"),
        ("bert.embeddings.LayerNorm", "embedding_norm"),
        (f"{_LAYER}.attention.self.query", "layers.{}.attention.query"),
        (f"{_LAYER}.attention.self.key", "layers.{}.attention.key"),
        (f"{_LAYER}.attention.self.value", "layers.{}.attention.value"),
        (f"{_LAYER}.attention.output.dense", "layers.{}.attention.output"),
    ]
    return Family(
        model_type=model_type,
        base_class="JinaBertModel",
        config_from_hf=_config_from_hf(model_type),
        config_to_hf=_config_to_hf(model_type),
        keys=KeyMap([*rules, *names]),
        classifier=pooler_head(
            "JinaBertForSequenceClassification", "bert", "classifier_dropout", "hidden_dropout_prob"
        ),
        language_model=bert_language_model("JinaBertForMaskedLM"),
        fusions=(fusion,),
        fix_name=full_names("bert"),
        ignored=("bert.embeddings.position_ids", "cls.predictions.", "classifier."),
        carried=("bert.pooler.",),
        claims=_is(model_type),
    )


JINA_V2 = _family(
    _PLAIN,
    [
        (f"{_LAYER}.attention.output.LayerNorm", "layers.{}.attention_norm"),
        (f"{_LAYER}.mlp.wo", "layers.{}.feed_forward.output"),
        (f"{_LAYER}.mlp.layernorm", "layers.{}.feed_forward_norm"),
    ],
    Fusion(f"{_LAYER}.mlp.gated_layers", ("layers.{}.feed_forward.gate", "layers.{}.feed_forward.inner")),
)
JINA_V2_CODE = _family(
    _CODE,
    [
        (f"{_LAYER}.attention.self.layer_norm_q", "layers.{}.attention.query_norm"),
        (f"{_LAYER}.attention.self.layer_norm_k", "layers.{}.attention.key_norm"),
        (f"{_LAYER}.layer_norm_1", "layers.{}.attention_norm"),
        (f"{_LAYER}.mlp.down_layer", "layers.{}.feed_forward.output"),
        (f"{_LAYER}.layer_norm_2", "layers.{}.feed_forward_norm"),
    ],
    Fusion(f"{_LAYER}.mlp.up_gated_layer", ("layers.{}.feed_forward.inner", "layers.{}.feed_forward.gate")),
)
