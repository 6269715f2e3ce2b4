"""What an encoder is made of, as a section of a configuration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import torch
from pydantic import Field, model_validator

from longdoc.nn.layers import Activation, Norm
from longdoc.nn.mask_rules import MaskRuleConfig
from longdoc.nn.position import Geometry, LearnedConfig, PositionConfig, RotaryConfig
from longdoc.nn.shapes import shapes_only
from longdoc.schema import Config

__all__ = ["EncoderConfig"]

# Far above any encoder that exists, and low enough that a configuration from a stranger cannot stall the machine.
_LARGEST, _WIDEST, _DEEPEST = 1 << 31, 1 << 20, 1 << 10

Window = Annotated[int, Field(ge=0, le=_LARGEST)] | None


class EncoderConfig(Config):
    """What an encoder is made of. The defaults are those of BERT."""

    vocab_size: int = Field(default=30522, ge=1, le=_LARGEST)
    """Rows of the word table."""
    width: int = Field(default=768, ge=1, le=_WIDEST)
    """Width of a token's state; a multiple of `heads`."""
    layers: int = Field(default=12, ge=1, le=_DEEPEST)
    """Number of layers."""
    heads: int = Field(default=12, ge=1, le=_WIDEST)
    """Attention heads of a layer."""
    head_width: int | None = Field(default=None, ge=1, le=_WIDEST)
    """Width of a head; null = `width` / `heads`."""
    key_value_heads: int | None = Field(default=None, ge=1, le=_WIDEST)
    """Heads of keys and values, shared by neighbouring query heads (grouped queries); null = `heads`."""
    query_key_norm: bool = False
    """Whether queries and keys are normed, over all heads together, before they are split into heads."""
    embedding_width: int | None = Field(default=None, ge=1, le=_WIDEST)
    """Width of the word, token type and position tables, projected to `width` (ELECTRA); null = `width`, as it is."""
    feed_forward_width: int = Field(default=3072, ge=1, le=_WIDEST)
    """Inner width of the feed-forward part."""
    feed_forward: Literal["plain", "gated"] = "plain"
    """`plain` (BERT) or `gated` (GeGLU, SwiGLU)."""
    activation: Activation = "gelu"
    """Activation of the feed-forward part; `gelu` is the exact one."""
    norm: Literal["post", "pre"] = "post"
    """Norm after each residual sum (BERT), or before each part and once at the end."""
    first_norm: bool = True
    """Whether the attention of the first layer has its norm (ModernBERT norms the embeddings instead)."""
    norm_kind: Norm = "layer"
    """`layer` or `rms`."""
    norm_eps: float = Field(default=1e-12, gt=0)
    """Added to the variance in a norm."""
    embedding_norm: bool = True
    """Whether embeddings are normed before the first layer."""
    bias: bool = True
    """Whether linear layers and layer norms have biases, where the next four say nothing else."""
    attention_bias: bool | None = None
    """Whether the projections of the attention have biases; null = as `bias`."""
    feed_forward_bias: bool | None = None
    """Whether the projections to the inner width have biases; null = as `bias`."""
    feed_forward_output_bias: bool | None = None
    """Whether the projection back from the inner width has a bias; null = as `bias`."""
    norm_bias: bool | None = None
    """Whether layer norms have biases; null = as `bias`."""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """Dropout on embeddings and on what each part of a layer adds."""
    attention_dropout: float = Field(default=0.1, ge=0, lt=1)
    """Dropout on attention weights."""
    position: PositionConfig = LearnedConfig()
    """The position encoding, by its `kind`."""
    token_types: int = Field(default=0, ge=0, le=_LARGEST)
    """Rows of the token type table (BERT has 2); tokens have type 0, but for the second text of a pair."""
    window: Window | tuple[Window, ...] = None
    """A token attends to this many tokens on each side; None = to all. Several = one for layer 0, 1 ... and from the
    first again (ModernBERT, whose every third layer attends to everything: null, 64, 64); at most one a layer."""
    global_tokens: int = Field(default=0, ge=0, le=_LARGEST)
    """The first tokens of a text that see all and are seen by all whatever the window, with projections of their own
    (Longformer, whose first token is one)."""
    causal: bool = False
    """A token attends to itself and what stands before it only."""
    masks: tuple[MaskRuleConfig, ...] = ()
    """Further rules, each by its `kind`; a pair must be allowed by all of them. Global tokens see past them as past a
    window."""
    max_len: int = Field(default=512, ge=1, le=_LARGEST)
    """The longest row that the encoder is meant for, special tokens included."""
    pad_id: int = Field(default=0, ge=0, le=_LARGEST)
    """The id that fills rows up. Batching uses it; the encoder goes by `valid` alone."""
    family: str | None = None
    """The family of checkpoints whose file layout this encoder is saved in; None = our own."""

    @model_validator(mode="after")
    def _heads_divide_width(self) -> EncoderConfig:
        if self.head_width is None and self.width % self.heads:
            raise ValueError(f"`width` must be a multiple of `heads` ({self.heads}), but is {self.width} instead.")
        if self.key_value_heads is not None and self.heads % self.key_value_heads:
            raise ValueError(
                f"`heads` must be a multiple of `key_value_heads` ({self.key_value_heads}), but is {self.heads} "
                "instead."
            )
        if self.window == ():
            raise ValueError("`window` must name at least one layer's window, but names none.")
        self._check_layers_named()
        if self.global_tokens and self._speaks_to_values:
            raise ValueError(
                f"`position` must not speak to the values beside global tokens, but {self.position.kind} does. "
                "Choose another, or set `global_tokens` to 0."
            )
        return self

    def _check_layers_named(self) -> None:
        """Numbers for layers that are not there would be lost without a word."""
        named = {"window": len(self.window) if isinstance(self.window, tuple) else 1}
        for part in _within(self.position):
            if isinstance(part, RotaryConfig):
                named["theta"] = max(named.get("theta", 1), part.layers_named)
        for name, layers in named.items():
            if layers > self.layers:
                raise ValueError(
                    f"`{name}` must name at most one number a layer ({self.layers}), but names {layers} instead."
                )

    @property
    def _speaks_to_values(self) -> bool:
        with shapes_only():
            plan = self.position.build(self.geometry).plan(torch.zeros(1, 1, dtype=torch.int64), torch.float32)
            return plan.value_term(0) is not None

    @property
    def geometry(self) -> Geometry:
        """What a position encoding must know."""
        head_width = self.width // self.heads if self.head_width is None else self.head_width
        return Geometry(
            self.width, self.heads, head_width, self.layers, self.max_len, self.embedding_width or self.width
        )

    def window_of(self, layer: int) -> int | None:
        """The window of layer 0, 1 ..."""
        return self.window[layer % len(self.window)] if isinstance(self.window, tuple) else self.window


def _within(value: Any) -> Iterator[Any]:
    """A section and those that it holds."""
    yield value
    held = [getattr(value, name) for name in type(value).model_fields] if isinstance(value, Config) else value
    for each in held if isinstance(held, list | tuple) else ():
        yield from _within(each)
