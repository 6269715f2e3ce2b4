"""Checkpoints in the layout of authors whose code transformers does not have, random, with the formulas they follow."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from longdoc.checkpoints import load_encoder
from nn_kit import some_ids
from reference.foreign_encoders import jina_v2, neobert

LAYERS, WIDTH, INNER, HEADS, EPS = 3, 48, 96, 6, 1e-5
COMMON = {
    "vocab_size": 60,
    "hidden_size": WIDTH,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "pad_token_id": 0,
}
JINA = COMMON | {
    "model_type": "bert",
    "position_embedding_type": "alibi",
    "feed_forward_type": "geglu",
    "intermediate_size": INNER,
    "layer_norm_eps": EPS,
    "max_position_embeddings": 8192,
    "type_vocab_size": 2,
}
CONFIGS: dict[str, dict[str, Any]] = {
    "jina_bert_v2": JINA | {"auto_map": {"AutoModel": "jinaai/jina-bert-implementation--modeling_bert.JinaBertModel"}},
    "jina_bert_v2_code": JINA
    | {"auto_map": {"AutoModel": "jinaai/jina-bert-v2-qk-post-norm--modeling_bert.JinaBertModel"}},
    "neobert": COMMON | {"model_type": "neobert", "intermediate_size": 100, "norm_eps": EPS, "max_length": 128},
}
FORMULAS: dict[str, Callable[[dict[str, torch.Tensor], list[int]], torch.Tensor]] = {
    "jina_bert_v2": lambda tensors, ids: jina_v2(tensors, ids, LAYERS, HEADS, EPS, of_code=False),
    "jina_bert_v2_code": lambda tensors, ids: jina_v2(tensors, ids, LAYERS, HEADS, EPS, of_code=True),
    "neobert": lambda tensors, ids: neobert(tensors, ids, LAYERS, HEADS, EPS),
}


def shapes(family: str) -> dict[str, tuple[int, ...]]:
    """Names and shapes as in the files of the family's authors."""
    if family == "neobert":
        inner = 72  # two thirds of 100, rounded up to a multiple of 8
        found = {"encoder": (60, WIDTH), "layer_norm": (WIDTH,)}
        for number in range(LAYERS):
            layer = f"transformer_encoder.{number}"
            found |= {f"{layer}.qkv": (3 * WIDTH, WIDTH), f"{layer}.wo": (WIDTH, WIDTH)}
            found |= {f"{layer}.ffn.w12": (2 * inner, WIDTH), f"{layer}.ffn.w3": (WIDTH, inner)}
            found |= {f"{layer}.attention_norm": (WIDTH,), f"{layer}.ffn_norm": (WIDTH,)}
        return {f"{name}.weight": shape for name, shape in found.items()}
    of_code = family == "jina_bert_v2_code"
    tables = {"embeddings.word_embeddings.weight": (60, WIDTH), "embeddings.token_type_embeddings.weight": (2, WIDTH)}
    modules = {"embeddings.LayerNorm": (WIDTH,), "pooler.dense": (WIDTH, WIDTH)}
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}"
        modules |= {f"{layer}.attention.self.{part}": (WIDTH, WIDTH) for part in ("query", "key", "value")}
        modules |= {f"{layer}.attention.output.dense": (WIDTH, WIDTH)}
        if of_code:
            modules |= {f"{layer}.attention.self.layer_norm_{part}": (WIDTH,) for part in "qk"}
            modules |= {f"{layer}.layer_norm_{part}": (WIDTH,) for part in "12"}
        else:
            modules |= {f"{layer}.attention.output.LayerNorm": (WIDTH,), f"{layer}.mlp.layernorm": (WIDTH,)}
        modules |= {f"{layer}.mlp.{'down_layer' if of_code else 'wo'}": (WIDTH, INNER)}
        tables |= {f"{layer}.mlp.{'up_gated_layer' if of_code else 'gated_layers'}.weight": (2 * INNER, WIDTH)}
    weights = {f"{name}.weight": shape for name, shape in modules.items()}
    return tables | weights | {f"{name}.bias": shape[:1] for name, shape in modules.items()}


def written(family: str, folder: Path) -> Path:
    """A random checkpoint in float64, as its authors would have saved it."""
    generator = torch.Generator().manual_seed(0)
    tensors = {}
    for name, shape in shapes(family).items():
        noise = torch.randn(shape, generator=generator, dtype=torch.float64) * 0.15
        tensors[name] = noise + 1 if len(shape) == 1 and name.endswith("weight") else noise
    save_file(tensors, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(CONFIGS[family]))
    return folder


Change = Callable[[Any], None]


def largest_difference(folder: Path, family: str, dtype: torch.dtype, changed: Change | None = None) -> float:
    encoder = load_encoder(folder).to(dtype)
    if changed is not None:
        changed(encoder)
    tensors = load_file(folder / "model.safetensors")
    worst = 0.0
    for length in (1, 7, 40):
        ids = some_ids(length, seed=length)
        padded = torch.tensor([[*ids, *[0] * 5]])
        valid = torch.tensor([[True] * length + [False] * 5])
        with torch.no_grad():
            found = encoder(padded, valid)[0, :length]
        worst = max(worst, float((found - FORMULAS[family](tensors, ids)).abs().max()))
    return worst
