"""The functions that take a whole configuration: what the commands call, and what apps may call too."""

from __future__ import annotations

import contextlib
import logging
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch

from longdoc.apart import check_apart
from longdoc.checkpoints import open_checkpoint, resolve_checkpoint
from longdoc.checkpoints.answerers import adopt_answer_head
from longdoc.checkpoints.classifiers import start_readout
from longdoc.checkpoints.language_models import new_language_head, start_language_model
from longdoc.checkpoints.native import ModelSettings, refuse_other_model
from longdoc.checkpoints.resolve import pinned_name
from longdoc.checkpoints.sentence_transformers import pooled_as_before
from longdoc.checkpoints.vocabulary import check_vocabulary
from longdoc.config import RunConfig, dump_resolved, load_config
from longdoc.errors import ConfigurationError, LongDocError, UsageError, no_document
from longdoc.files import check_folder_output, only_writer
from longdoc.interruption import Interruption
from longdoc.launched import speaks_for_all
from longdoc.model import LongDocModel
from longdoc.nn import Encoder
from longdoc.nn.readout import Readout
from longdoc.pipeline import Pipeline, chunking_for
from longdoc.precision import choose_placement
from longdoc.readers import ArrowTable, is_table, load_labelled, load_labelled_table, read_documents
from longdoc.streaming import as_documents
from longdoc.tasks import task_named
from longdoc.tasks.gold import doubtful
from longdoc.text.tokenizing import DocumentTokenizer
from longdoc.training.card import model_card
from longdoc.training.forecast import TrainingForecast, forecast_run
from longdoc.training.frozen_rows import FrozenRows
from longdoc.training.loop import TrainingProgress, TrainingReport, fine_tune
from longdoc.training.one_at_a_time import one_at_a_time
from longdoc.training.own_folder import refuse_finished, refuse_foreign
from longdoc.training.pretraining import LanguageModelling, PretrainingReport, pretrain_encoder
from longdoc.training.pretraining_card import encoder_card
from longdoc.training.pretraining_data import Corpus, check_corpus, read_corpus
from longdoc.training.run import TrainingRun
from longdoc.training.saving import Unfinished
from longdoc.training.selection import chosen_metric
from longdoc.training.splits import refuse_leaks, refuse_unlearned
from longdoc.training.trackers import check_tracker
from longdoc.types import Document, DocumentFailure

__all__ = ["build_pipeline", "forecast_training", "pretrain", "train", "train_with_report"]

PRETRAINING_SECTIONS = ("model", "chunking", "data", "read", "pretraining", "prediction")
"""Sections of a configuration that `pretrain` looks at."""

_log = logging.getLogger(__name__)


def train(
    config: RunConfig | Mapping[str, Any] | str | Path,
    output: str | Path | None = None,
    *,
    train_documents: Sequence[Document] | ArrowTable | None = None,
    validation_documents: Sequence[Document] | ArrowTable | None = None,
    progress: Callable[[TrainingProgress], None] | None = None,
    resume: bool | None = None,
) -> Pipeline:
    """Fine-tune a model on labelled documents of any length.

    Args:
        config: a `RunConfig`, a mapping of the same shape, or a YAML file.
        output: the run's folder: the model folder's files, `metrics.jsonl`, `config.resolved.yaml`. None = nothing is
            kept but what is returned; save it with `Pipeline.save`.
        train_documents, validation_documents: instead of the files that `config.data` names; a list, or a table (data
            frame, Arrow table, dataset) whose columns `config.read.fields` names.
        progress: called with numbers now and then.
        resume: a run that was stopped in `output`: None = it goes on from its newest checkpoint, where there is one;
            True = there must be one; False = it is removed, and training starts over.

    Returns:
        The pipeline with the best epoch's weights.

    Several threads of one process take turns: seeds decide on a random state that they share.

    Raises:
        ConfigurationError: the configuration is wrong; nothing was started.
        DataError: the data cannot be used; nothing was started.
        UsageError: `output` holds a model, another run is writing there, or the run that was stopped there had other
            documents or another configuration.
        InterruptedTrainingError: asked to stop by SIGINT or SIGTERM; the same call goes on.
    """
    given = (train_documents, validation_documents, progress)
    if output is not None:
        return train_with_report(config, output, *given, resume=resume)[0]
    if resume:
        raise UsageError(
            "`resume` needs a run that was stopped, but without `output` nothing is kept. Name its folder."
        )
    with tempfile.TemporaryDirectory(prefix="longdoc-") as folder:
        return train_with_report(config, folder, *given, kept=False)[0]


