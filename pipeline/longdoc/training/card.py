"""The README.md of a model folder: what the model was trained on, how good it is, and what it must not be used for."""

from __future__ import annotations

import re
from typing import Any

from longdoc.checkpoints.native import ModelSettings
from longdoc.errors import counted
from longdoc.nn import EncoderConfig
from longdoc.tasks import task_named
from longdoc.training.loop import TrainingReport
from longdoc.training.settings import TrainingConfig

__all__ = ["model_card"]


def model_card(
    settings: ModelSettings, training: TrainingConfig, report: TrainingReport, encoder: EncoderConfig, tokenizer: str
) -> str:
    """Markdown with the metadata block that model hubs read. Holds numbers and label names, never text of documents.

    Args:
        encoder: of the model; described where `settings.source` names no checkpoint that it started from.
        tokenizer: whose tokenizer it uses then.
    """
    shown = {name: value for name, value in report.validation.items() if isinstance(value, int | float)}
    rows = "\n".join(f"| {name} | {value:.4f} |" for name, value in shown.items() if isinstance(value, float))
    return f"""---
library_name: longdoc
pipeline_tag: {task_named(settings.task).pipeline_tag}
tags: [long-documents]
---

# {settings.task.replace("_", " ")} model for long documents

Encoder: {_encoder(settings.source, encoder, tokenizer)}.
Chunks of {settings.chunking.size} tokens that share {settings.chunking.overlap}; chunks read: \
{settings.chunking.keep}. Labels ({len(settings.labels)}): {", ".join(map(_in_line, settings.labels[:40]))}.

## Training

{counted(report.train_documents, "document")}, {counted(report.epochs, "epoch")}{_early(training, report)}, \
{counted(report.steps, "optimiser step")}, seed {training.seed}, {report.seconds:.0f} s. \
Frozen: {", ".join(training.freeze) or "nothing"}. {_sampling(training)}{_lora(training)}\
Training documents left out: {report.empty_documents} without a
token, {report.unreadable_documents} that the tokenizer hardly knows.

## Validation

{_validation(report, rows)}

## Limits

Trained on one corpus; measure it on yours with `longdoc evaluate` before you rely on it. A document whose text lies
mostly under unknown tokens is refused, not guessed. The prediction says how many tokens were read; a score is a
probability only as far as the validation data resemble yours.
"""


def _early(training: TrainingConfig, report: TrainingReport) -> str:
    return f" of {training.num_train_epochs}, since no more was gained" if report.stopped_early else ""


def _lora(training: TrainingConfig) -> str:
    if training.lora is None:
        return ""
    return f"Of the encoder corrections of rank {training.lora.rank} were learned (LoRA), and are merged. "


def _sampling(training: TrainingConfig) -> str:
    most = training.chunks_per_document
    if most is None:
        return ""
    drawn = "1 chunk of each document, drawn" if most == 1 else f"at most {most} chunks of each document, drawn"
    return f"Learned from {drawn} anew each epoch; validation read all of them. "


def _in_line(label: str) -> str:
    """Any label as plain words of one line of Markdown."""
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", " ".join(label.split()))


def _encoder(source: str, encoder: EncoderConfig, tokenizer: str) -> str:
    if source:
        return f"started from `{source}`"
    return (
        f"trained from scratch, {counted(encoder.layers, 'layer')} of width {encoder.width}, positions "
        f"{encoder.position.kind}, with the tokenizer of `{tokenizer}`"
    )


def _validation(report: TrainingReport, rows: str) -> str:
    if not report.validation:
        return "There were no validation documents: the last epoch was kept, and how good it is was not measured."
    intervals: dict[str, Any] = report.validation.get("intervals", {})
    ranges = "\n".join(f"- {name}: {ends[0]:.4f} to {ends[1]:.4f} (95 %)" for name, ends in intervals.items() if ends)
    return (
        f"{counted(report.validation_documents, 'document')}, {report.unanswered_validation} without an answer; epoch "
        f"{report.best_epoch} was kept for its {report.metric}.\n\n"
        f"| metric | value |\n| --- | --- |\n{rows}\n\n{ranges}".rstrip()
    )
