"""A classifier that transformers fine-tuned on short texts, as a model for documents of any length."""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from longdoc.checkpoints import Checkpoint, adopt_head, open_checkpoint, resolve_checkpoint
from longdoc.checkpoints.claims import check_rows, classes_named
from longdoc.checkpoints.heads import ClassifierFormat
from longdoc.checkpoints.keymap import assign
from longdoc.checkpoints.opening import OWN_MARK, family_of, read_config
from longdoc.checkpoints.reading import whole
from longdoc.checkpoints.resolve import pinned_name
from longdoc.checkpoints.settings import ModelSettings
from longdoc.checkpoints.weights import read_json
from longdoc.errors import CheckpointError
from longdoc.model import LongDocModel
from longdoc.nn.readout import Readout, ReadoutConfig
from longdoc.nn.shapes import shapes_only
from longdoc.tasks import TASKS, task_named
from longdoc.text.chunking import ChunkingConfig

__all__ = [
    "classifier_format",
    "holds_classifier",
    "labels_of",
    "load_classifier",
    "longest_text",
    "own_task",
    "start_readout",
]

logger = logging.getLogger(__name__)

_NO_LIMIT = 1 << 31

_TASKS = {task.problem_type: task.name for task in TASKS if task.problem_type is not None}


def load_classifier(
    folder_or_id: str | Path, revision: str | None = None, chunking: ChunkingConfig | None = None
) -> tuple[LongDocModel, ModelSettings]:
    """Encoder and head of a sequence classification checkpoint, in evaluation mode.

    A text of one chunk gets the logits that transformers gives. The head's hidden rows of longer texts are merged by
    their mean, weighted by tokens; nothing needs to be trained, though training on long documents helps.

    Args:
        folder_or_id, revision: as in `load_encoder`.
        chunking: None = chunks as long as tokenizer and encoder allow, a quarter of them shared.

    Raises:
        CheckpointError: no such checkpoint, one without a classification head, or a damaged one.
    """
    folder = resolve_checkpoint(folder_or_id, revision, answers=True)
    checkpoint = open_checkpoint(folder)
    format = classifier_format(checkpoint)
    if format is None:
        raise CheckpointError(
            f"`architectures` in `{folder / 'config.json'}` must name a sequence classification model, but "
            f"{checkpoint.architectures} does not. Fine-tune the encoder first: `longdoc train` does."
        )
    labels = labels_of(checkpoint.config)
    check_rows(folder, checkpoint.head, format, checkpoint.config, labels)
    readout_config = format.readout(checkpoint.config)
    with shapes_only():
        readout = readout_config.build(checkpoint.encoder.config.width, len(labels))
    head = {name: tensor for name, tensor in checkpoint.head.items() if name in readout.state_dict()}
    assign(readout, head, str(folder), spell=lambda name: format.keys.to_theirs(name) or name)
    size = min(longest_text(folder), checkpoint.encoder.config.max_len)
    settings = ModelSettings(
        task=_task(checkpoint.config, len(labels)),
        labels=labels,
        chunking=chunking or ChunkingConfig(size=size, overlap=size // 4),
        readout=readout_config,
        source=pinned_name(folder_or_id, folder),
    )
    return LongDocModel(checkpoint.encoder, readout).eval(), settings


def start_readout(
    checkpoint: Checkpoint, settings: ModelSettings, asked: ReadoutConfig | None = None
) -> tuple[Readout, ReadoutConfig]:
    """The readout that training starts from: the checkpoint's own head where it answers with these labels.

    Args:
        checkpoint: what training starts from.
        settings: task and labels of the new model; its readout where there is no other.
        asked: the readout that is wanted; None = the checkpoint's own where its labels are these, else the task's.

    Returns:
        The readout and its configuration. What the checkpoint cannot fill is newly initialised by torch's generator,
        and logged.
    """
    labels, task = settings.labels, task_named(settings.task)
    own = None if task.problem_type is None else classifier_format(checkpoint)
    known: tuple[str, ...] = ()
    if own is not None:
        with contextlib.suppress(CheckpointError):  # labels that nobody can use are none to compare with
            known = labels_of(checkpoint.config)
    scored = [len(tensor) for name, tensor in checkpoint.head.items() if name == "head.output.bias"]
    fits = set(known) == set(labels) and scored == [len(known)]
    chosen = asked if asked is not None else own.readout(checkpoint.config) if own is not None and fits else None
    config = settings.readout if chosen is None else chosen
    readout = config.build(checkpoint.encoder.config.width, task.classes(labels, config))
    format = None if checkpoint.family is None or task.problem_type is None else checkpoint.family.classifier
    if format is None or format.describe(config, checkpoint.config) is None:
        return readout, config
    order = [known.index(label) for label in labels] if fits else []
    head = {
        name: tensor[order] if name.startswith("head.output.") else tensor
        for name, tensor in checkpoint.head.items()
        if fits or not name.startswith("head.output.")
    }
    untrained = adopt_head(readout, replace(checkpoint, head=head))
    if fits and not untrained:
        logger.info("the checkpoint's classification head is taken over, since its labels are the same")
    return readout, config


def holds_classifier(folder: Path) -> bool:
    """Whether a folder is a sequence classification model that transformers saved, as far as its `config.json` says.

    Raises:
        CheckpointError: that is no object, or lists its classes in no list.
    """
    if not (folder / "config.json").is_file():
        return False
    config = read_config(folder)
    family = family_of(config)
    return (
        family is not None
        and family.classifier is not None
        and family.classifier.architecture in classes_named(config, folder)
        and OWN_MARK not in config  # one of ours that was cut short
    )


def classifier_format(checkpoint: Checkpoint) -> ClassifierFormat | None:
    """How the checkpoint's classification head is stored; None where it has none."""
    format = None if checkpoint.family is None else checkpoint.family.classifier
    return format if format is not None and format.architecture in checkpoint.architectures else None


def labels_of(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The labels that `id2label` names, in the order of the scores.

    transformers leaves `id2label` out where there are two labels without names.

    Raises:
        CheckpointError: it does not number its labels 0, 1 ..., or names one twice.
    """
    named = config.get("id2label")
    if named is None:
        return tuple(f"LABEL_{number}" for number in range(whole(config, "num_labels", 2, 1, 1 << 20)))
    if not isinstance(named, Mapping):
        raise CheckpointError(
            "`id2label` must be an object with the names of the labels under the numbers from 0, but is of type "
            f'{type(named).__name__} instead. Write it as {{"0": ..., "1": ...}} in `config.json`.'
        )
    labels: list[str] = []
    for number in range(max(len(named), 1)):
        label = named.get(str(number))
        if not isinstance(label, str) or not label.strip() or label in labels:
            said = "has no number" if str(number) not in named else f"has {_shown(label)} under"
            raise CheckpointError(
                f"`id2label` must name {len(named) or 'at least 1'} different labels under the numbers from 0, but "
                f"{said} {number}{' a second time' if label in labels else ''}. Give each label a name of its own, in "
                "quotation marks, in `config.json`."
            )
        labels.append(label)
    return tuple(labels)


def _shown(label: object) -> str:
    return "an empty name" if isinstance(label, str) and not label.strip() else json.dumps(label)[:60]


def longest_text(folder: Path) -> int:
    """The longest text that the tokenizer cuts its texts to; old ones say 1e30 for "none".

    What is no length (0, -1, "64") is none here; `read_files` of the tokenizer says so.
    """
    path = folder / "tokenizer_config.json"
    limit = read_json(path).get("model_max_length") if path.is_file() else None
    return int(limit) if isinstance(limit, int | float) and 4 <= limit < _NO_LIMIT else _NO_LIMIT


def own_task(checkpoint: Checkpoint, labels: Sequence[str]) -> str:
    """The task of a classifier with these labels; `single_label` for every other checkpoint."""
    if classifier_format(checkpoint) is not None:
        with contextlib.suppress(CheckpointError):  # labels that nobody can use are none to compare with
            if set(labels_of(checkpoint.config)) == set(labels):
                return _task(checkpoint.config, len(labels))
    return "single_label"


def _task(config: Mapping[str, Any], labels: int) -> str:
    """As transformers decides where `problem_type` is not given: one output is a number.

    Raises:
        CheckpointError: `problem_type` is none that there is.
    """
    named = config.get("problem_type")
    if named is None:
        return "regression" if labels == 1 else "single_label"
    if not isinstance(named, str) or named not in _TASKS:
        raise CheckpointError(
            f"`problem_type` must be one of {', '.join(map(str, _TASKS))} or null, but is {json.dumps(named)[:60]} "
            "instead. Correct `config.json`."
        )
    return _TASKS[named]
