"""Jina embeddings 3 (Sturua et al. 2024, arXiv 2409.10173): XLM-RoBERTa with rotary positions.

Files keep the names of the authors' code, in which queries, keys and values are one tensor. Checkpoints that were
published with that code (`model_type: xlm-roberta`, rotary) are read too, without running it. The adapters for tasks
(LoRA) that come beside the base are not part of it: without a task the authors' code gives the base as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from longdoc.checkpoints.bert_layout import fields_from_hf, fields_to_hf, full_names
from longdoc.checkpoints.family import Family
from longdoc.checkpoints.heads import dense_head, plain_answerer, plain_tagger
from longdoc.checkpoints.keymap import QUERY_KEY_VALUE, Fusion, KeyMap
from longdoc.checkpoints.language_heads import roberta_language_model
from longdoc.checkpoints.reading import choice, encoder_config
from longdoc.checkpoints.rope import rope_from_hf, rope_to_hf
from longdoc.nn import EncoderConfig

__all__ = ["JINA_V3"]

_LAYER = "roberta.encoder.layers.{}"
_DROPOUTS = ("classifier_dropout", "hidden_dropout_prob")


def _config_from_hf(config: Mapping[str, Any]) -> EncoderConfig:
    fields = fields_from_hf(
        config,
        vocab_size=250002,
        width=1024,
        layers=24,
        heads=16,
        feed_forward_width=4096,
        norm_eps=1e-5,
        max_len=8194,
        token_types=1,
        pad_id=1,
    )
    return encoder_config(
        **fields,
        position=rope_from_hf(config, fields["max_len"], default_theta=20000.0),
        family="jina_embeddings_v3",
    )


def _from_authors(config: Mapping[str, Any]) -> dict[str, Any] | None:
    if config.get("model_type") != "xlm-roberta" or config.get("position_embedding_type") != "rotary":
        return None
    named = config.get("architectures")
    return {
        **{name: value for name, value in config.items() if name not in ("rotary_emb_base", "position_embedding_type")},
        "model_type": "jina_embeddings_v3",
        "architectures": [
            str(name).replace("XLMRoberta", "JinaEmbeddingsV3") for name in (named if isinstance(named, list) else [])
        ],
        "rope_parameters": {"rope_type": "default", "rope_theta": choice(config, "rotary_emb_base", 10000.0)},
    }


_ADAPTED = ".parametrizations.weight"
_full_names = full_names("roberta", "embeddings.", "emb_ln.", "encoder.", "pooler.")


def _fix_name(name: str) -> str:
    """A tensor that tasks adapt is called `original`, its adapters are numbered; old files have no such names."""
    module, adapted, part = name.partition(_ADAPTED)
    if not adapted:
        return _full_names(name)
    return _full_names(f"{module}.weight") if part == ".original" else f"adapters.{name}"


JINA_V3 = Family(
    model_type="jina_embeddings_v3",
    base_class="JinaEmbeddingsV3Model",
    config_from_hf=_config_from_hf,
    config_to_hf=lambda config: {
        "model_type": "jina_embeddings_v3",
        **fields_to_hf(config),
        **rope_to_hf(config.position),
    },
    keys=KeyMap(
        [
            ("roberta.embeddings.word_embeddings", "word"),
            ("roberta.embeddings.token_type_embeddings", "token_type"),
            ("roberta.emb_ln", "embedding_norm"),
            (f"{_LAYER}.mixer.out_proj", "layers.{}.attention.output"),
            (f"{_LAYER}.norm1", "layers.{}.attention_norm"),
            (f"{_LAYER}.mlp.fc1", "layers.{}.feed_forward.inner"),
            (f"{_LAYER}.mlp.fc2", "layers.{}.feed_forward.output"),
            (f"{_LAYER}.norm2", "layers.{}.feed_forward_norm"),
        ]
    ),
    fusions=(Fusion(f"{_LAYER}.mixer.Wqkv", QUERY_KEY_VALUE),),
    classifier=dense_head("JinaEmbeddingsV3ForSequenceClassification", "tanh", *_DROPOUTS),
    tagger=plain_tagger("JinaEmbeddingsV3ForTokenClassification", *_DROPOUTS),
    answerer=plain_answerer("JinaEmbeddingsV3ForQuestionAnswering"),
    language_model=roberta_language_model("JinaEmbeddingsV3ForMaskedLM", norm_eps=1e-5),
    fix_name=_fix_name,
    ignored=("adapters.", "roberta.embeddings.position_ids", "lm_head.", "qa_outputs.", "classifier."),
    carried=("roberta.pooler.",),
    translate=_from_authors,
)
