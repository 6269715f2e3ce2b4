"""Token classification models of transformers: the encoder, and the head that scores each token.

Their tags are read by their names, see `read_tags`; any tag may follow any. A word is judged by its first token, as
such models are trained.
"""

from __future__ import annotations

from pathlib import Path

from longdoc.checkpoints.claims import check_rows, classes_named
from longdoc.checkpoints.classifiers import labels_of, longest_text
from longdoc.checkpoints.family import Family
from longdoc.checkpoints.keymap import KeyMap, assign
from longdoc.checkpoints.opening import OWN_MARK, Checkpoint, family_of, open_checkpoint, read_config
from longdoc.checkpoints.resolve import pinned_name, resolve_checkpoint
from longdoc.checkpoints.settings import ModelSettings
from longdoc.errors import CheckpointError, UsageError
from longdoc.model import LongDocModel
from longdoc.nn import Encoder
from longdoc.nn.heads import LinearHead
from longdoc.nn.readout import TokensReadoutConfig
from longdoc.nn.shapes import shapes_only
from longdoc.spans.tags import read_tags
from longdoc.text.chunking import ChunkingConfig

__all__ = ["holds_tagger", "load_span_finder", "load_tagger"]


def load_tagger(folder_or_id: str | Path, revision: str | None = None) -> tuple[Encoder, LinearHead, tuple[str, ...]]:
    """Encoder, head and labels of a token classification checkpoint, in evaluation mode.

    `head.classify(head.transform(encoder(token_ids, valid)))` gives the scores of transformers, (N, L, C).

    Raises:
        CheckpointError: no such checkpoint, one without such a head, or a damaged one.
    """
    checkpoint, head, labels = _open(resolve_checkpoint(folder_or_id, revision, answers=True))
    return checkpoint.encoder, head, labels


def load_span_finder(
    folder_or_id: str | Path, revision: str | None = None, chunking: ChunkingConfig | None = None
) -> tuple[LongDocModel, ModelSettings]:
    """A token classification checkpoint as a model that finds spans in documents of any length.

    Args:
        folder_or_id, revision: as in `load_encoder`.
        chunking: None = chunks as long as tokenizer and encoder allow, a quarter of them shared.

    Raises:
        CheckpointError: no such checkpoint, one without such a head, with names of tags that say nothing, or damaged.
    """
    folder = resolve_checkpoint(folder_or_id, revision, answers=True)
    checkpoint, head, tags = _open(folder)
    try:
        labels, _ = read_tags(tags)
    except UsageError as error:
        raise CheckpointError(str(error)) from None
    if not labels:
        raise CheckpointError(
            f"`id2label` in `{folder / 'config.json'}` must name at least 1 tag beside O, but does not. Choose another "
            "checkpoint."
        )
    assert checkpoint.family is not None
    assert checkpoint.family.tagger is not None
    readout_config = TokensReadoutConfig(head=checkpoint.family.tagger.head(checkpoint.config), tags=tags)
    readout = readout_config.build(checkpoint.encoder.config.width, len(tags))
    readout.head = head
    size = min(longest_text(folder), checkpoint.encoder.config.max_len)
    settings = ModelSettings(
        task="spans",
        labels=labels,
        chunking=chunking or ChunkingConfig(size=size, overlap=size // 4),
        readout=readout_config,
        source=pinned_name(folder_or_id, folder),
    )
    return LongDocModel(checkpoint.encoder, readout).eval(), settings


def holds_tagger(folder: Path) -> bool:
    """Whether a folder is a token classification model that transformers saved, as far as its `config.json` says.

    Raises:
        CheckpointError: that is no object, or lists its classes in no list.
    """
    if not (folder / "config.json").is_file():
        return False
    config = read_config(folder)
    family = family_of(config)
    format = None if family is None else family.tagger
    return format is not None and format.architecture in classes_named(config, folder) and OWN_MARK not in config


def _open(folder: Path) -> tuple[Checkpoint, LinearHead, tuple[str, ...]]:
    """The checkpoint, its head and the names of its tags."""
    checkpoint = open_checkpoint(folder, head=_names)
    format = None if checkpoint.family is None else checkpoint.family.tagger
    if format is None or format.architecture not in checkpoint.architectures:
        raise CheckpointError(
            f"`architectures` in `{folder / 'config.json'}` must name a token classification model, but "
            f"{checkpoint.architectures} does not. Choose a checkpoint that was fine-tuned for tokens."
        )
    labels = labels_of(checkpoint.config)
    check_rows(folder, checkpoint.head, format, checkpoint.config, labels)
    with shapes_only():
        head = format.head(checkpoint.config).build(checkpoint.encoder.config.width, len(labels))
    assign(head, checkpoint.head, str(folder), spell=lambda name: format.keys.to_theirs(name) or name)
    return checkpoint, head.eval(), labels


def _names(family: Family) -> KeyMap:
    return family.tagger.keys if family.tagger is not None else KeyMap([])
