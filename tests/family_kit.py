"""Tiny random checkpoints of each family, made by transformers on the spot."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModel, AutoModelForSequenceClassification, BertConfig, PreTrainedModel

from nn_kit import padded, some_ids

COMMON: dict[str, Any] = {
    "vocab_size": 60,
    "hidden_size": 48,
    "num_attention_heads": 4,
    "num_hidden_layers": 4,
    "intermediate_size": 96,
    "max_position_embeddings": 64,
}
TINY: dict[str, Callable[..., Any]] = {
    "bert": lambda **changes: BertConfig(**COMMON | changes),
}
"""A configuration for each family, by its `model_type`."""


def their_model(
    family: str, classifier: bool = False, std: float = 0.15, seed: int = 0, **changes: Any
) -> PreTrainedModel:
    """A model of transformers in evaluation mode, all its parameters normal with deviation `std`.

    Those of norms are normal around 1: around 0 they would shrink every state until a wrong model looks right.
    """
    make = AutoModelForSequenceClassification if classifier else AutoModel
    model = make.from_config(TINY[family](**changes)).eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator) * std
            parameter.copy_(noise + 1 if parameter.ndim == 1 and name.endswith("weight") else noise)
    return model


def saved(model: PreTrainedModel, folder: Path) -> Path:
    model.save_pretrained(folder)
    return folder


def ragged(lengths: tuple[int, ...] = (60, 40, 7)) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids and validity of texts of different lengths, padded on the right."""
    return padded([some_ids(length, seed=length) for length in lengths])
