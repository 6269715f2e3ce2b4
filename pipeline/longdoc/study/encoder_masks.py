"""The masks that an encoder's layers have, for drawing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from longdoc.nn import EncoderConfig
from longdoc.nn.layer_masks import layer_masks
from longdoc.nn.mask import AttentionMask
from longdoc.study.masks import MaskRow, padding_rules

__all__ = ["EncoderMask", "encoder_masks"]


@dataclass(frozen=True)
class EncoderMask:
    """A mask, and whose it is.

    Attributes:
        layers: numbers of the layers that have it, from 0.
        allowed: bool (L, L), queries down.
        rules: names such as `window 2`.
    """

    layers: tuple[int, ...]
    allowed: Tensor
    rules: list[str]

    @property
    def title(self) -> str:
        """`layer 0` or `layers 0, 3, 6`."""
        return f"layer{'s' if len(self.layers) > 1 else ''} {', '.join(map(str, self.layers))}"


def encoder_masks(config: EncoderConfig, row: MaskRow) -> list[EncoderMask]:
    """Each mask that differs, from the code that the encoder itself runs, in the order of the layers."""
    masks, _ = layer_masks(config, AttentionMask.padding(row.valid), row.positions, row.valid, row.segments)
    found: dict[int | None, EncoderMask] = {}
    for number, mask in enumerate(masks):
        window = config.window_of(number)
        layers = (*found[window].layers, number) if window in found else (number,)
        assert mask.allowed is not None
        allowed = mask.allowed.expand(1, 1, row.length, row.length)[0, 0]
        found[window] = EncoderMask(layers, allowed, _rules(config, window, row))
    return list(found.values())


def _rules(config: EncoderConfig, window: int | None, row: MaskRow) -> list[str]:
    seen = f" | global {_run(config.global_tokens)}" if config.global_tokens else ""
    rules = [] if window is None else [f"window {window}{seen}"]
    rules += row.block_rules
    rules += ["causal"] if config.causal else []
    for rule in config.masks:
        said = rule.model_dump()
        fields: Sequence[str] = [f"{name} {value}" for name, value in said.items() if name != "kind"]
        rules.append(f"{said['kind']} {', '.join(fields)}".strip() + seen)
    return rules + padding_rules(row)


def _run(tokens: int) -> str:
    return "0" if tokens == 1 else f"0 to {tokens - 1}"
