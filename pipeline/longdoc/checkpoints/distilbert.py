"""DistilBERT (Sanh et al. 2019, arXiv 1910.01108): BERT with fewer layers, no token types, and names of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from longdoc.checkpoints.bert_layout import embedding_rules, full_names
from longdoc.checkpoints.family import Family
from longdoc.checkpoints.heads import ClassifierFormat, head_dropout, plain_answerer, plain_tagger
from longdoc.checkpoints.keymap import KeyMap
from longdoc.checkpoints.language_heads import LanguageModelFormat
from longdoc.checkpoints.reading import ACTIVATION_TO_HF, activation_of, choice, encoder_config
from longdoc.nn import EncoderConfig
from longdoc.nn.pooling import PoolingKind

__all__ = ["DISTILBERT"]

_LAYER = "distilbert.transformer.layer.{}"


def _config_from_hf(config: Mapping[str, Any]) -> EncoderConfig:
    return encoder_config(
        vocab_size=choice(config, "vocab_size", 30522),
        width=choice(config, "dim", choice(config, "hidden_size", 768)),
        layers=choice(config, "n_layers", choice(config, "num_hidden_layers", 6)),
        heads=choice(config, "n_heads", choice(config, "num_attention_heads", 12)),
        feed_forward_width=choice(config, "hidden_dim", 3072),
        activation=activation_of(config, "activation"),
        norm_eps=1e-12,
        dropout=choice(config, "dropout", 0.1),
        attention_dropout=choice(config, "attention_dropout", 0.1),
        max_len=choice(config, "max_position_embeddings", 512),
        pad_id=choice(config, "pad_token_id", 0),
        family="distilbert",
    )


def _config_to_hf(config: EncoderConfig) -> dict[str, Any]:
    return {
        "model_type": "distilbert",
        "vocab_size": config.vocab_size,
        "dim": config.width,
        "n_layers": config.layers,
        "n_heads": config.heads,
        "hidden_dim": config.feed_forward_width,
        "activation": ACTIVATION_TO_HF[config.activation],
        "dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
        "max_position_embeddings": config.max_len,
        "pad_token_id": config.pad_id,
    }


def _readout_from_hf(config: Mapping[str, Any]) -> tuple[PoolingKind, dict[str, Any]]:
    dropout = head_dropout(config, "seq_classif_dropout", default=0.2)
    return "cls", {"kind": "dense", "activation": "relu", "dropout": dropout}


DISTILBERT = Family(
    model_type="distilbert",
    base_class="DistilBertModel",
    config_from_hf=_config_from_hf,
    config_to_hf=_config_to_hf,
    keys=KeyMap(
        [
            *embedding_rules("distilbert"),
            (f"{_LAYER}.attention.q_lin", "layers.{}.attention.query"),
            (f"{_LAYER}.attention.k_lin", "layers.{}.attention.key"),
            (f"{_LAYER}.attention.v_lin", "layers.{}.attention.value"),
            (f"{_LAYER}.attention.out_lin", "layers.{}.attention.output"),
            (f"{_LAYER}.sa_layer_norm", "layers.{}.attention_norm"),
            (f"{_LAYER}.ffn.lin1", "layers.{}.feed_forward.inner"),
            (f"{_LAYER}.ffn.lin2", "layers.{}.feed_forward.output"),
            (f"{_LAYER}.output_layer_norm", "layers.{}.feed_forward_norm"),
        ]
    ),
    classifier=ClassifierFormat(
        architecture="DistilBertForSequenceClassification",
        keys=KeyMap([("pre_classifier", "head.dense"), ("classifier", "head.output")]),
        from_hf=_readout_from_hf,
        to_hf=lambda _, head: {"seq_classif_dropout": head.dropout},
    ),
    tagger=plain_tagger("DistilBertForTokenClassification", "dropout"),
    answerer=plain_answerer("DistilBertForQuestionAnswering", "qa_dropout"),
    language_model=LanguageModelFormat(
        architecture="DistilBertForMaskedLM",
        keys=KeyMap([("vocab_transform", "dense"), ("vocab_layer_norm", "norm"), ("vocab_projector", "output")]),
        from_hf=lambda config: {"activation": activation_of(config, "activation"), "norm_eps": 1e-12},
    ),
    fix_name=full_names("distilbert", "embeddings.", "transformer."),
    ignored=(
        "distilbert.embeddings.position_ids",
        "vocab_transform.",
        "vocab_layer_norm.",
        "vocab_projector.",
        "qa_outputs.",
        "classifier.",
    ),
)
