"""Masked-language models: the encoder, and the head that guesses hidden tokens.

Heads are read and written under the names of their family (`LanguageModelFormat`); all others, those of encoders of our
own, have names of ours beside the encoder's, and `longdoc_language_head` in `config.json` describes them.
"""

from __future__ import annotations

import logging
from pathlib import Path

import torch

from longdoc.checkpoints.family import Family
from longdoc.checkpoints.keymap import KeyMap, assign
from longdoc.checkpoints.language_heads import LanguageModelFormat, language_head, words_are_shared
from longdoc.checkpoints.native import LAST_FILES, SUPERSEDED_FILES, encoder_files, family_of_encoder, fill_folder
from longdoc.checkpoints.opening import OWN_LANGUAGE_HEAD, Checkpoint, open_checkpoint
from longdoc.checkpoints.reading import mapping
from longdoc.checkpoints.resolve import resolve_checkpoint
from longdoc.errors import CheckpointError
from longdoc.files import write_folder
from longdoc.nn import Encoder
from longdoc.nn.heads import LanguageHead, LanguageHeadKind, MaskedLanguageHeadConfig
from longdoc.nn.shapes import shapes_only
from longdoc.text.tokenizing import DocumentTokenizer

__all__ = [
    "language_head_names",
    "load_language_model",
    "new_language_head",
    "save_language_model",
    "start_language_model",
    "stored_language_head",
]

_DESCRIPTION = "longdoc_language_head"

logger = logging.getLogger(__name__)


def load_language_model(folder_or_id: str | Path, revision: str | None = None) -> tuple[Encoder, LanguageHead]:
    """Encoder and head of a masked-language checkpoint, in evaluation mode.

    `head(encoder(token_ids, valid))` gives the scores of transformers, (N, L, V). The head's last layer and the
    encoder's words are one tensor where the checkpoint ties them.

    Raises:
        CheckpointError: no such checkpoint, one without such a head, or a damaged one.
    """
    folder = resolve_checkpoint(folder_or_id, revision)
    checkpoint = open_checkpoint(folder, head=language_head_names)
    known = _head_config(checkpoint)
    if known is None or not _is_named(checkpoint):
        raise CheckpointError(
            f"`architectures` in `{folder / 'config.json'}` must name a masked-language model, but "
            f"{checkpoint.architectures} does not. Choose a checkpoint that was saved with its pretraining head."
        )
    return checkpoint.encoder, _filled(checkpoint, known, folder)


def start_language_model(folder: Path, seed: int = 0) -> tuple[Encoder, LanguageHead, bool]:
    """Encoder and head from which masked-language training starts.

    Args:
        folder: any checkpoint or model folder.
        seed: of a new head.

    Returns:
        The encoder; the head that the checkpoint holds, else a new one; and whether it is new.

    Raises:
        CheckpointError: not a checkpoint, or a damaged one; a part of the head that it names is missing.
    """
    checkpoint = open_checkpoint(folder, head=language_head_names)
    head = stored_language_head(checkpoint, folder)
    if head is None:
        return checkpoint.encoder, new_language_head(checkpoint.encoder, seed), True
    return checkpoint.encoder, head, False


def stored_language_head(checkpoint: Checkpoint, folder: Path) -> LanguageHead | None:
    """The head that a checkpoint holds, whatever its `architectures` says; None where it holds none.

    Args:
        checkpoint: opened with `head=language_head_names`.
        folder: where it lies, for messages.

    Raises:
        CheckpointError: `architectures` names the head, and a part of it is missing or damaged.
    """
    known = _head_config(checkpoint)
    if known is not None:
        shared = {"output.weight"} if _is_tied(checkpoint) else set()
        wanted = set(_on_meta(known, checkpoint.encoder).state_dict()) - shared
        found = wanted & {**checkpoint.head, **checkpoint.language_head}.keys()
        named = _is_named(checkpoint)
        # Many encoders keep the name of the class that they were taken out of: without a tensor of it there is no head.
        if (named and (found or not wanted)) or (wanted and found == wanted):
            return _filled(checkpoint, known, folder)
        if found:
            logger.warning("the head that guesses tokens in %s is not whole, so it is not used", folder)
    return None


