"""Masked-language models of transformers: the encoder, and the head that guesses masked words."""

from __future__ import annotations

from pathlib import Path

import torch

from longdoc.checkpoints.family import Family
from longdoc.checkpoints.keymap import KeyMap, assign
from longdoc.checkpoints.opening import open_checkpoint
from longdoc.checkpoints.reading import choice
from longdoc.checkpoints.resolve import resolve_checkpoint
from longdoc.errors import CheckpointError
from longdoc.nn import Encoder
from longdoc.nn.heads import MaskedLanguageHead

__all__ = ["load_language_model"]


def load_language_model(folder_or_id: str | Path, revision: str | None = None) -> tuple[Encoder, MaskedLanguageHead]:
    """Encoder and head of a masked-language checkpoint, in evaluation mode.

    `head(encoder(token_ids, valid))` gives the scores of transformers, (N, L, V). The head's last layer and the
    encoder's words are one tensor where the checkpoint ties them.

    Raises:
        CheckpointError: no such checkpoint, one without such a head, or a damaged one.
    """
    folder = resolve_checkpoint(folder_or_id, revision)
    checkpoint = open_checkpoint(folder, head=_names)
    format = None if checkpoint.family is None else checkpoint.family.language_model
    if format is None or format.architecture not in checkpoint.architectures:
        raise CheckpointError(
            f"`architectures` in `{folder / 'config.json'}` must name a masked-language model, but "
            f"{checkpoint.architectures} does not. Choose a checkpoint that was saved with its pretraining head."
        )
    config, encoder = checkpoint.config, checkpoint.encoder
    with torch.device("meta"):
        head = MaskedLanguageHead(encoder.config.width, encoder.config.vocab_size, **format.from_hf(config))
    tied = bool(choice(config, "tie_word_embeddings", True))
    tensors = dict(checkpoint.head)
    if tied:
        tensors["output.weight"] = encoder.word.weight.detach()
    assign(head, tensors, str(folder))
    if tied:
        head.output.weight = encoder.word.weight
    return encoder, head.eval()


def _names(family: Family) -> KeyMap:
    return family.language_model.keys if family.language_model is not None else KeyMap([])