@one_at_a_time()
def train_with_report(
    config: RunConfig | Mapping[str, Any] | str | Path,
    output: str | Path,
    train_documents: Sequence[Document] | ArrowTable | None = None,
    validation_documents: Sequence[Document] | ArrowTable | None = None,
    progress: Callable[[TrainingProgress], None] | None = None,
    resume: bool | None = None,
    kept: bool = True,
) -> tuple[Pipeline, TrainingReport]:
    """`train`, with what happened.

    Args:
        kept: whether the folder is, so that checkpoints in it are of use.
    """
    config, folder, unfinished = _as_config(config), Path(output), _unfinished(resume)
    check_folder_output(folder)
    refuse_finished(folder)
    config, train_documents, validation_documents, labels = _read(config, folder, train_documents, validation_documents)
    is_first = speaks_for_all()
    with only_writer(folder) if is_first else contextlib.nullcontext():
        if is_first:
            refuse_finished(folder, tidy=True)  # a run that was at work a moment ago may have ended
            for remark in doubtful(train_documents, validation_documents, task_named(config.model.task).gold_labels):
                _log.warning(remark)
        pipeline = build_pipeline(config, labels)
        report = fine_tune(
            pipeline,
            train_documents,
            validation_documents,
            folder,
            config.training,
            progress,
            card=lambda report: model_card(
                pipeline.settings, config.training, report, pipeline.model.encoder.config, config.model.source
            ),
            configuration=dump_resolved(_as_used(config, pipeline)),
            unfinished=unfinished if kept else None,
        )
    return pipeline, report


@one_at_a_time()
def forecast_training(
    config: RunConfig | Mapping[str, Any] | str | Path,
    output: str | Path,
    train_documents: Sequence[Document] | ArrowTable | None = None,
    validation_documents: Sequence[Document] | ArrowTable | None = None,
    resume: bool | None = None,
) -> TrainingForecast:
    """What `train` with the same arguments would do. Reads all, tries one micro-batch, and writes nothing.

    Why a run would not start in `output` is in `refusals`; all other errors are those of `train`.
    """
    config, folder, refusals = _as_config(config), Path(output), list[str]()
    config, train_documents, validation_documents, labels = _read(config, folder, train_documents, validation_documents)
    check_tracker(config.training.tracker)
    is_first = speaks_for_all()
    try:
        check_folder_output(folder)
        refuse_finished(folder)
        with only_writer(folder) if is_first and folder.exists() else contextlib.nullcontext():
            pass
    except LongDocError as error:
        refusals.append(str(error))
    pipeline = build_pipeline(config, labels)
    rows_folder = Path(config.training.rows_folder) if config.training.rows_folder else None
    run = TrainingRun(
        *(pipeline, train_documents, validation_documents, folder, config.training, None),
        *(partial(FrozenRows, folder=rows_folder), Interruption(), dump_resolved(_as_used(config, pipeline)), True),
    )
    remarks = doubtful(train_documents, validation_documents, task_named(config.model.task).gold_labels)
    return forecast_run(run, _unfinished(resume), refusals, list(remarks))


def _unfinished(resume: bool | None) -> Unfinished:
    """What becomes of a run that was stopped.

    Raises:
        UsageError: neither a boolean nor None.
    """
    if resume is not None and not isinstance(resume, bool):
        raise UsageError(f"`resume` must be True, False or None, but is of type {type(resume).__name__} instead.")
    return {None: "continue", True: "require", False: "discard"}[resume]  # type: ignore[return-value]


