"""BERT as Megatron-LM trained it (Shoeybi et al. 2019, arXiv 1909.08053), GatorTron among them: norms come first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from longdoc.checkpoints.bert_layout import fields_from_hf, fields_to_hf, full_names, layer_rules
from longdoc.checkpoints.family import Family
from longdoc.checkpoints.heads import plain_answerer, plain_tagger, pooler_head
from longdoc.checkpoints.keymap import KeyMap
from longdoc.checkpoints.language_heads import bert_language_model
from longdoc.checkpoints.reading import encoder_config, refuse_decoders
from longdoc.nn import EncoderConfig

__all__ = ["MEGATRON_BERT"]


def _config_from_hf(config: Mapping[str, Any]) -> EncoderConfig:
    refuse_decoders(config)
    fields = fields_from_hf(config, vocab_size=29056, width=1024, layers=24, heads=16, feed_forward_width=4096)
    return encoder_config(**fields, norm="pre", embedding_norm=False, family="megatron-bert")


MEGATRON_BERT = Family(
    model_type="megatron-bert",
    base_class="MegatronBertModel",
    config_from_hf=_config_from_hf,
    config_to_hf=lambda config: {"model_type": "megatron-bert", **fields_to_hf(config)},
    keys=KeyMap(
        [
            ("bert.embeddings.word_embeddings", "word"),
            ("bert.embeddings.position_embeddings", "position"),
            ("bert.embeddings.token_type_embeddings", "token_type"),
            ("bert.encoder.layer.{}.attention.ln", "layers.{}.attention_norm"),
            ("bert.encoder.layer.{}.ln", "layers.{}.feed_forward_norm"),
            ("bert.encoder.ln", "final_norm"),
            *layer_rules("bert"),
        ]
    ),
    classifier=pooler_head("MegatronBertForSequenceClassification", "bert", "hidden_dropout_prob"),
    tagger=plain_tagger("MegatronBertForTokenClassification", "hidden_dropout_prob"),
    answerer=plain_answerer("MegatronBertForQuestionAnswering"),
    language_model=bert_language_model("MegatronBertForMaskedLM"),
    fix_name=full_names("bert"),
    ignored=(
        "bert.embeddings.position_ids",
        "cls.predictions.",
        "cls.seq_relationship.",
        "qa_outputs.",
        "classifier.",
    ),
    carried=("bert.pooler.",),
)