def new_language_head(encoder: Encoder, seed: int = 0) -> LanguageHead:
    """A head without training, of the family's kind where it has one; it begins with the encoder's words.

    Its first scores have about the size of 1, however loud the words are.
    """
    family = family_of_encoder(encoder)
    config: LanguageHeadKind
    if family is not None and family.language_model is not None:
        config = language_head(family.language_model.from_hf(family.describe(encoder.config)))
    else:
        config = MaskedLanguageHeadConfig(activation=encoder.config.activation, norm_eps=encoder.config.norm_eps)
    words = encoder.word.weight
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        head = config.build(encoder.config.width, *words.shape)
        head.begin(words)
    return head


def save_language_model(
    folder: Path, encoder: Encoder, head: LanguageHead, tokenizer: DocumentTokenizer, card: str = ""
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
    said = None if format is None else format.describe(head.config, config)
    if format is not None and said is not None:
        config |= {"architectures": [format.architecture], **said}
        tensors |= {str(format.keys.to_theirs(name)): tensor for name, tensor in state.items()}
    else:
        config[_DESCRIPTION] = head.config.model_dump(mode="json")
        tensors |= {OWN_LANGUAGE_HEAD + name: tensor for name, tensor in state.items()}

    def fill(temporary: Path) -> None:
        fill_folder(temporary, config, tensors, tokenizer)
        (temporary / "README.md").write_text(card, encoding="utf-8")

    write_folder(folder, fill, LAST_FILES, SUPERSEDED_FILES)


def _format(checkpoint: Checkpoint) -> LanguageModelFormat | None:
    """How the family stores its head; None where the head has names of ours."""
    if checkpoint.family is None or _DESCRIPTION in checkpoint.config:
        return None
    return checkpoint.family.language_model


def _is_named(checkpoint: Checkpoint) -> bool:
    """Whether the folder says that it has a head."""
    format = _format(checkpoint)
    return _DESCRIPTION in checkpoint.config or (format is not None and format.architecture in checkpoint.architectures)


def _is_tied(checkpoint: Checkpoint) -> bool:
    """Whether the head's last layer is the encoder's words."""
    format = _format(checkpoint)
    return (words_are_shared if format is None else format.tied)(checkpoint.config)


def _head_config(checkpoint: Checkpoint) -> LanguageHeadKind | None:
    """What the checkpoint's head is made of, if it has one; None where nothing of the kind is described."""
    if _DESCRIPTION in checkpoint.config:
        return language_head(mapping(checkpoint.config, _DESCRIPTION))
    format = _format(checkpoint)
    return None if format is None else language_head(format.from_hf(checkpoint.config))


def _on_meta(config: LanguageHeadKind, encoder: Encoder) -> LanguageHead:
    with shapes_only():
        return config.build(encoder.config.width, *encoder.word.weight.shape)


def _filled(checkpoint: Checkpoint, config: LanguageHeadKind, folder: Path) -> LanguageHead:
    encoder = checkpoint.encoder
    head, tied = _on_meta(config, encoder), _is_tied(checkpoint)
    tensors = dict(checkpoint.language_head or checkpoint.head)
    if tied:
        tensors["output.weight"] = encoder.word.weight.detach()
    format = _format(checkpoint)

    def spell(name: str) -> str:
        return OWN_LANGUAGE_HEAD + name if format is None else format.keys.to_theirs(name) or name

    assign(head, tensors, str(folder), spell=spell)
    if tied:
        head.output.weight = encoder.word.weight
    return head.eval()


def language_head_names(family: Family) -> KeyMap:
    """The names of the tensors of a family's head."""
    return family.language_model.keys if family.language_model is not None else KeyMap([])
