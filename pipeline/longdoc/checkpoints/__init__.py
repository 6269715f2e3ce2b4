"""Checkpoints in and out: Hugging Face encoders with equal numbers, and our own model folders."""

from __future__ import annotations

import logging
from pathlib import Path

import torch

from longdoc.checkpoints.opening import Checkpoint, open_checkpoint
from longdoc.checkpoints.resolve import resolve_checkpoint
from longdoc.nn import Encoder
from longdoc.nn.readout import Readout

__all__ = ["Checkpoint", "adopt_head", "load_encoder", "open_checkpoint", "resolve_checkpoint"]

logger = logging.getLogger(__name__)


def load_encoder(folder_or_id: str | Path, revision: str | None = None) -> Encoder:
    """The encoder of a checkpoint, in evaluation mode, in float32, with the numbers that transformers gives.

    Args:
        folder_or_id: `default` for the embedded all-MiniLM-L6-v2; a folder that transformers or longdoc saved; or an
            id of the Hugging Face hub.
        revision: branch, tag or commit of a hub id.

    Raises:
        CheckpointError: there is no such checkpoint, or it is not exactly what its configuration describes.
    """
    return open_checkpoint(resolve_checkpoint(folder_or_id, revision)).encoder


def adopt_head(readout: Readout, checkpoint: Checkpoint) -> tuple[str, ...]:
    """Start a readout from what a checkpoint knows: the tensors of its head whose names and shapes fit.

    Returns:
        The names that stay as they were, newly initialised; they are logged, since they must be trained first.
    """
    wanted = readout.state_dict()
    fitting = {
        name: tensor
        for name, tensor in checkpoint.head.items()
        if name in wanted and tensor.shape == wanted[name].shape
    }
    with torch.no_grad():
        for name, tensor in fitting.items():
            wanted[name].copy_(tensor)
    untrained = tuple(name for name in wanted if name not in fitting)
    if untrained:
        logger.info("newly initialised, to be trained: %s", ", ".join(untrained))
    return untrained
