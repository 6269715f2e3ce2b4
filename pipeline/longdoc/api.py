"""The functions that take a whole configuration: what the commands call, and what apps may call too."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from longdoc.checkpoints import open_checkpoint, resolve_checkpoint
from longdoc.checkpoints.classifiers import start_readout
from longdoc.checkpoints.native import ModelSettings
from longdoc.checkpoints.resolve import pinned_name
from longdoc.config import RunConfig, dump_resolved, load_config
from longdoc.errors import ConfigurationError, DataError, UsageError
from longdoc.files import write_text
from longdoc.model import LongDocModel
from longdoc.nn import Encoder
from longdoc.nn.readout import Readout
from longdoc.pipeline import Pipeline
from longdoc.readers import load_labelled
from longdoc.text.tokenizing import DocumentTokenizer
from longdoc.training.card import model_card
from longdoc.training.data import collect_labels
from longdoc.training.loop import TrainingProgress, TrainingReport, fine_tune
from longdoc.types import Document

__all__ = ["build_pipeline", "train", "train_with_report"]


def train(
    config: RunConfig | Mapping[str, Any] | str | Path,
    output: str | Path,
    *,
    train_documents: Sequence[Document] | None = None,
    validation_documents: Sequence[Document] | None = None,
    progress: Callable[[TrainingProgress], None] | None = None,
) -> Pipeline:
    """Fine-tune a model on labelled documents of any length.

    Args:
        config: a `RunConfig`, a mapping of the same shape, or a YAML file.
        output: the run's folder: the model folder's files, `metrics.jsonl`, `config.resolved.yaml`.
        train_documents, validation_documents: instead of the files that `config.data` names.
        progress: called with numbers now and then.

    Returns:
        The pipeline with the best epoch's weights.

    Raises:
        ConfigurationError: the configuration is wrong; nothing was started.
        DataError: the data cannot be used; nothing was started.
    """
    pipeline, _ = train_with_report(config, output, train_documents, validation_documents, progress)
    return pipeline


def train_with_report(
    config: RunConfig | Mapping[str, Any] | str | Path,
    output: str | Path,
    train_documents: Sequence[Document] | None = None,
    validation_documents: Sequence[Document] | None = None,
    progress: Callable[[TrainingProgress], None] | None = None,
) -> tuple[Pipeline, TrainingReport]:
    """`train`, with what happened."""
    if isinstance(config, str | Path):
        config = load_config(config)
    elif not isinstance(config, RunConfig):
        config = load_config(base=config)
    folder = Path(output)
    if (folder / "longdoc.json").exists():
        raise UsageError(
            f"`output` must be a new folder, but {folder} holds a model already. Name another or remove it."
        )
    if train_documents is None:
        if not config.data.train:
            raise ConfigurationError("`data.train` must name at least one file, but is empty. Pass `--data`.")
        train_documents = load_labelled(config.data.train, config.read)
    if validation_documents is None:
        validation_documents = load_labelled(config.data.validation, config.read) if config.data.validation else []
    if not train_documents:
        raise DataError("`data.train` must hold at least 1 document, but holds none.")
    labels = config.model.labels or collect_labels([*train_documents, *validation_documents], config.model.task)
    pipeline = build_pipeline(config, labels)
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "config.resolved.yaml", dump_resolved(config))
    report = fine_tune(
        pipeline,
        train_documents,
        validation_documents,
        folder,
        config.training,
        progress,
        card=lambda report: model_card(pipeline.settings, config.training, report),
    )
    return pipeline, report


def build_pipeline(config: RunConfig, labels: Sequence[str]) -> Pipeline:
    """The model that a configuration describes, before training: a checkpoint's encoder or one from scratch.

    Where the checkpoint is a classifier with these labels, its own head is taken over unless `model.readout` is given.
    """
    source = resolve_checkpoint(config.model.source, config.model.revision)
    tokenizer = DocumentTokenizer.from_folder(source)
    settings = ModelSettings(
        task=config.model.task,
        labels=tuple(labels),
        chunking=config.chunking,
        readout=config.model.readout,
        source=pinned_name(config.model.source, source),
    )
    checkpoint = None
    if config.model.encoder is None:
        checkpoint = open_checkpoint(source)
        encoder = checkpoint.encoder
    else:
        chosen = config.model.encoder.model_copy(
            update={"vocab_size": tokenizer.vocab_size, "pad_id": tokenizer.pad_id}
        )
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.training.seed)
            encoder = Encoder(chosen)
    limit = encoder.max_tokens
    if limit is not None and config.chunking.size > limit:
        raise ConfigurationError(
            f"`chunking.size` must be at most {limit}, the positions that this encoder knows, but is "
            f"{config.chunking.size} instead. Lower it, or choose a position encoding that extends."
        )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.training.seed + 1)
        if checkpoint is None:
            readout: Readout = config.model.readout.build(encoder.config.width, len(settings.labels))
        else:
            asked = config.model.readout if "readout" in config.model.model_fields_set else None
            readout, readout_config = start_readout(checkpoint, settings.labels, asked)
            settings = settings.model_copy(update={"readout": readout_config})
    return Pipeline(LongDocModel(encoder, readout), settings, tokenizer, config.prediction)
