"""Masked-language models: the encoder, and the head that guesses hidden tokens.

Heads of transformers are read and written under its names where the family has one (`LanguageModelFormat`); all others
have names of ours beside the encoder's, and `longdoc_language_head` in `config.json` describes them.
"""

from __future__ import annotations

from pathlib import Path

import torch
from pydantic import ValidationError
from torch import nn

from longdoc.checkpoints.family import Family
from longdoc.checkpoints.keymap import KeyMap, assign
from longdoc.checkpoints.native import LAST_FILES, SUPERSEDED_FILES, encoder_files, family_of_encoder, fill_folder
from longdoc.checkpoints.opening import OWN_LANGUAGE_HEAD, Checkpoint, open_checkpoint
from longdoc.checkpoints.reading import choice, mapping
from longdoc.checkpoints.resolve import resolve_checkpoint
from longdoc.errors import CheckpointError
from longdoc.files import write_folder
from longdoc.nn import Encoder
from longdoc.nn.heads import MaskedLanguageHead, MaskedLanguageHeadConfig
from longdoc.text.tokenizing import DocumentTokenizer

__all__ = ["load_language_model", "new_language_head", "save_language_model", "start_language_model"]

_DESCRIPTION = "longdoc_language_head"


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
    known = _head_config(checkpoint)
    named = format is not None and format.architecture in checkpoint.architectures
    if known is None or not (named or _DESCRIPTION in checkpoint.config):
        raise CheckpointError(
            f"`architectures` in `{folder / 'config.json'}` must name a masked-language model, but "
            f"{checkpoint.architectures} does not. Choose a checkpoint that was saved with its pretraining head."
        )
    return checkpoint.encoder, _stored_head(checkpoint, known, folder)


def start_language_model(folder: Path, seed: int = 0) -> tuple[Encoder, MaskedLanguageHead, bool]:
    """Encoder and head from which masked-language training starts.

    Args:
        folder: any checkpoint or model folder.
        seed: of a new head.

    Returns:
        The encoder; the head that the checkpoint holds, else a new one tied to the encoder's words; and whether it is
        new.

    Raises:
        CheckpointError: not a checkpoint, or a damaged one.
    """
    checkpoint = open_checkpoint(folder, head=_names)
    known = _head_config(checkpoint)
    if known is not None:
        wanted = set(_on_meta(known, checkpoint.encoder).state_dict()) - {"output.weight"}
        if wanted <= {**checkpoint.head, **checkpoint.language_head}.keys():  # whatever `architectures` says
            return checkpoint.encoder, _stored_head(checkpoint, known, folder), False
    return checkpoint.encoder, new_language_head(checkpoint.encoder, seed), True


def new_language_head(encoder: Encoder, seed: int = 0) -> MaskedLanguageHead:
    """A head without training, tied to the encoder's words; of the family's kind where it has one.

    Its first scores have about the size of 1, however loud the words are.
    """
    family = family_of_encoder(encoder)
    if family is not None and family.language_model is not None:
        config = MaskedLanguageHeadConfig(**family.language_model.from_hf(family.describe(encoder.config)))
    else:
        config = MaskedLanguageHeadConfig(activation=encoder.config.activation, norm_eps=encoder.config.norm_eps)
    words = encoder.word.weight
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        head = config.build(encoder.config.width, *words.shape)
        nn.init.normal_(head.dense.weight, std=encoder.config.width**-0.5)
    with torch.no_grad():
        loudness = float(words.float().square().mean().sqrt()) * words.shape[1] ** 0.5
        head.norm.weight.fill_(min(1.0, 1 / max(loudness, 1e-6)))
        for layer in (head.dense, head.output):
            if layer.bias is not None:
                layer.bias.zero_()
    head.output.weight = words
    return head


def save_language_model(
    folder: Path, encoder: Encoder, head: MaskedLanguageHead, tokenizer: DocumentTokenizer, card: str = ""
) -> None:
    """Write encoder, head and tokenizer, whole or not at all: `load_encoder`, `load_language_model` and, where the
    family has such a head, `AutoModelForMaskedLM` of transformers open the folder.

    Args:
        card: the text of `README.md`.

    Raises:
        CannotWriteError: no space, no permission, or a failing disk.
        CheckpointError: the encoder cannot be described by files.
    """
    family = family_of_encoder(encoder)
    config, tensors = encoder_files(encoder, family)
    format = None if family is None else family.language_model
    tied = head.output.weight is encoder.word.weight
    state = {name: tensor for name, tensor in head.state_dict().items() if not (tied and name == "output.weight")}
    config["tie_word_embeddings"] = tied
    if format is not None and MaskedLanguageHeadConfig(**format.from_hf(config)) == head.config:
        config["architectures"] = [format.architecture]
        tensors |= {str(format.keys.to_theirs(name)): tensor for name, tensor in state.items()}
    else:
        config[_DESCRIPTION] = head.config.model_dump(mode="json")
        tensors |= {OWN_LANGUAGE_HEAD + name: tensor for name, tensor in state.items()}

    def fill(temporary: Path) -> None:
        fill_folder(temporary, config, tensors, tokenizer)
        (temporary / "README.md").write_text(card, encoding="utf-8")

    write_folder(folder, fill, LAST_FILES, SUPERSEDED_FILES)


def _head_config(checkpoint: Checkpoint) -> MaskedLanguageHeadConfig | None:
    """What the checkpoint's head is made of, if it has one; None where nothing of the kind is described."""
    if _DESCRIPTION in checkpoint.config:
        fields = mapping(checkpoint.config, _DESCRIPTION)
    elif checkpoint.family is not None and checkpoint.family.language_model is not None:
        fields = checkpoint.family.language_model.from_hf(checkpoint.config)
    else:
        return None
    try:
        return MaskedLanguageHeadConfig(**fields)
    except ValidationError as error:
        faults = ", ".join(sorted({str(fault["loc"][0]) for fault in error.errors(include_input=False)}))
        raise CheckpointError(
            f"`config.json` must describe the head that guesses tokens, but these entries are impossible: {faults}."
        ) from None


def _on_meta(config: MaskedLanguageHeadConfig, encoder: Encoder) -> MaskedLanguageHead:
    with torch.device("meta"):
        return config.build(encoder.config.width, *encoder.word.weight.shape)


def _stored_head(checkpoint: Checkpoint, config: MaskedLanguageHeadConfig, folder: Path) -> MaskedLanguageHead:
    encoder = checkpoint.encoder
    head = _on_meta(config, encoder)
    tied = bool(choice(checkpoint.config, "tie_word_embeddings", True))
    tensors = dict(checkpoint.language_head or checkpoint.head)
    if tied:
        tensors["output.weight"] = encoder.word.weight.detach()
    assign(head, tensors, str(folder))
    if tied:
        head.output.weight = encoder.word.weight
    return head.eval()


def _names(family: Family) -> KeyMap:
    return family.language_model.keys if family.language_model is not None else KeyMap([])
