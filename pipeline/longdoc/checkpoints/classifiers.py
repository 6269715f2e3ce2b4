"""A classifier that transformers fine-tuned on short texts, as a model for documents of any length."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from longdoc.checkpoints import adopt_head, open_checkpoint, resolve_checkpoint
from longdoc.checkpoints.settings import ModelSettings
from longdoc.errors import CheckpointError
from longdoc.model import LongDocModel
from longdoc.nn.readout import VectorsReadoutConfig
from longdoc.text.chunking import ChunkingConfig
from longdoc.types import Task

__all__ = ["load_classifier"]

_TASKS: dict[str | None, Task] = {
    "single_label_classification": "single_label",
    "multi_label_classification": "multi_label",
    "regression": "regression",
}


def load_classifier(
    folder_or_id: str | Path, revision: str | None = None, chunking: ChunkingConfig | None = None
) -> tuple[LongDocModel, ModelSettings]:
    """Encoder and head of a sequence classification checkpoint, in evaluation mode.

    A text of one chunk gets the logits that transformers gives. The head's hidden rows of longer texts are merged by
    their mean, weighted by tokens; nothing needs to be trained, though training on long documents helps.

    Args:
        folder_or_id, revision: as in `load_encoder`.
        chunking: None = chunks as long as the encoder reads, a quarter shared.

    Raises:
        CheckpointError: no such checkpoint, one without a classification head, or a damaged one.
    """
    folder = resolve_checkpoint(folder_or_id, revision)
    checkpoint = open_checkpoint(folder)
    family = checkpoint.family
    architectures = checkpoint.config.get("architectures") or []
    if family is None or family.classifier_class not in architectures:
        raise CheckpointError(
            f"`architectures` in `{folder / 'config.json'}` must name a sequence classification model, but "
            f"{architectures} does not. Fine-tune the encoder first: `longdoc train` does."
        )
    labels = _labels(checkpoint.config)
    readout_config = VectorsReadoutConfig.model_validate(
        {"pooling": "cls", "head": {"kind": family.head_kind, "dropout": _dropout(checkpoint.config)}}
    )
    readout = readout_config.build(checkpoint.encoder.config.width, len(labels))
    if untrained := adopt_head(readout, checkpoint):
        raise CheckpointError(
            f"`{folder}` must hold the classification head that its configuration describes, but "
            f"{', '.join(untrained)} cannot be filled from it."
        )
    size = min(512, checkpoint.encoder.max_tokens or 512)
    settings = ModelSettings(
        task=_task(checkpoint.config, len(labels)),
        labels=labels,
        chunking=chunking or ChunkingConfig(size=size, overlap=size // 4),
        readout=readout_config,
        source=str(folder_or_id),
    )
    return LongDocModel(checkpoint.encoder, readout).eval(), settings


def _labels(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Named by `id2label`; transformers leaves it out where there are two labels without names."""
    named = config.get("id2label")
    count = len(named) if isinstance(named, Mapping) else int(config.get("num_labels", 2))
    return tuple(str(named[str(n)]) if isinstance(named, Mapping) else f"LABEL_{n}" for n in range(count))


def _task(config: Mapping[str, Any], labels: int) -> Task:
    """As transformers decides where `problem_type` is not given: one output is a number."""
    return _TASKS.get(config.get("problem_type"), "regression" if labels == 1 else "single_label")


def _dropout(config: Mapping[str, Any]) -> float:
    given = config.get("classifier_dropout")
    return float(config.get("hidden_dropout_prob", 0.1) if given is None else given)
