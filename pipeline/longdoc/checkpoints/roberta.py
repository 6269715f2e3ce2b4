"""RoBERTa (Liu et al. 2019, arXiv 1907.11692), XLM-RoBERTa (1911.02116) and CamemBERT (1911.03894): one layout.

Positions are numbered from the padding id + 1, so a table of 514 rows serves 512 tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from longdoc.checkpoints.bert_layout import embedding_rules, fields_from_hf, fields_to_hf, full_names, layer_rules
from longdoc.checkpoints.family import Family
from longdoc.checkpoints.heads import dense_head, plain_answerer, plain_tagger
from longdoc.checkpoints.keymap import KeyMap
from longdoc.checkpoints.language_heads import roberta_language_model
from longdoc.checkpoints.reading import encoder_config, refuse_decoders, whole
from longdoc.nn import EncoderConfig
from longdoc.nn.position import LearnedConfig

__all__ = ["CAMEMBERT", "ROBERTA", "XLM_ROBERTA", "offset_fields", "offset_keys", "offset_of"]

_DROPOUTS = ("classifier_dropout", "hidden_dropout_prob")


def offset_of(config: Mapping[str, Any]) -> int:
    """The row of position 0."""
    return whole(config, "pad_token_id", 1, 0, 1 << 20) + 1


def offset_fields(fields: dict[str, Any], offset: int) -> dict[str, Any]:
    """Fields of an encoder whose table of positions has `offset` rows before the first position."""
    return {
        **fields,
        "position": {"kind": "learned", "offset": offset},
        "max_len": whole(fields, "max_len", 512, offset + 1) - offset,
    }


def offset_keys(config: EncoderConfig) -> dict[str, Any]:
    """The length of the table, its first rows included."""
    offset = config.position.offset if isinstance(config.position, LearnedConfig) else 0
    return {"max_position_embeddings": config.max_len + offset}


def _config_from_hf(model_type: str) -> Callable[[Mapping[str, Any]], EncoderConfig]:
    def read(config: Mapping[str, Any]) -> EncoderConfig:
        refuse_decoders(config)
        fields = fields_from_hf(config, vocab_size=50265 if model_type == "roberta" else 30522, pad_id=1)
        return encoder_config(**offset_fields(fields, offset_of(config)), family=model_type)

    return read


def _family(model_type: str, name: str) -> Family:
    return Family(
        model_type=model_type,
        base_class=f"{name}Model",
        config_from_hf=_config_from_hf(model_type),
        config_to_hf=lambda config: {"model_type": model_type, **fields_to_hf(config), **offset_keys(config)},
        keys=KeyMap([*embedding_rules("roberta"), *layer_rules("roberta")]),
        classifier=dense_head(f"{name}ForSequenceClassification", "tanh", *_DROPOUTS),
        tagger=plain_tagger(f"{name}ForTokenClassification", *_DROPOUTS),
        answerer=plain_answerer(f"{name}ForQuestionAnswering"),
        language_model=roberta_language_model(f"{name}ForMaskedLM"),
        fix_name=full_names("roberta"),
        ignored=(
            "roberta.embeddings.position_ids",
            "roberta.embeddings.token_type_ids",
            "lm_head.",
            "qa_outputs.",
            "classifier.",
        ),
        carried=("roberta.pooler.",),
    )


ROBERTA = _family("roberta", "Roberta")
XLM_ROBERTA = _family("xlm-roberta", "XLMRoberta")
CAMEMBERT = _family("camembert", "Camembert")
