"""Small encoders and hand-made batches for the suites of `nn`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from pydantic import TypeAdapter

from longdoc.model import LongDocModel
from longdoc.nn import Encoder, EncoderConfig
from longdoc.nn.readout import ReadoutConfig
from longdoc.types import ChunkBatch

VOCABULARY = 50

MASKS: dict[str, dict[str, Any]] = {
    "full": {},
    "window": {"window": 3},
    "causal": {"causal": True},
    "causal window": {"causal": True, "window": 4},
}
"""The attention masks that an encoder can be built with."""


def tiny_config(**changes: Any) -> EncoderConfig:
    """Two layers of width 16 without dropout."""
    fields: dict[str, Any] = {
        "vocab_size": VOCABULARY,
        "width": 16,
        "layers": 2,
        "heads": 4,
        "feed_forward_width": 32,
        "dropout": 0.0,
        "attention_dropout": 0.0,
        "max_len": 512,
        "norm_eps": 1e-6,
    }
    return EncoderConfig(**fields | changes)


def tiny_encoder(seed: int = 0, std: float = 0.2, **changes: Any) -> Encoder:
    """`tiny_config` with weights large enough that every part of it shows in the output."""
    return randomised(Encoder(tiny_config(**changes)), seed, std).eval()


def randomised(module: Any, seed: int = 0, std: float = 0.2) -> Any:
    """The same module with all parameters drawn anew."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * std)
    return module


def tiny_model(seed: int = 0, classes: int = 3, readout: dict[str, Any] | None = None, **changes: Any) -> LongDocModel:
    encoder = tiny_encoder(seed, **changes)
    head = TypeAdapter(ReadoutConfig).validate_python(readout or {}).build(encoder.config.width, classes)
    return LongDocModel(encoder, randomised(head, seed + 1)).eval()


def some_ids(length: int, seed: int = 0) -> list[int]:
    return torch.randint(1, VOCABULARY, (length,), generator=torch.Generator().manual_seed(seed)).tolist()


def padded(
    texts: Sequence[Sequence[int]], length: int | None = None, side: str = "right", pad_id: int = 0
) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids and validity, (N, L) each."""
    length = max(map(len, texts)) if length is None else length
    ids = torch.full((len(texts), length), pad_id)
    valid = torch.zeros(len(texts), length, dtype=torch.bool)
    for row, text in enumerate(texts):
        span = slice(0, len(text)) if side == "right" else slice(length - len(text), length)
        ids[row, span] = torch.tensor(text)
        valid[row, span] = True
    return ids, valid


def batch_of(
    token_ids: torch.Tensor,
    valid: torch.Tensor | None = None,
    owner: Sequence[int] | None = None,
    core: torch.Tensor | None = None,
    ordinals: Sequence[int] | None = None,
) -> ChunkBatch:
    """A batch in which every real token but the first is a core token, and each row a document unless `owner` says."""
    real = torch.ones_like(token_ids, dtype=torch.bool) if valid is None else valid
    body = real & (real.cumsum(-1) > 1)
    core = body if core is None else core
    owners = list(range(len(token_ids))) if owner is None else list(owner)
    return ChunkBatch(
        token_ids=token_ids,
        valid=valid,
        body=body,
        core=core,
        owner=torch.tensor(owners),
        weights=core.sum(-1).float(),
        documents=max(owners) + 1,
        chunks=(),
        ordinals=None if ordinals is None else torch.tensor(ordinals),
    )
