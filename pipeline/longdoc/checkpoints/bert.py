"""BERT and everything saved under its name: MiniLM, Legal-BERT, BioClinicalBERT, PubMedBERT ... (arXiv 1810.04805)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from longdoc.checkpoints.bert_layout import embedding_rules, fields_from_hf, fields_to_hf, full_names, layer_rules
from longdoc.checkpoints.family import Family
from longdoc.checkpoints.heads import plain_answerer, plain_tagger, pooler_head
from longdoc.checkpoints.keymap import KeyMap
from longdoc.checkpoints.language_heads import bert_language_model
from longdoc.checkpoints.reading import encoder_config, refuse_decoders
from longdoc.nn import EncoderConfig

__all__ = ["BERT"]

_DROPOUTS = ("classifier_dropout", "hidden_dropout_prob")


def _config_from_hf(config: Mapping[str, Any]) -> EncoderConfig:
    refuse_decoders(config)
    return encoder_config(**fields_from_hf(config), family="bert")


def _config_to_hf(config: EncoderConfig) -> dict[str, Any]:
    return {"model_type": "bert", **fields_to_hf(config), "position_embedding_type": "absolute"}


BERT = Family(
    model_type="bert",
    base_class="BertModel",
    config_from_hf=_config_from_hf,
    config_to_hf=_config_to_hf,
    keys=KeyMap([*embedding_rules("bert"), *layer_rules("bert")]),
    classifier=pooler_head("BertForSequenceClassification", "bert", *_DROPOUTS),
    tagger=plain_tagger("BertForTokenClassification", *_DROPOUTS),
    answerer=plain_answerer("BertForQuestionAnswering"),
    language_model=bert_language_model("BertForMaskedLM"),
    fix_name=full_names("bert"),
    ignored=(
        "bert.embeddings.position_ids",
        "bert.embeddings.token_type_ids",
        "cls.predictions.",
        "cls.seq_relationship.",
        "qa_outputs.",
        "classifier.",
    ),
    carried=("bert.pooler.",),
)
