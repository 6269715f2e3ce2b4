"""Who may attend to whom in each layer of an encoder, as its configuration says."""

from __future__ import annotations

from torch import Tensor

from longdoc.nn.encoder_config import EncoderConfig
from longdoc.nn.mask import AttentionMask
from longdoc.nn.packed import PackedMask
from longdoc.nn.self_attention import GlobalTokens
from longdoc.packing import Packing

__all__ = ["layer_masks", "packed_layer_masks"]


def layer_masks(
    config: EncoderConfig,
    mask: AttentionMask,
    order: Tensor,
    valid: Tensor | None = None,
    segments: Tensor | None = None,
) -> tuple[list[AttentionMask], GlobalTokens | None]:
    """The mask of each layer, made once a forward pass and shared where layers agree, and the global tokens.

    Args:
        mask: what is allowed whatever the configuration: the keys that are no padding.
        order: int64 (1|N, L), the place of each token in its text.
        valid: bool (N, L), True = a real token; None = all.
        segments: int64 (N, L) where several texts share a row; they do not see each other.
    """
    if segments is not None:
        mask = mask & AttentionMask.blocks(segments)
    if config.causal:
        mask = mask & AttentionMask.causal(order)
    seen_by_all = global_tokens = None
    if config.global_tokens:
        is_global = order < config.global_tokens
        is_global = is_global.expand(len(order), -1) if valid is None else is_global & valid
        seen_by_all = AttentionMask.globals_(is_global)
        global_tokens = GlobalTokens.of(is_global, mask)
    for rule in config.masks:
        ruled = rule.mask(order)
        mask = mask & (ruled if seen_by_all is None else ruled | seen_by_all)
    made: dict[int | None, AttentionMask] = {None: mask}
    masks = []
    for number in range(config.layers):
        window = config.window_of(number)
        if window is not None and window not in made:
            near = AttentionMask.sliding_window(order, window)
            made[window] = mask & (near if seen_by_all is None else near | seen_by_all)
        masks.append(made[window])
    return masks, global_tokens


def packed_layer_masks(config: EncoderConfig, packing: Packing) -> list[PackedMask]:
    """The same for texts behind each other. The configuration has neither global tokens nor mask rules."""
    radii = [config.window_of(number) for number in range(config.layers)]
    return [
        PackedMask(packing, before, 0 if config.causal else before)
        for before in (-1 if radius is None else radius for radius in radii)
    ]
