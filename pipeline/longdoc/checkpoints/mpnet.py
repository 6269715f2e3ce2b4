"""MPNet (Song et al. 2020, arXiv 2004.09297): learned positions as in RoBERTa, and a bias for buckets of distances."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from longdoc.checkpoints.bert_layout import fields_from_hf, fields_to_hf, full_names
from longdoc.checkpoints.family import Family
from longdoc.checkpoints.heads import dense_head, plain_answerer, plain_tagger
from longdoc.checkpoints.keymap import KeyMap
from longdoc.checkpoints.language_heads import roberta_language_model
from longdoc.checkpoints.reading import encoder_config, require, whole
from longdoc.nn import EncoderConfig

__all__ = ["MPNET"]

_LAYER = "mpnet.encoder.layer.{}"
_OFFSET = 2  # whatever the padding id: the code of the family has it so


def _config_from_hf(config: Mapping[str, Any]) -> EncoderConfig:
    fields = fields_from_hf(config, vocab_size=30527, pad_id=1, token_types=0)
    require(config, "relative_attention_num_buckets", 32, 32, "The code of the family knows no other number.")
    position = {"kind": "stacked", "parts": [{"kind": "learned", "offset": _OFFSET}, {"kind": "buckets"}]}
    fields |= {"position": position, "max_len": whole(fields, "max_len", 512, _OFFSET + 1) - _OFFSET, "token_types": 0}
    return encoder_config(**fields, family="mpnet")


def _config_to_hf(config: EncoderConfig) -> dict[str, Any]:
    described = fields_to_hf(config)
    described["max_position_embeddings"] += _OFFSET
    del described["type_vocab_size"]
    return {"model_type": "mpnet", **described, "relative_attention_num_buckets": 32}


MPNET = Family(
    model_type="mpnet",
    base_class="MPNetModel",
    config_from_hf=_config_from_hf,
    config_to_hf=_config_to_hf,
    keys=KeyMap(
        [
            ("mpnet.embeddings.word_embeddings", "word"),
            ("mpnet.embeddings.position_embeddings", "position.parts.0"),
            ("mpnet.embeddings.LayerNorm", "embedding_norm"),
            ("mpnet.encoder.relative_attention_bias", "position.parts.1"),
            (f"{_LAYER}.attention.attn.q", "layers.{}.attention.query"),
            (f"{_LAYER}.attention.attn.k", "layers.{}.attention.key"),
            (f"{_LAYER}.attention.attn.v", "layers.{}.attention.value"),
            (f"{_LAYER}.attention.attn.o", "layers.{}.attention.output"),
            (f"{_LAYER}.attention.LayerNorm", "layers.{}.attention_norm"),
            (f"{_LAYER}.intermediate.dense", "layers.{}.feed_forward.inner"),
            (f"{_LAYER}.output.dense", "layers.{}.feed_forward.output"),
            (f"{_LAYER}.output.LayerNorm", "layers.{}.feed_forward_norm"),
        ]
    ),
    classifier=dense_head("MPNetForSequenceClassification", "tanh", "hidden_dropout_prob"),
    tagger=plain_tagger("MPNetForTokenClassification", "hidden_dropout_prob"),
    answerer=plain_answerer("MPNetForQuestionAnswering"),
    language_model=roberta_language_model("MPNetForMaskedLM"),
    fix_name=full_names("mpnet"),
    ignored=("mpnet.embeddings.position_ids", "lm_head.", "qa_outputs.", "classifier."),
    carried=("mpnet.pooler.",),
)
