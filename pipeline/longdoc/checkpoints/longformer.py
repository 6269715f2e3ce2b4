"""Longformer (Beltagy et al. 2020, arXiv 2004.05150): RoBERTa whose tokens look through a window; the first sees all.

transformers leaves the choice of global tokens to the caller of the encoder and takes the first one in its classifier;
here it is always the first. Masks are dense: the numbers are the same, the memory of the paper's kernel is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from longdoc.checkpoints.bert_layout import embedding_rules, fields_from_hf, fields_to_hf, full_names, layer_rules
from longdoc.checkpoints.family import Family
from longdoc.checkpoints.heads import dense_head, plain_tagger
from longdoc.checkpoints.keymap import KeyMap
from longdoc.checkpoints.language_heads import roberta_language_model
from longdoc.checkpoints.reading import DEEPEST, choice, encoder_config, whole
from longdoc.checkpoints.roberta import offset_fields, offset_keys, offset_of
from longdoc.errors import CheckpointError
from longdoc.nn import EncoderConfig

__all__ = ["LONGFORMER"]

_ATTENTION = "longformer.encoder.layer.{}.attention.self"


def _config_from_hf(config: Mapping[str, Any]) -> EncoderConfig:
    fields = fields_from_hf(config, pad_id=1)
    layers = whole(config, "num_hidden_layers", 12, 1, DEEPEST)
    windows = choice(config, "attention_window", 512)
    each = windows if isinstance(windows, list | tuple) else [windows] * layers
    if len(each) != layers or not all(type(window) is int and window > 0 and window % 2 == 0 for window in each):
        raise CheckpointError(
            f"`attention_window` must be one even number, or one for each of the {layers} layers, but is "
            f"{windows!r} instead."
        )
    return encoder_config(
        **offset_fields(fields, offset_of(config)),
        window=tuple(window // 2 for window in each),
        global_tokens=1,
        family="longformer",
    )


def _config_to_hf(config: EncoderConfig) -> dict[str, Any]:
    windows = [config.window_of(number) for number in range(config.layers)]
    return {
        "model_type": "longformer",
        **fields_to_hf(config),
        **offset_keys(config),
        "attention_window": [2 * (config.max_len if window is None else window) for window in windows],
    }


LONGFORMER = Family(
    model_type="longformer",
    base_class="LongformerModel",
    config_from_hf=_config_from_hf,
    config_to_hf=_config_to_hf,
    keys=KeyMap(
        [
            *embedding_rules("longformer"),
            *layer_rules("longformer"),
            (f"{_ATTENTION}.query_global", "layers.{}.attention.global_query"),
            (f"{_ATTENTION}.key_global", "layers.{}.attention.global_key"),
            (f"{_ATTENTION}.value_global", "layers.{}.attention.global_value"),
        ]
    ),
    classifier=dense_head("LongformerForSequenceClassification", "tanh", "hidden_dropout_prob"),
    tagger=plain_tagger("LongformerForTokenClassification", "hidden_dropout_prob"),
    language_model=roberta_language_model("LongformerForMaskedLM"),
    fix_name=full_names("longformer"),
    ignored=("longformer.embeddings.position_ids", "lm_head.", "qa_outputs.", "classifier."),
    carried=("longformer.pooler.",),
)
