"""What learns, and how fast: frozen parts, and the rates of the encoder's layers and of the head."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Protocol

import torch

from longdoc.errors import ConfigurationError
from longdoc.nn.mergers.base import Merger

__all__ = ["build_optimizer", "freeze_parts", "layers_below"]

_LAYERS = "encoder.layers."
_ALONE = 1e-2  # what a head on a frozen encoder learns at: at a tenth of it, some hundred steps leave it where it was


class _Rates(Protocol):
    @property
    def learning_rate(self) -> float: ...
    @property
    def head_learning_rate(self) -> float | None: ...
    @property
    def weight_decay(self) -> float: ...


def freeze_parts(model: torch.nn.Module, names: Sequence[str], section: str = "training") -> bool:
    """Stop gradients of everything under the names. True when no parameter of the encoder learns.

    Args:
        model: one whose part `encoder` is the encoder.
        names: of parts: `encoder.layers.0`; with patterns between the dots: `encoder.layers.[0-3]`,
            `encoder.layers.*.attention`. `encoder.embeddings` is all that comes before the layers.
        section: of the configuration, for messages.

    Raises:
        ConfigurationError: a name that the model does not have, or nothing is left to train.
    """
    for name in names:
        touched = [p for n, p in model.named_parameters() if _is_under(n, name)]
        if not touched:
            tops = sorted({".".join(n.split(".")[:2]) for n, _ in model.named_parameters()})
            raise ConfigurationError(
                f"`{section}.freeze` names {name!r}, but the model has no such part. It has: encoder, "
                f"{', '.join(tops)}."
            )
        for parameter in touched:
            parameter.requires_grad_(False)
    if not any(p.requires_grad for p in model.parameters()):
        raise ConfigurationError(f"`{section}.freeze` must leave something to train, but freezes the whole model.")
    return not any(p.requires_grad for n, p in model.named_parameters() if n.startswith("encoder."))


def _is_under(name: str, pattern: str) -> bool:
    if pattern == "encoder.embeddings":
        return name.startswith("encoder.") and not name.startswith((_LAYERS, "encoder.final_norm."))
    wanted, steps = pattern.split("."), name.split(".")
    return len(wanted) <= len(steps) and all(map(fnmatchcase, steps, wanted))


def layers_below(name: str, layers: int) -> int:
    """How many layers lie between a parameter of the encoder and the head.

    Args:
        name: of the parameter, as the model calls it.
        layers: of the encoder.

    Returns:
        0 for the uppermost layer and the norm behind it, `layers` for all that comes before the first layer: word,
        type and position tables, their norm and projection.
    """
    if name.startswith("encoder.final_norm."):
        return 0
    if not name.startswith(_LAYERS):
        return layers
    return layers - 1 - int(name.removeprefix(_LAYERS).partition(".")[0])


def _only_new_parts_learn(model: torch.nn.Module) -> bool:
    return not any(p.requires_grad for name, p in model.named_parameters() if name.startswith("encoder."))


def build_optimizer(model: torch.nn.Module, settings: _Rates, layer_decay: float = 1.0) -> torch.optim.Optimizer:
    """AdamW: the encoder and the new parts learn at rates of their own; vectors (biases, norms) do not decay.

    A part that names a `highest_rate` (a merger with layers) learns no faster than that.

    Args:
        layer_decay: what the rate is multiplied with from each layer to the one below it; the embeddings are below the
            first (Howard and Ruder 2018, arXiv 1801.06146, section 3.2; Clark et al. 2020, arXiv 2003.10555). The
            uppermost layer has the encoder's full rate.
    """
    head_rate = settings.head_learning_rate or 10 * settings.learning_rate
    if settings.head_learning_rate is None and _only_new_parts_learn(model):
        head_rate = max(head_rate, _ALONE)
    limits = {
        id(p): module.highest_rate
        for module in model.modules()
        if isinstance(module, Merger) and module.highest_rate is not None
        for p in module.parameters()
    }
    layers = len({n.split(".")[2] for n, _ in model.named_parameters() if n.startswith(_LAYERS)})
    groups: dict[tuple[bool, float, float], list[torch.nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            is_head = not name.startswith("encoder.")
            rate = head_rate if is_head else settings.learning_rate * layer_decay ** layers_below(name, layers)
            rate = min(rate, limits.get(id(parameter), rate))
            decay = 0.0 if parameter.ndim < 2 or "position" in name else settings.weight_decay
            groups.setdefault((is_head, rate, decay), []).append(parameter)
    # The encoder's fastest group comes first: its rate is the one that is told.
    ordered = sorted(groups.items(), key=lambda group: (group[0][0], -group[0][1]))
    return torch.optim.AdamW([{"params": p, "lr": lr, "weight_decay": decay} for (_, lr, decay), p in ordered])
