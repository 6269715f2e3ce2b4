"""ELECTRA (Clark et al. 2020, arXiv 2003.10555): BERT whose embeddings may be narrower than its layers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from longdoc.checkpoints.bert_layout import embedding_rules, fields_from_hf, fields_to_hf, full_names, layer_rules
from longdoc.checkpoints.family import Family
from longdoc.checkpoints.heads import dense_head, plain_answerer, plain_tagger
from longdoc.checkpoints.keymap import KeyMap
from longdoc.checkpoints.language_heads import LanguageModelFormat
from longdoc.checkpoints.reading import choice, encoder_config, refuse_decoders
from longdoc.nn import EncoderConfig

__all__ = ["ELECTRA"]

_DROPOUTS = ("classifier_dropout", "hidden_dropout_prob")


def _config_from_hf(config: Mapping[str, Any]) -> EncoderConfig:
    refuse_decoders(config)
    fields = fields_from_hf(config, width=256, heads=4, feed_forward_width=1024)
    embedded = choice(config, "embedding_size", 128)
    return encoder_config(**fields, embedding_width=None if embedded == fields["width"] else embedded, family="electra")


def _config_to_hf(config: EncoderConfig) -> dict[str, Any]:
    return {
        "model_type": "electra",
        **fields_to_hf(config),
        "embedding_size": config.geometry.embedding_width,
    }


ELECTRA = Family(
    model_type="electra",
    base_class="ElectraModel",
    config_from_hf=_config_from_hf,
    config_to_hf=_config_to_hf,
    keys=KeyMap(
        [
            *embedding_rules("electra"),
            ("electra.embeddings_project", "embedding_projection"),
            *layer_rules("electra"),
        ]
    ),
    classifier=dense_head("ElectraForSequenceClassification", "gelu", *_DROPOUTS),
    tagger=plain_tagger("ElectraForTokenClassification", *_DROPOUTS),
    answerer=plain_answerer("ElectraForQuestionAnswering"),
    language_model=LanguageModelFormat(
        architecture="ElectraForMaskedLM",
        keys=KeyMap(
            [
                ("generator_predictions.dense", "dense"),
                ("generator_predictions.LayerNorm", "norm"),
                ("generator_lm_head", "output"),
            ]
        ),
        from_hf=lambda config: {"norm_eps": choice(config, "layer_norm_eps", 1e-12)},
    ),
    fix_name=full_names("electra", "embeddings.", "embeddings_project.", "encoder."),
    ignored=(
        "electra.embeddings.position_ids",
        "discriminator_predictions.",
        "generator_predictions.",
        "generator_lm_head.",
        "qa_outputs.",
        "classifier.",
    ),
)
