"""`--dry-run` of `longdoc train`: what the run would do, as a few lines or as JSON."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from longdoc.cli.common import closing_line, say
from longdoc.cli.dry_run import told_bytes, told_reasons, told_time
from longdoc.launched import speaks_for_all

if TYPE_CHECKING:
    from longdoc.training.forecast import TrainingForecast

__all__ = ["show_forecast"]

_LABELS = 20
_LONGEST_LABEL = 60


def show_forecast(forecast: TrainingForecast, output: Path, as_json: bool) -> int:
    """Print it; the exit status that the run would begin with."""
    if not speaks_for_all():
        return forecast.exit_status
    if as_json:
        typer.echo(json.dumps(dataclasses.asdict(forecast) | {"exit_status": forecast.exit_status}, indent=2))
        return forecast.exit_status
    for line in _told(forecast, output):
        say(line)
    closing_line(f"nothing was written; the run {'would be refused' if forecast.refusals else 'can start'}")
    return forecast.exit_status


def _told(forecast: TrainingForecast, output: Path) -> Iterator[str]:
    """What is known, a line each; estimates are marked by `about`."""
    from longdoc.errors import counted

    read = _part(forecast.documents, forecast.chunks, forecast.tokens)
    yield f"training: {read}, {counted(forecast.longest, 'chunk')} in the longest"
    if forecast.left_out:
        yield f"left out: {sum(forecast.left_out.values()):,} ({told_reasons(forecast.left_out)})"
    if forecast.validation_documents:
        parts = (forecast.validation_documents, forecast.validation_chunks, forecast.validation_tokens)
        yield f"validation: {_part(*parts)}"
    else:
        yield "validation: none, so the last epoch is kept and nothing is measured"
    if forecast.labels:
        more = f", and {len(forecast.labels) - _LABELS} more" if len(forecast.labels) > _LABELS else ""
        shown = [f"{_short(label)}: {count}" for label, count in islice(forecast.labels.items(), _LABELS)]
        yield f"labels: {', '.join(shown)}{more}"
    yield (
        f"steps: {forecast.steps:,}, {forecast.steps_per_epoch:,} in each of {counted(forecast.epochs, 'epoch')}"
        + (f", in {forecast.processes} processes" if forecast.processes > 1 else "")
    )
    large = forecast.row_cache_batches
    need = f"{large:,} batches of documents need" if large > 1 else f"{large or 'no'} batch of documents needs"
    yield (
        f"micro-batches: {forecast.micro_batch_tokens:,} tokens on {forecast.placement}; in an epoch {need} the row "
        "cache"
    )
    yield f"rows of chunks: {forecast.rows}"
    yield f"output: {output}, {forecast.state}"
    more = told_bytes(forecast.checkpoint_bytes)
    yield f"on the disk: {told_bytes(forecast.model_bytes)}, and up to {more} more while it goes on"
    yield f"time: {told_time(forecast.seconds)} at the measured speed"
    yield f"memory: about {told_bytes(forecast.memory_bytes)}"
    yield from (f"would be refused: {refusal}" for refusal in forecast.refusals)
    yield from (f"note: {remark}" for remark in forecast.remarks)


def _short(label: str) -> str:
    """A label as a terminal can show it, and short."""
    from longdoc.errors import on_one_line

    said = on_one_line(label)
    return said if len(said) <= _LONGEST_LABEL else f"{said[: _LONGEST_LABEL - 3]}..."


def _part(documents: int, chunks: int, tokens: int) -> str:
    from longdoc.errors import counted

    return f"{counted(documents, 'document')}, {counted(chunks, 'chunk')}, {tokens:,} tokens"
