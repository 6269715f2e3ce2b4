"""The encoder: token ids in, one state for each token out.

Shape letters: N rows, L padded length, D width, H heads.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from longdoc.nn.dropout import Dropout
from longdoc.nn.encoder_config import EncoderConfig
from longdoc.nn.inputs import check_inputs, check_rows_of_table
from longdoc.nn.layer_masks import layer_masks, packed_layer_masks
from longdoc.nn.layers import EncoderLayer, FeedForward, GatedFeedForward, build_norm
from longdoc.nn.mask import AttentionMask
from longdoc.nn.packed import LayerMask, fits_kernel
from longdoc.nn.position import PositionEncoding
from longdoc.nn.position.axes import reading_order
from longdoc.nn.position.counting import count_positions
from longdoc.nn.self_attention import SelfAttention
from longdoc.packing import Packing

__all__ = ["Encoder"]


class Encoder(nn.Module):
    """A transformer encoder.

    Args:
        config: what it is made of.
        position: an encoding of your own; None = the one that `config.position` names.

    Attributes:
        carried: tensors that came with a checkpoint and that no part of this encoder uses, by their names there
            (BERT's pooler). They are neither parameters nor state; saving writes them back.
    """

    def __init__(self, config: EncoderConfig, position: PositionEncoding | None = None) -> None:
        super().__init__()
        self.config = config
        self.carried: dict[str, Tensor] = {}
        embedded = config.geometry.embedding_width
        self.word = nn.Embedding(config.vocab_size, embedded)
        self.token_type = nn.Embedding(config.token_types, embedded) if config.token_types else None
        self.position = config.position.build(config.geometry) if position is None else position
        self.embedding_norm = self._build_norm(embedded) if config.embedding_norm else nn.Identity()
        self.dropout = Dropout(config.dropout)
        self.embedding_projection = nn.Linear(embedded, config.width) if config.embedding_width else nn.Identity()
        self.layers = nn.ModuleList(self._build_layer(number) for number in range(config.layers))
        self.final_norm = self._build_norm(config.width) if config.norm == "pre" else nn.Identity()
        self._initialise()

    @property
    def max_tokens(self) -> int | None:
        """The longest row that the position encoding can number; None = any."""
        return self.position.max_tokens

    @property
    def takes_packing(self) -> bool:
        """Whether rows may be computed as texts behind each other: attention is told of nothing but borders then."""
        c = self.config
        if c.global_tokens or c.masks or (self.training and c.attention_dropout > 0):
            return False
        positions = torch.zeros(1, 1, dtype=torch.int64, device=self.word.weight.device)
        with torch.no_grad():
            plan = self.position.plan(positions, self.word.weight.dtype)
        return fits_kernel(c.geometry.head_width) and plan.leaves_scores_alone

    def forward(
        self,
        token_ids: Tensor,
        valid: Tensor | None = None,
        positions: Tensor | None = None,
        segments: Tensor | None = None,
        token_types: Tensor | None = None,
        packing: Packing | None = None,
    ) -> Tensor:
        """One state for each token.

        Args:
            token_ids: int64 (N, L).
            valid: bool (N, L), True = a real token; None = all. Padding may stand on either side, and whatever its
                ids, it never reaches a real token's state.
            positions: int64 (N, L) or (1, L); None = counted from the real tokens of each segment. With further axes,
                which some position encodings read: (A, 1|N, L), axis 0 is the reading order.
            segments: int64 (N, L) where several texts share a row; they do not see each other.
            token_types: int64 (N, L), which text of a pair each token belongs to; None = all to the first. Nothing to
                an encoder with fewer than two types.
            packing: the same real tokens as `valid`, all of them from the first column of their rows on. Rows are
                computed so where `takes_packing`; otherwise it is passed over.

        Returns:
            (N, L, D). States of padding are finite and mean nothing.

        Raises:
            UsageError: rows without tokens, a shape that does not fit, or no integers; on the CPU also an id or a token
                type that is no row of its table. On a device that would be a wait in each pass: its own check finds it.
        """
        check_inputs(token_ids, valid=valid, positions=positions, segments=segments, token_types=token_types)
        mask = AttentionMask()
        if valid is not None:
            padding = AttentionMask.padding(valid)
            assert padding.allowed is not None
            valid = padding.allowed[:, 0, 0]
            token_ids = token_ids.masked_fill(~valid, 0)  # padding ids may be anything, in the table or not
            positions = None if positions is None else positions.masked_fill(~valid, 0)
            mask = mask & padding
        order = count_positions(token_ids, valid, segments) if positions is None else reading_order(positions)
        positions = order.clamp(min=0) if positions is None else positions
        rows, length = token_ids.shape
        packing = packing if segments is None and self.takes_packing else None
        if packing is not None and packing.kept is not None:
            token_ids, positions = packing.pack(token_ids, rows), packing.pack(positions, rows)
            token_types = None if token_types is None else packing.pack(token_types, rows)
            valid = None

        check_rows_of_table(token_ids, self.word.num_embeddings, "token_ids")
        x = self.word(token_ids)
        if self.token_type is not None:
            is_pair = token_types is not None and self.config.token_types > 1
            if token_types is not None and is_pair:
                check_rows_of_table(token_types, self.token_type.num_embeddings, "token_types")
            x = x + (self.token_type(token_types) if is_pair else self.token_type.weight[0])
        x = self.position.embed(x, positions)
        if valid is not None:
            x = x.masked_fill(~valid[..., None], 0.0)
        x = self.embedding_projection(self.dropout(self.embedding_norm(x)))

        plan = self.position.plan(positions, x.dtype)
        masks: Sequence[LayerMask]
        if packing is None:
            masks, global_tokens = layer_masks(self.config, mask, order, valid, segments)
        else:
            masks, global_tokens = packed_layer_masks(self.config, packing), None
        for number, (layer, layer_mask) in enumerate(zip(self.layers, masks, strict=True)):
            x = layer(x, layer_mask, plan, number, global_tokens)
        x = self.final_norm(x)
        return x if packing is None else packing.unpack(x, rows, length)

    def _build_layer(self, number: int) -> EncoderLayer:
        c = self.config
        width = c.geometry.head_width
        feed_forward = FeedForward if c.feed_forward == "plain" else GatedFeedForward
        return EncoderLayer(
            SelfAttention(
                c.width,
                c.heads,
                c.attention_dropout,
                _or(c.attention_bias, c.bias),
                c.head_width,
                c.key_value_heads,
                global_projections=c.global_tokens > 0,
                query_norm=self._build_norm(c.heads * width) if c.query_key_norm else None,
                key_norm=self._build_norm((c.key_value_heads or c.heads) * width) if c.query_key_norm else None,
            ),
            feed_forward(
                c.width,
                c.feed_forward_width,
                c.activation,
                _or(c.feed_forward_bias, c.bias),
                _or(c.feed_forward_output_bias, c.bias),
            ),
            self._build_norm(c.width) if number > 0 or c.first_norm else nn.Identity(),
            self._build_norm(c.width),
            c.dropout,
            pre_norm=c.norm == "pre",
        )

    def _build_norm(self, width: int) -> nn.Module:
        c = self.config
        return build_norm(c.norm_kind, width, c.norm_eps, _or(c.norm_bias, c.bias))

    def _initialise(self) -> None:
        """Tables as BERT (deviation 0.02), biases 0, words as loud as what position adds to them.

        Products keep the size of what they are given (deviation 1 / sqrt of their inputs; LeCun et al. 1998). BERT's
        0.02 suits its width: in narrow encoders it makes queries and keys so quiet that attention begins, and long
        stays, uniform.
        """
        if self.word.weight.is_meta:  # a checkpoint fills it
            return
        for module in self.modules():
            if isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=0.02)
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=module.in_features**-0.5)
            if isinstance(module, nn.Linear) and module.bias is not None:
                nn.init.zeros_(module.bias)
        nn.init.normal_(self.word.weight, std=max(0.02, self._loudness_of_position()))

    @torch.no_grad()
    def _loudness_of_position(self) -> float:
        """The deviation at which words are as loud as what position adds to them.

        BERT adds a table as quiet as its words. A formula adds sines of size 1: words of deviation 0.02 would be lost
        under them and the encoder would learn positions only.
        """
        positions = torch.arange(min(self.config.max_len, self.max_tokens or self.config.max_len))[None]
        silent = torch.zeros(1, positions.shape[1], self.config.geometry.embedding_width)
        added = self.position.embed(silent, positions)
        gain = self.position.embed(silent + 1, positions) - added
        return float(added.square().mean().sqrt() / gain.square().mean().sqrt())

    def extra_repr(self) -> str:
        return f"width={self.config.width}, layers={self.config.layers}, heads={self.config.heads}"


def _or(chosen: bool | None, otherwise: bool) -> bool:
    return otherwise if chosen is None else chosen
