"""`longdoc predict`: answer a corpus as a job that can be killed and started again."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longdoc.cli.common import ConfigOption, SetOption, closing_line, faults_as_exit_status, load, say, show_progress
from longdoc.cli.dry_run import DryRunOption, dry_run, told_reasons
from longdoc.launched import speaks_for_all

if TYPE_CHECKING:
    from longdoc.jobs.runner import JobReport
    from longdoc.pipeline import Pipeline, PredictionConfig

__all__ = ["failures_told", "open_predictor", "outcome", "predict"]

HEEDS = ("model", "chunking", "read", "prediction", "job")


def predict(
    model: Annotated[Path, typer.Option("--model", metavar="MODEL", help="A model folder.")],
    inputs: Annotated[
        list[str], typer.Option("--input", metavar="PATH", help="Files, folders, globs or hf:owner/name.")
    ],
    output: Annotated[Path, typer.Option("--output", metavar="OUT", help="The job's folder.")],
    more: Annotated[list[str] | None, typer.Argument(metavar="PATH", help="Further inputs.")] = None,
    engine: Annotated[
        str | None, typer.Option("--engine", metavar="ENGINE", help="What runs the parts: local, accelerate or ray.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", metavar="N", min=1, help="Processes, each with a model.")
    ] = None,
    max_failures: Annotated[
        int | None,
        typer.Option("--max-failures", metavar="N", min=0, help="More failed documents than this end with status 3."),
    ] = None,
    evidence: Annotated[
        bool | None, typer.Option("--evidence/--no-evidence", help="Passages behind each score.")
    ] = None,
    dry: DryRunOption = False,
    config: ConfigOption = None,
    overrides: SetOption = None,
) -> None:
    """Predict files of any length and number. Killed? Run the same command again: it continues.

    Example: longdoc predict --model runs/mine --input letters/ --output out

    Example: longdoc predict --model runs/mine --input letters/ --output out --engine ray --workers 8
    """
    with faults_as_exit_status(lambda: "Finished parts are kept: the same command goes on."):
        from longdoc.apart import check_apart
        from longdoc.cli.next_step import missing_packages, say_tables_left_out
        from longdoc.cli.trained import own_chunking, settled
        from longdoc.config import dump_resolved
        from longdoc.files import check_folder_output
        from longdoc.jobs.row_kinds import rows_of
        from longdoc.jobs.runner import run_job
        from longdoc.jobs.sources import refuse_nothing
        from longdoc.tasks import task_named

        check_folder_output(output, written=False)
        base = own_chunking(model, config, overrides)
        resolved = settled(load(config, overrides, "predict", HEEDS, base), model)
        check_apart(output, {"--input": [*inputs, *(more or [])], "--model": [model]}, homes=("--model",))
        task_named(resolved.model.task).check_answering()
        given = {"engine": engine, "workers": workers, "max_failures": max_failures, "evidence": evidence}
        job = resolved.job.model_validate(
            resolved.job.model_dump() | {key: value for key, value in given.items() if value is not None}
        )
        resolved = resolved.model_copy(update={"job": job})
        opener = partial(open_predictor, model, resolved.prediction, job.evidence)
        paths = [*inputs, *(more or [])]
        say_tables_left_out(paths, resolved.read)
        refuse_nothing(paths, resolved.read, output)
        task = task_named(resolved.model.task)
        rows = rows_of({"rows.kind": task.row_kind})
        if dry:
            predictor = opener()
            chunks = _chunks_of(predictor)
            raise typer.Exit(dry_run(paths, output, predictor, chunks, resolved.read, job, rows, task.asks))
        with show_progress("predict") as tell:
            report = run_job(
                paths,
                output,
                opener,
                resolved.read,
                job,
                progress=tell,
                configuration=dump_resolved(resolved, HEEDS),
                rows=rows,
            )
        if "unsupported_type" in report.reasons and speaks_for_all():
            for sentence in missing_packages(output):
                say(f"longdoc: {sentence}", err=True)
        closing_line(outcome(report, output, task.asks) + failures_told(report, output, job.max_failures))
        raise typer.Exit(report.exit_status)


def outcome(report: JobReport, output: Path, asks: bool = False) -> str:
    """What a run did, in one line: counts and reasons, never an id. `asks` as in `told_reasons`."""
    from longdoc.errors import counted
    from longdoc.jobs.job_plan import say_cut

    failed = f"{report.failed} failed"
    if report.reasons:
        failed += f" ({told_reasons(report.reasons, asks)})"
    if report.abstained:
        failed += f", {report.abstained} abstained"
    if report.partly_textless:
        among = " of those answered now" if report.reused_parts else ""
        have = f"{report.partly_textless}{among} {'has' if report.partly_textless == 1 else 'have'}"
        failed += f"; {have} pages without text, which were not read"
    parts = f"{counted(report.written_parts, 'part')} written, {report.reused_parts} found done"
    if report.found_complete:
        parts = "already complete, nothing written"
    saved = f"; {report.repeated_chunks} of {counted(report.chunks, 'chunk')} stood somewhere before, not encoded again"
    parts += saved if report.repeated_chunks else ""
    cut = f". Not complete: {say_cut(report.cut_sources)}" if report.cut_sources else ""
    return f"{counted(report.documents, 'document')}, {failed}; {parts}; results in {output}{cut}"


def failures_told(report: JobReport, output: Path, allowed: int) -> str:
    """What status 3 means, and where one sees which documents failed; nothing where it is not for their number."""
    if report.failed <= allowed or report.cut_sources:
        return ""
    return (
        f". Status 3: more failed than `--max-failures` allows ({allowed}); all others are answered, and "
        f"`longdoc export {shlex.quote(str(output))} FILE.csv` shows which failed and why"
    )


class _WithEvidence:
    """A predictor that explains every answer; twice the work for each document."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline
        self.fingerprint = pipeline.fingerprint + "+evidence"
        self.stream = pipeline.stream_with_evidence
        self.repeats = pipeline.repeats


def _chunks_of(predictor: Pipeline | _WithEvidence) -> Callable[[int], int]:
    pipeline = predictor.pipeline if isinstance(predictor, _WithEvidence) else predictor
    return pipeline.chunker.kept


def open_predictor(model: Path, prediction: PredictionConfig, evidence: bool) -> Pipeline | _WithEvidence:
    """Load the model in the process that will use it."""
    from longdoc.pipeline import Pipeline

    pipeline = Pipeline.load(model, prediction)
    pipeline.remember_chunks()
    if evidence:
        pipeline.check_explained()
    return _WithEvidence(pipeline) if evidence else pipeline
