"""Activation checkpointing: layers that are computed twice rather than kept.

It saves memory within a micro-batch; the row cache (`row_cache.py`) saves it between micro-batches. Both can be on.
"""

from __future__ import annotations

from longdoc.errors import ConfigurationError
from longdoc.model import LongDocModel
from longdoc.nn.layers import EncoderLayer

__all__ = ["recompute_layers"]


def recompute_layers(model: LongDocModel, wanted: bool) -> None:
    """Say whether the encoder's layers are computed once more on the way back.

    Raises:
        ConfigurationError: it is wanted, but the encoder has none of our layers.
    """
    layers = [module for module in model.encoder.modules() if isinstance(module, EncoderLayer)]
    if wanted and not layers:
        raise ConfigurationError(
            "`training.checkpoint_activations` needs the layers of `longdoc.nn.Encoder`, but this encoder has none of "
            "them. Set it to false; `training.micro_batch_tokens` saves memory with every encoder."
        )
    for layer in layers:
        layer.recomputes = wanted
