"""`longdoc train --pretrain`: learn a language from texts without labels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from longdoc.cli.common import closing_line, load
from longdoc.cli.training_display import show_training

if TYPE_CHECKING:
    from longdoc.training.pretraining import PretrainingReport

__all__ = ["pretrain"]

HEEDS = ("model", "chunking", "data", "read", "pretraining", "prediction")

_BASE = {"chunking": {"overlap": 0}}
"""A token is guessed once, whatever the overlap: sharing tokens gives them more context, and costs as many more."""


def pretrain(
    output: Path,
    data: Sequence[str],
    validation: Sequence[str],
    config: Path | None,
    overrides: Sequence[str],
) -> None:
    """Train an encoder on a corpus; the step that guesses best is kept. Raises as `longdoc.api.pretrain`."""
    from longdoc import api
    from longdoc.errors import counted

    resolved = load(config, overrides, "train --pretrain", HEEDS, base=_BASE)
    named = {"train": tuple(data), "validation": tuple(validation)}
    inputs = resolved.data.model_copy(update={key: value for key, value in named.items() if value})
    resolved = resolved.model_copy(update={"data": inputs})
    if not inputs.validation:
        typer.echo("longdoc: no --validation, so the last step is kept and nothing is measured.", err=True)
    with show_training() as tell:
        report = api.pretrain(resolved, output, progress=tell)
    if report.new_head and resolved.model.encoder is None:
        typer.echo("longdoc: the head that guesses tokens is new: the checkpoint holds none.", err=True)
    _say_left_out(report.left_out, "document")
    _say_left_out(report.validation_left_out, "validation document")
    closing_line(
        f"trained on {counted(report.documents, 'document')} ({report.tokens:,} tokens) in "
        f"{counted(report.steps, 'step')} and {report.seconds:.0f} s; {_kept(report)}; encoder in {output}"
    )


def _say_left_out(reasons: Mapping[str, int], noun: str) -> None:
    from longdoc.errors import counted

    if reasons:
        listed = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
        typer.echo(f"longdoc: {counted(sum(reasons.values()), noun)} left out: {listed}.", err=True)


def _kept(report: PretrainingReport) -> str:
    if math.isnan(report.best):
        return "the last step kept"
    return (
        f"step {report.best_step} kept, perplexity {report.best:.2f} ({report.first:.2f} before), "
        f"{report.accuracy:.1%} guessed"
    )
