"""Tiny random checkpoints of each family, made by transformers on the spot."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForMaskedLM,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    PreTrainedModel,
)

from nn_kit import padded, some_ids

BASE: dict[str, Any] = {
    "vocab_size": 60,
    "hidden_size": 48,
    "num_attention_heads": 4,
    "num_hidden_layers": 4,
    "intermediate_size": 96,
    "max_position_embeddings": 66,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
OFFSET = {"pad_token_id": 1, "bos_token_id": 0}
TINY: dict[str, dict[str, Any]] = {
    "bert": BASE,
    "roberta": BASE | OFFSET,
    "xlm-roberta": BASE | OFFSET | {"type_vocab_size": 1, "layer_norm_eps": 1e-5},
    "camembert": BASE | OFFSET,
    "deberta-v2": BASE
    | {
        "relative_attention": True,
        "position_buckets": 8,
        "max_relative_positions": 40,
        "norm_rel_ebd": "layer_norm",
        "share_att_key": True,
        "pos_att_type": ["p2c", "c2p"],
        "position_biased_input": False,
        "type_vocab_size": 0,
    },
    "modernbert": BASE | {"local_attention": 8, "cls_token_id": 1, "sep_token_id": 2, "pad_token_id": 0},
    "electra": BASE | {"embedding_size": 32},
    "distilbert": {
        "vocab_size": 60,
        "dim": 48,
        "n_heads": 4,
        "n_layers": 4,
        "hidden_dim": 96,
        "max_position_embeddings": 66,
    },
    "mpnet": BASE | OFFSET,
    "megatron-bert": BASE,
    "nomic_bert": BASE,
    "gte": BASE | OFFSET,
    "jina_embeddings_v3": BASE | OFFSET,
    "eurobert": BASE | {"num_key_value_heads": 2, "head_dim": 16, "mask_token_id": 3, "pad_token_id": 0},
    "ultrabert": BASE | {"num_key_value_heads": 2, "sliding_window": 4, "pad_token_id": 0},
    "longformer": BASE | OFFSET | {"attention_window": [4, 8, 4, 8]},
}
"""What differs from the defaults of transformers in a tiny model of each family, by its `model_type`."""

AUTO: dict[str, Any] = {
    "encoder": AutoModel,
    "classifier": AutoModelForSequenceClassification,
    "tagger": AutoModelForTokenClassification,
    "language model": AutoModelForMaskedLM,
}


def tiny_config(family: str, **changes: Any) -> Any:
    """A tiny configuration; the test is left out where this transformers has no such family."""
    try:
        return AutoConfig.for_model(family, **TINY[family] | changes)
    except ValueError:
        pytest.skip(f"this version of transformers has no {family}")


def their_model(
    family: str, kind: str = "encoder", std: float = 0.15, seed: int = 0, **changes: Any
) -> PreTrainedModel:
    """A model of transformers in evaluation mode, all its parameters normal with deviation `std`.

    Those of norms are normal around 1: around 0 they would shrink every state until a wrong model looks right.
    """
    model = AUTO[kind].from_config(tiny_config(family, **changes)).eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator) * std
            parameter.copy_(noise + 1 if parameter.ndim == 1 and name.endswith("weight") else noise)
    return model


def saved(model: PreTrainedModel, folder: Path) -> Path:
    model.save_pretrained(folder)
    return folder


def reconfigure(folder: Path, **changes: object) -> None:
    """Change keys of a folder's `config.json`; None removes one."""
    config = json.loads((folder / "config.json").read_text()) | changes
    (folder / "config.json").write_text(json.dumps({key: value for key, value in config.items() if value is not None}))


def ragged(lengths: tuple[int, ...] = (60, 40, 7), pad_id: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids and validity of texts of different lengths, padded on the right."""
    return padded([[id + 2 for id in some_ids(length, seed=length)] for length in lengths], pad_id=pad_id)


def first_token_is_global(ids: torch.Tensor) -> dict[str, Any]:
    mask = torch.zeros_like(ids)
    mask[:, 0] = 1
    return {"global_attention_mask": mask}


MORE_ARGUMENTS: dict[str, Callable[[torch.Tensor], dict[str, Any]]] = {"longformer": first_token_is_global}
"""What a family's forward pass needs beside ids and mask."""


def their_answer(model: PreTrainedModel, ids: torch.Tensor, valid: torch.Tensor) -> torch.Tensor:
    """What transformers gives: the states of an encoder, or the scores of a model with a head."""
    with torch.no_grad():
        out = model(**arguments(model, ids, valid))
    return out.logits if "logits" in out else out.last_hidden_state


def arguments(model: PreTrainedModel, ids: torch.Tensor, valid: torch.Tensor) -> dict[str, Any]:
    """Of a forward pass in transformers."""
    more = MORE_ARGUMENTS.get(model.config.model_type)
    return {"input_ids": ids, "attention_mask": valid.long()} | ({} if more is None else more(ids))


def difference(one: torch.Tensor, other: torch.Tensor, valid: torch.Tensor) -> float:
    """The largest difference between two (N, L, D) on real tokens."""
    return float((one - other)[valid].abs().max())


def pad_id_of(family: str) -> int:
    return int(TINY[family].get("pad_token_id", 0))
