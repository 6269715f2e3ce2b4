"""Encoders whose own code transformers does not have, written out from their papers and from the names of their files.

Slow and plain: one row without padding at a time, one head at a time, with the tensors as they stand in a file.
"""

from __future__ import annotations

import math

import torch

Tensors = dict[str, torch.Tensor]


def linear(tensors: Tensors, name: str, x: torch.Tensor) -> torch.Tensor:
    out = x @ tensors[f"{name}.weight"].T
    return out + tensors[f"{name}.bias"] if f"{name}.bias" in tensors else out


def layer_norm(tensors: Tensors, name: str, x: torch.Tensor, eps: float) -> torch.Tensor:
    centred = x - x.mean(-1, keepdim=True)
    normed = centred / (centred.square().mean(-1, keepdim=True) + eps).sqrt()
    return normed * tensors[f"{name}.weight"] + tensors[f"{name}.bias"]


def rms_norm(tensors: Tensors, name: str, x: torch.Tensor, eps: float) -> torch.Tensor:
    return x / (x.square().mean(-1, keepdim=True) + eps).sqrt() * tensors[f"{name}.weight"]


def exact_gelu(x: torch.Tensor) -> torch.Tensor:
    return x * (1 + torch.erf(x / math.sqrt(2))) / 2


def silu(x: torch.Tensor) -> torch.Tensor:
    return x / (1 + torch.exp(-x))


def press_slopes(heads: int) -> list[float]:
    """Of the reference code of ALiBi: a geometric series, filled up from that of twice as many heads."""
    if heads & (heads - 1) == 0:
        first = 2 ** (-(2.0 ** -(math.log2(heads) - 3)))
        return [first ** (k + 1) for k in range(heads)]
    below = 2 ** math.floor(math.log2(heads))
    return press_slopes(below) + press_slopes(2 * below)[0::2][: heads - below]


def jina_v2(tensors: Tensors, ids: list[int], layers: int, heads: int, eps: float, of_code: bool) -> torch.Tensor:
    """(L, D). `of_code`: the variant that norms queries and keys and has other names."""
    x = tensors["embeddings.word_embeddings.weight"][ids] + tensors["embeddings.token_type_embeddings.weight"][0]
    x = layer_norm(tensors, "embeddings.LayerNorm", x, eps)
    length, width = x.shape
    of_head = width // heads
    places = torch.arange(length)
    for number in range(layers):
        layer = f"encoder.layer.{number}"
        q, k, v = (linear(tensors, f"{layer}.attention.self.{part}", x) for part in ("query", "key", "value"))
        if of_code:
            q = layer_norm(tensors, f"{layer}.attention.self.layer_norm_q", q, eps)
            k = layer_norm(tensors, f"{layer}.attention.self.layer_norm_k", k, eps)
        parts = []
        for head, slope in enumerate(press_slopes(heads)):
            span = slice(head * of_head, (head + 1) * of_head)
            scores = q[:, span] @ k[:, span].T / math.sqrt(of_head)
            scores = scores - slope * (places[:, None] - places[None]).abs()
            parts.append(scores.softmax(-1) @ v[:, span])
        attended = linear(tensors, f"{layer}.attention.output.dense", torch.cat(parts, -1))
        if of_code:
            x = layer_norm(tensors, f"{layer}.layer_norm_1", x + attended, eps)
            up, gate = linear(tensors, f"{layer}.mlp.up_gated_layer", x).chunk(2, -1)
            inner = linear(tensors, f"{layer}.mlp.down_layer", up * exact_gelu(gate))
            x = layer_norm(tensors, f"{layer}.layer_norm_2", x + inner, eps)
        else:
            x = layer_norm(tensors, f"{layer}.attention.output.LayerNorm", x + attended, eps)
            gate, up = linear(tensors, f"{layer}.mlp.gated_layers", x).chunk(2, -1)
            inner = linear(tensors, f"{layer}.mlp.wo", exact_gelu(gate) * up)
            x = layer_norm(tensors, f"{layer}.mlp.layernorm", x + inner, eps)
    return x


def neobert(tensors: Tensors, ids: list[int], layers: int, heads: int, eps: float) -> torch.Tensor:
    """(L, D). Positions turn neighbouring pairs as complex numbers."""
    x = tensors["encoder.weight"][ids]
    length, width = x.shape
    of_head = width // heads
    frequencies = 10000.0 ** -(torch.arange(0, of_head, 2, dtype=x.dtype) / of_head)
    turns = torch.polar(torch.ones(length, of_head // 2, dtype=x.dtype), torch.arange(length)[:, None] * frequencies)
    for number in range(layers):
        layer = f"transformer_encoder.{number}"
        fused = linear(tensors, f"{layer}.qkv", rms_norm(tensors, f"{layer}.attention_norm", x, eps))
        parts = []
        for head in range(heads):
            of_this = fused[:, head * 3 * of_head : (head + 1) * 3 * of_head]
            q, k, v = (of_this[:, part * of_head : (part + 1) * of_head] for part in range(3))
            q, k = (
                torch.view_as_real(torch.view_as_complex(half.reshape(length, -1, 2)) * turns).reshape(length, of_head)
                for half in (q, k)
            )
            parts.append((q @ k.T / math.sqrt(of_head)).softmax(-1) @ v)
        x = x + linear(tensors, f"{layer}.wo", torch.cat(parts, -1))
        first, second = linear(tensors, f"{layer}.ffn.w12", rms_norm(tensors, f"{layer}.ffn_norm", x, eps)).chunk(2, -1)
        x = x + linear(tensors, f"{layer}.ffn.w3", silu(first) * second)
    return rms_norm(tensors, "layer_norm", x, eps)