def _read(
    config: RunConfig,
    folder: Path,
    train: Sequence[Document] | ArrowTable | None,
    validation: Sequence[Document] | ArrowTable | None,
) -> tuple[RunConfig, Sequence[Document], Sequence[Document], tuple[str, ...]]:
    """Configuration, documents and labels of a run, once they are known to fit together."""
    _check_apart(folder, config, train is None, validation is None)
    if config.training.rows_folder:
        check_folder_output(Path(config.training.rows_folder), "training.rows_folder")
    if train is None:
        if not config.data.train:
            raise ConfigurationError("`data.train` must name at least one file, but is empty. Pass `--data`.")
        train = load_labelled(config.data.train, config.read)
    if validation is None:
        validation = load_labelled(config.data.validation, config.read, "validation") if config.data.validation else []
    train, validation = _labelled(train, config), _labelled(validation, config)
    labels, task = _check(config, train, validation), task_named(config.model.task)
    train, validation = task.unfold(train, "training"), task.unfold(validation, "validation")
    return _settled(config, [*train, *validation]), train, validation, labels


@one_at_a_time()
def pretrain(
    config: RunConfig | Mapping[str, Any] | str | Path,
    output: str | Path,
    *,
    train_documents: Iterable[str | Document] | ArrowTable | None = None,
    validation_documents: Iterable[str | Document] | ArrowTable | None = None,
    progress: Callable[[TrainingProgress], None] | None = None,
) -> PretrainingReport:
    """Train an encoder on texts without labels, by guessing hidden tokens.

    Args:
        config: a `RunConfig`, a mapping of the same shape, or a YAML file; `model.encoder`, `chunking`, `pretraining`.
        output: the run's folder: an encoder checkpoint that `model.source` and `load_encoder` take, `metrics.jsonl`,
            `config.resolved.yaml`.
        train_documents, validation_documents: instead of the files that `config.data` names: texts, documents, or a
            table; labels do not matter.
        progress: called with numbers now and then.

    Returns:
        What happened.

    Raises:
        ConfigurationError, CheckpointError: settings, checkpoint and tokenizer do not fit; nothing was started.
        DataError: not one document can be read.
        UsageError: `output` holds a model, or another run is writing there.
    """
    config = _as_config(config)
    folder = Path(output)
    check_folder_output(folder)
    refuse_other_model(folder)
    refuse_foreign(folder)
    _check_apart(folder, config, train_documents is None, validation_documents is None)
    if train_documents is None and not config.data.train:
        raise ConfigurationError("`data.train` must name at least one file, but is empty. Pass `--data`.")
    source = resolve_checkpoint(config.model.source, config.model.revision)
    tokenizer = DocumentTokenizer.from_folder(source)
    seed, from_scratch = config.pretraining.seed, config.model.encoder is not None
    if from_scratch:
        encoder = _new_encoder(config, tokenizer, seed)
        head, is_new = new_language_head(encoder, seed + 1), True
    else:
        encoder, head, is_new = start_language_model(source, seed + 1)
        check_vocabulary(tokenizer, encoder.config, source)
    chunking = chunking_for(encoder, config.chunking)
    config = config.model_copy(update={"chunking": chunking})

    def corpus(documents: Iterable[str | Document] | ArrowTable | None, named: Sequence[str], what: str) -> Corpus:
        given: Iterable[Document | DocumentFailure]
        if documents is None:
            given = (record.document for record in read_documents(named, config.read))
        else:
            given = as_documents(documents, config.read.fields.text if is_table(documents) else None)
        settings = (config.pretraining.whole_words, config.prediction.max_unknown_share)
        found = read_corpus(given, tokenizer, chunking.build(tokenizer), *settings)
        check_corpus(found, what)
        return found

    has_validation = validation_documents is not None or bool(config.data.validation)
    train = corpus(train_documents, config.data.train, "pretraining")
    validation = corpus(validation_documents, config.data.validation, "validation") if has_validation else None
    if is_new and head.output.bias is not None:  # so that the first steps need not learn what is frequent
        with torch.no_grad():
            head.output.bias.copy_(train.log_frequencies(len(head.output.bias)))
    placement = choose_placement(config.prediction.precision)
    subject = LanguageModelling(encoder, head, is_new, tokenizer, chunking.size, train, validation, placement)
    is_first = speaks_for_all()
    with only_writer(folder) if is_first else contextlib.nullcontext():
        if is_first:
            refuse_other_model(folder)  # a run that was at work a moment ago may have ended
        return pretrain_encoder(
            subject,
            folder,
            config.pretraining,
            progress,
            card=lambda report: encoder_card(
                encoder.config, config.pretraining, report, pinned_name(config.model.source, source), from_scratch
            ),
            configuration=dump_resolved(config, PRETRAINING_SECTIONS),
        )


