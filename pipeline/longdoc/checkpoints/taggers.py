"""Token classification models of transformers: the encoder, and the head that scores each token."""

from __future__ import annotations

from pathlib import Path

import torch

from longdoc.checkpoints.classifiers import labels_of
from longdoc.checkpoints.family import Family
from longdoc.checkpoints.keymap import KeyMap, assign
from longdoc.checkpoints.opening import open_checkpoint
from longdoc.checkpoints.resolve import resolve_checkpoint
from longdoc.errors import CheckpointError
from longdoc.nn import Encoder
from longdoc.nn.heads import LinearHead

__all__ = ["load_tagger"]


def load_tagger(folder_or_id: str | Path, revision: str | None = None) -> tuple[Encoder, LinearHead, tuple[str, ...]]:
    """Encoder, head and labels of a token classification checkpoint, in evaluation mode.

    `head.classify(head.transform(encoder(token_ids, valid)))` gives the scores of transformers, (N, L, C).

    Raises:
        CheckpointError: no such checkpoint, one without such a head, or a damaged one.
    """
    folder = resolve_checkpoint(folder_or_id, revision)
    checkpoint = open_checkpoint(folder, head=_names)
    format = None if checkpoint.family is None else checkpoint.family.tagger
    if format is None or format.architecture not in checkpoint.architectures:
        raise CheckpointError(
            f"`architectures` in `{folder / 'config.json'}` must name a token classification model, but "
            f"{checkpoint.architectures} does not. Choose a checkpoint that was fine-tuned for tokens."
        )
    labels = labels_of(checkpoint.config)
    with torch.device("meta"):
        head = format.head(checkpoint.config).build(checkpoint.encoder.config.width, len(labels))
    assign(head, checkpoint.head, str(folder))
    return checkpoint.encoder, head.eval(), labels


def _names(family: Family) -> KeyMap:
    return family.tagger.keys if family.tagger is not None else KeyMap([])
