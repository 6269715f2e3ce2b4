"""Question answering models of transformers: the encoder, and the head that scores where an answer begins and ends.

Longformer is not among them: there the tokens of the question see all and are seen by all, not the first token alone.
"""

from __future__ import annotations

import logging
from pathlib import Path

from longdoc.checkpoints.claims import check_rows, classes_named
from longdoc.checkpoints.classifiers import labels_of, longest_text
from longdoc.checkpoints.family import Family
from longdoc.checkpoints.keymap import KeyMap, assign
from longdoc.checkpoints.opening import OWN_MARK, Checkpoint, family_of, open_checkpoint, read_config
from longdoc.checkpoints.resolve import pinned_name, resolve_checkpoint
from longdoc.checkpoints.settings import ModelSettings
from longdoc.errors import CheckpointError
from longdoc.model import LongDocModel
from longdoc.nn import Encoder
from longdoc.nn.heads import HeadKind, LinearHead
from longdoc.nn.readout import AnswersReadout, AnswersReadoutConfig, Readout
from longdoc.nn.shapes import shapes_only
from longdoc.tasks import TASKS
from longdoc.text.chunking import ChunkingConfig

__all__ = ["adopt_answer_head", "holds_answerer", "load_answerer", "load_question_answerer"]

_SCORES = 2

logger = logging.getLogger(__name__)


def load_answerer(folder_or_id: str | Path, revision: str | None = None) -> tuple[Encoder, LinearHead]:
    """Encoder and head of a question answering checkpoint, in evaluation mode.

    `head.classify(head.transform(encoder(token_ids, valid, token_types=...)))` gives the scores of transformers: those
    of the start and of the end of an answer, (N, L, 2).

    Raises:
        CheckpointError: no such checkpoint, one without such a head, or a damaged one.
    """
    checkpoint, head, _ = _open(resolve_checkpoint(folder_or_id, revision, answers=True))
    return checkpoint.encoder, head


def load_question_answerer(
    folder_or_id: str | Path,
    revision: str | None = None,
    chunking: ChunkingConfig | None = None,
    readout: AnswersReadoutConfig | None = None,
) -> tuple[LongDocModel, ModelSettings]:
    """A question answering checkpoint as a model that answers questions about documents of any length.

    Args:
        folder_or_id, revision: as in `load_encoder`.
        chunking: None = chunks as long as tokenizer and encoder allow, a quarter of them shared.
        readout: everything but its head, which is the checkpoint's; None = the defaults, under which a document may
            have no answer.

    Raises:
        CheckpointError: no such checkpoint, one without such a head, or a damaged one.
    """
    folder = resolve_checkpoint(folder_or_id, revision, answers=True)
    checkpoint, head, described = _open(folder)
    config = (readout or AnswersReadoutConfig()).model_copy(update={"head": described})
    made = config.build(checkpoint.encoder.config.width, _SCORES)
    made.head = head
    size = min(longest_text(folder), checkpoint.encoder.config.max_len)
    task = next(task for task in TASKS if isinstance(task.default_readout(), AnswersReadoutConfig))
    settings = ModelSettings(
        task=task.name,
        labels=task.own_labels,
        chunking=chunking or ChunkingConfig(size=size, overlap=size // 4),
        readout=config,
        source=pinned_name(folder_or_id, folder),
    )
    return LongDocModel(checkpoint.encoder, made).eval(), settings


def holds_answerer(folder: Path) -> bool:
    """Whether a folder is a question answering model that transformers saved, as far as its `config.json` says.

    Raises:
        CheckpointError: that is no object, or lists its classes in no list.
    """
    if not (folder / "config.json").is_file():
        return False
    config = read_config(folder)
    family = family_of(config)
    format = None if family is None else family.answerer
    return format is not None and format.architecture in classes_named(config, folder) and OWN_MARK not in config


def adopt_answer_head(readout: Readout, folder: Path) -> None:
    """Let training start from the head of a question answering checkpoint, where the readout has the same."""
    if not isinstance(readout, AnswersReadout) or not holds_answerer(folder):
        return
    _, head, _ = _open(folder)
    own, wanted = head.state_dict(), readout.head.state_dict()
    if {name: tensor.shape for name, tensor in own.items()} == {n: tensor.shape for n, tensor in wanted.items()}:
        readout.head.load_state_dict(own)
        logger.info("the checkpoint's head for answers is taken over")


def _open(folder: Path) -> tuple[Checkpoint, LinearHead, HeadKind]:
    """The checkpoint, its head and the head's configuration."""
    checkpoint = open_checkpoint(folder, head=_names)
    format = None if checkpoint.family is None else checkpoint.family.answerer
    if format is None or format.architecture not in checkpoint.architectures:
        raise CheckpointError(
            f"`architectures` in `{folder / 'config.json'}` must name a question answering model, but "
            f"{checkpoint.architectures} does not. Choose a checkpoint that was fine-tuned to answer questions."
        )
    if len(labels_of(checkpoint.config)) != _SCORES:
        raise CheckpointError(
            f"`id2label` in `{folder / 'config.json'}` must name {_SCORES} scores, the start and the end of an answer, "
            "but does not. Choose another checkpoint."
        )
    check_rows(folder, checkpoint.head, format, checkpoint.config, labels_of(checkpoint.config))
    described = format.head(checkpoint.config)
    with shapes_only():
        head = described.build(checkpoint.encoder.config.width, _SCORES)
    assign(head, checkpoint.head, str(folder), spell=lambda name: format.keys.to_theirs(name) or name)
    return checkpoint, head.eval(), described


def _names(family: Family) -> KeyMap:
    return family.answerer.keys if family.answerer is not None else KeyMap([])