def _check_apart(folder: Path, config: RunConfig, reads_train: bool, reads_validation: bool) -> None:
    """Refuse a run's folder that is mixed up with what the run reads.

    Args:
        reads_train, reads_validation: whether the files that `config.data` names are read.
    """
    read = {
        "data.train": config.data.train if reads_train else (),
        "data.validation": config.data.validation if reads_validation else (),
        "model.source": (config.model.source,),
    }
    check_apart(folder, read)


def _labelled(documents: Sequence[Document] | ArrowTable, config: RunConfig) -> Sequence[Document]:
    """Documents as they are given, or the rows of a table."""
    if is_table(documents):
        return load_labelled_table(documents, config.read)
    assert isinstance(documents, Sequence)
    return documents


def _as_config(config: RunConfig | Mapping[str, Any] | str | Path) -> RunConfig:
    if isinstance(config, str | Path):
        return load_config(config)
    return config if isinstance(config, RunConfig) else load_config(base=config)


def _new_encoder(config: RunConfig, tokenizer: DocumentTokenizer, seed: int) -> Encoder:
    """The encoder that `model.encoder` describes, randomly initialised, for the words of a tokenizer."""
    assert config.model.encoder is not None
    chosen = config.model.encoder.model_copy(update={"vocab_size": tokenizer.vocab_size, "pad_id": tokenizer.pad_id})
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Encoder(chosen)


def _check(config: RunConfig, train: Sequence[Document], validation: Sequence[Document]) -> tuple[str, ...]:
    """The labels, once documents and settings are known to fit together: nothing may come up after an epoch."""
    task, named = task_named(config.model.task), config.model.labels
    if config.prediction.device_map is not None:
        raise ConfigurationError(
            "`prediction.device_map` must be null while training, which needs all weights on the device. Leave it out, "
            "and lower `training.micro_batch_tokens` or freeze layers if memory is short."
        )
    if not train:
        raise no_document("data.train")
    if config.data.validation and not validation:
        raise no_document("data.validation")
    metric = chosen_metric(config.training.metric_for_best_model, task, bool(validation))
    if named is not None:
        task.check_labels(named)
    task.check_gold(train, named, "training")
    task.check_gold(validation, named, "validation")
    task.check_validation(validation, metric)
    if not config.data.allow_shared_ids:
        refuse_leaks(train, validation)
    if named is None:
        refuse_unlearned(train, validation, task.gold_labels)
    labels = named or task.collect_labels([*train, *validation])
    task.check_loss(config.training, labels)
    return labels


def _settled(config: RunConfig, documents: Sequence[Document]) -> RunConfig:
    """The configuration with what the readout leaves to the data."""
    asked = config.model.readout
    readout = task_named(config.model.task).settle(asked, documents)
    if readout is asked:
        return config
    return config.model_copy(update={"model": config.model.model_copy(update={"readout": readout})})


def _as_used(config: RunConfig, pipeline: Pipeline) -> RunConfig:
    """The configuration with what the data and the checkpoint have added to it."""
    settings = pipeline.settings
    model = config.model.model_copy(update={"labels": settings.labels, "readout": settings.readout})
    return config.model_copy(update={"model": model, "chunking": settings.chunking})


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
        source=pinned_name(config.model.source, source) if config.model.encoder is None else "",
    )
    checkpoint = None
    if config.model.encoder is None:
        checkpoint = open_checkpoint(source)
        encoder = checkpoint.encoder
        check_vocabulary(tokenizer, encoder.config, source)
    else:
        encoder = _new_encoder(config, tokenizer, config.training.seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.training.seed + 1)
        if checkpoint is None:
            readout: Readout = config.model.readout.build(encoder.config.width, settings.scores)
        else:
            settings = settings.model_copy(update={"readout": pooled_as_before(settings.readout, source)})
            asked = settings.readout if "readout" in config.model.model_fields_set else None
            readout, readout_config = start_readout(checkpoint, settings, asked)
            adopt_answer_head(readout, source)
            settings = settings.model_copy(update={"readout": readout_config})
    return Pipeline(LongDocModel(encoder, readout), settings, tokenizer, config.prediction)
