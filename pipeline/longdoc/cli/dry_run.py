"""`--dry-run` of `longdoc predict` and `longdoc embed`: what the job would do, as a few lines; and words for others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from longdoc.cli.common import closing_line, say

if TYPE_CHECKING:
    from longdoc.jobs.forecast import Forecast
    from longdoc.jobs.plan import JobConfig
    from longdoc.jobs.rows import RowKind
    from longdoc.jobs.work import Predictor
    from longdoc.readers.base import ReadConfig

__all__ = ["DryRunOption", "dry_run", "told_bytes", "told_reasons", "told_time"]

DryRunOption = Annotated[
    bool,
    typer.Option("--dry-run", help="Say what would be done, by reading all and trying a little; write nothing."),
]


def dry_run(
    inputs: Sequence[str],
    output: Path,
    predictor: Predictor,
    count_chunks: Callable[[int], int],
    read: ReadConfig,
    job: JobConfig,
    rows: RowKind,
    asks: bool = False,
) -> int:
    """Print the forecast of a job; the exit status that it is expected to end with. `asks` as in `told_reasons`."""
    from longdoc.jobs.forecast import forecast_job

    forecast = forecast_job(inputs, output, predictor, count_chunks, read, job, rows=rows)
    for line in told(forecast, output, asks):
        say(line)
    closing_line(_verdict(forecast))
    return forecast.exit_status


def told(forecast: Forecast, output: Path, asks: bool = False) -> Iterator[str]:
    """What is known, a line each; estimates are marked by `about`."""
    from longdoc.errors import counted

    yield f"inputs: {forecast.inputs:,} of {told_bytes(forecast.input_bytes)}"
    yield f"documents: {forecast.documents:,}; {forecast.characters:,} characters, {forecast.longest:,} in the longest"
    if forecast.unreadable:
        yield f"unreadable: {sum(forecast.unreadable.values()):,} ({told_reasons(forecast.unreadable, asks)})"
    yield (
        f"tokens: about {forecast.tokens:,} in about {forecast.chunks:,} chunks, by a sample of "
        f"{counted(forecast.sampled, 'document')}"
    )
    if forecast.sample_failures:
        failed = sum(forecast.sample_failures.values())
        yield f"failed in the sample: {failed} ({told_reasons(forecast.sample_failures, asks)})"
    yield f"output: {output}, {forecast.state}"
    yield f"parts: {forecast.parts:,}, {forecast.parts_done:,} of them done; about {told_bytes(forecast.output_bytes)}"
    seconds = (
        "unknown, since nothing in the sample was answered" if forecast.seconds is None else told_time(forecast.seconds)
    )
    yield f"time: {seconds} in {counted(forecast.workers, 'worker')} of the measured speed"
    yield f"memory: about {told_bytes(forecast.memory_bytes)}"
    yield from (f"would be refused: {refusal}" for refusal in forecast.refusals)
    yield from (f"note: {remark}" for remark in forecast.remarks)


def _verdict(forecast: Forecast) -> str:
    if forecast.refusals:
        return "nothing was written; the job would be refused"
    if forecast.exit_status:
        return f"nothing was written; the job would end with status {forecast.exit_status}"
    return "nothing was written; the job can start"


def told_reasons(counts: Mapping[str, Any], asks: bool = False) -> str:
    """What there is, and how many of it.

    Args:
        asks: whether documents need a question, without which they count as empty, too.
    """
    words = {"empty": "empty, or no question in `read.fields.question`"} if asks else {}
    return ", ".join(f"{words.get(reason, reason)}: {count}" for reason, count in counts.items())


def told_bytes(number: int) -> str:
    """In a unit that suits it."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= size:
            return f"{number / size:.1f} {unit}"
    return f"{number} bytes"


def told_time(seconds: float) -> str:
    """In a unit that suits it, as an estimate."""
    for unit, size in (("days", 86_400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"about {seconds / size:.1f} {unit}"
    return f"about {seconds:.0f} seconds"
