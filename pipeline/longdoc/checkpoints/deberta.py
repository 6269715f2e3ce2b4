"""DeBERTa 2 and 3 (He et al. 2021, arXiv 2006.03654 and 2111.09543): content and distance score each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from longdoc.checkpoints.bert_layout import embedding_rules, fields_from_hf, fields_to_hf, full_names, layer_rules
from longdoc.checkpoints.family import Family
from longdoc.checkpoints.heads import ClassifierFormat, head_dropout, plain_answerer, plain_tagger
from longdoc.checkpoints.keymap import KeyMap
from longdoc.checkpoints.language_heads import bert_language_model, words_are_shared
from longdoc.checkpoints.reading import ACTIVATION_TO_HF, activation_of, choice, encoder_config, require, whole
from longdoc.errors import CheckpointError
from longdoc.nn import EncoderConfig
from longdoc.nn.pooling import PoolingKind
from longdoc.nn.position import DisentangledConfig

__all__ = ["DEBERTA"]

_OTHER_KIND = "Such checkpoints cannot be loaded; those of DeBERTa 3 can."


def _config_from_hf(config: Mapping[str, Any]) -> EncoderConfig:
    require(config, "relative_attention", True, False, _OTHER_KIND)
    require(config, "share_att_key", True, False, _OTHER_KIND)
    require(config, "norm_rel_ebd", "layer_norm", "none", _OTHER_KIND)
    require(config, "position_biased_input", False, True, _OTHER_KIND)
    require(config, "conv_kernel_size", 0, 0, "Checkpoints with a convolution (DeBERTa 2) cannot be loaded.")
    terms = choice(config, "pos_att_type", [])
    if isinstance(terms, str):
        terms = [term.strip() for term in terms.lower().split("|")]
    if not isinstance(terms, list) or sorted(map(str, terms)) != ["c2p", "p2c"]:
        raise CheckpointError(f"`pos_att_type` must be c2p and p2c, but is {terms!r} instead. {_OTHER_KIND}")
    fields = fields_from_hf(
        config,
        vocab_size=128100,
        width=1536,
        layers=24,
        heads=24,
        feed_forward_width=6144,
        norm_eps=1e-7,
        token_types=0,
    )
    require(config, "embedding_size", fields["width"], fields["width"], _OTHER_KIND)
    longest = whole(config, "max_relative_positions", -1, -1)
    buckets = choice(config, "position_buckets", -1)
    if type(buckets) is not int or buckets < 1:
        raise CheckpointError(f"`position_buckets` must be at least 1, but is {buckets!r} instead. {_OTHER_KIND}")
    position = {
        "kind": "disentangled",
        "buckets": buckets,
        "max_distance": longest if longest > 0 else fields["max_len"],
        "norm_eps": fields["norm_eps"],
    }
    return encoder_config(
        **fields, head_width=config.get("attention_head_size"), position=position, family="deberta-v2"
    )


def _config_to_hf(config: EncoderConfig) -> dict[str, Any]:
    position = config.position
    if not isinstance(position, DisentangledConfig):
        position = DisentangledConfig()
    longest = -1 if position.max_distance == config.max_len else position.max_distance
    return {
        "model_type": "deberta-v2",
        **fields_to_hf(config),
        "relative_attention": True,
        "share_att_key": True,
        "norm_rel_ebd": "layer_norm",
        "position_biased_input": False,
        "pos_att_type": ["p2c", "c2p"],
        "position_buckets": position.buckets,
        "max_relative_positions": longest,
        **({} if config.head_width is None else {"attention_head_size": config.head_width}),
    }


def _readout_from_hf(config: Mapping[str, Any]) -> tuple[PoolingKind, dict[str, Any]]:
    return "cls", {
        "kind": "dense",
        "activation": activation_of(config, "pooler_hidden_act"),
        "dropout": head_dropout(config, "cls_dropout", "hidden_dropout_prob"),
        "row_dropout": head_dropout(config, "pooler_dropout", default=0.0),
    }


def _readout_to_hf(pooling: str, head: Any) -> dict[str, Any]:
    return {
        "pooler_hidden_act": ACTIVATION_TO_HF[getattr(head, "activation", "gelu")],
        "cls_dropout": head.dropout,
        "pooler_dropout": getattr(head, "row_dropout", 0.0),
    }


# DeBERTa 3 itself calls its head `lm_predictions.lm_head`; transformers, unless `legacy` is false, as in BERT.
_PUBLISHED = {
    "lm_predictions.lm_head.bias": "cls.predictions.bias",
    **{
        f"lm_predictions.lm_head.{module}.{leaf}": f"cls.predictions.transform.{module}.{leaf}"
        for module in ("dense", "LayerNorm")
        for leaf in ("weight", "bias")
    },
}
_full_names = full_names("deberta", "embeddings.", "encoder.")


def _fix_name(name: str) -> str:
    name = _full_names(name)
    return _PUBLISHED.get(name, name)


DEBERTA = Family(
    model_type="deberta-v2",
    base_class="DebertaV2Model",
    config_from_hf=_config_from_hf,
    config_to_hf=_config_to_hf,
    keys=KeyMap(
        [
            *embedding_rules("deberta"),
            *layer_rules("deberta", "query_proj", "key_proj", "value_proj"),
            ("deberta.encoder.LayerNorm", "position.norm"),
        ],
        tensors=[("deberta.encoder.rel_embeddings.weight", "position.table")],
    ),
    classifier=ClassifierFormat(
        architecture="DebertaV2ForSequenceClassification",
        keys=KeyMap([("pooler.dense", "head.dense"), ("classifier", "head.output")]),
        from_hf=_readout_from_hf,
        to_hf=_readout_to_hf,
    ),
    tagger=plain_tagger("DebertaV2ForTokenClassification", "hidden_dropout_prob"),
    answerer=plain_answerer("DebertaV2ForQuestionAnswering"),
    language_model=replace(
        bert_language_model("DebertaV2ForMaskedLM"),
        to_hf=lambda _: {"legacy": True},
        tied=lambda config: words_are_shared(config) or not choice(config, "legacy", True),
    ),
    fix_name=_fix_name,
    ignored=(
        "deberta.embeddings.position_ids",
        "cls.predictions.",
        "lm_predictions.",
        "mask_predictions.",
        "qa_outputs.",
        "classifier.",
        "pooler.",
    ),
)
