"""`longdoc embed`: vectors of a corpus, as a job that can be killed and started again."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longdoc.cli.common import ConfigOption, SetOption, closing_line, faults_as_exit_status, load, show_progress
from longdoc.cli.dry_run import DryRunOption, dry_run

if TYPE_CHECKING:
    from longdoc.config import RunConfig
    from longdoc.embedding import Embedder

__all__ = ["embed"]

HEEDS = ("model", "chunking", "read", "prediction", "job", "embedding")


def embed(
    model: Annotated[
        str, typer.Option("--model", metavar="MODEL", help="A model or checkpoint folder, `default`, or a hub id.")
    ],
    inputs: Annotated[
        list[str], typer.Option("--input", metavar="PATH", help="Files, folders, globs or hf:owner/name.")
    ],
    output: Annotated[Path, typer.Option("--output", metavar="OUT", help="The job's folder.")],
    more: Annotated[list[str] | None, typer.Argument(metavar="PATH", help="Further inputs.")] = None,
    parts: Annotated[
        str | None, typer.Option("--parts", metavar="KIND", help="Vectors of parts too: chunks, passages or spans.")
    ] = None,
    prompt: Annotated[
        str | None, typer.Option("--prompt", metavar="TEXT", help='Text before every chunk, such as "query: ".')
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", metavar="N", min=1, help="Processes, each with a model.")
    ] = None,
    max_failures: Annotated[
        int | None,
        typer.Option("--max-failures", metavar="N", min=0, help="More failed documents than this end with status 3."),
    ] = None,
    dry: DryRunOption = False,
    config: ConfigOption = None,
    overrides: SetOption = None,
) -> None:
    """Vectors of files of any length and number. Killed? Run the same command again: it continues.

    Example: longdoc embed --model default --input letters/ --output vectors
    """
    with faults_as_exit_status(lambda: "Finished parts are kept: the same command goes on."):
        from longdoc.apart import check_apart
        from longdoc.cli.next_step import say_tables_left_out
        from longdoc.cli.predict import failures_told, outcome
        from longdoc.config import dump_resolved
        from longdoc.errors import counted
        from longdoc.files import check_folder_output
        from longdoc.jobs.embedding_rows import EmbeddingRows
        from longdoc.jobs.runner import run_job
        from longdoc.jobs.sources import refuse_nothing

        check_folder_output(output, written=False)
        check_apart(output, {"--input": [*inputs, *(more or [])], "--model": [model]}, homes=("--model",))
        given = [f"embedding.{key}={_quoted(value)}" for key, value in (("parts", parts), ("prompt", prompt)) if value]
        resolved = _settled(load(config, [*(overrides or []), *given], "embed", HEEDS), model)
        options = {"workers": workers, "max_failures": max_failures}
        job = resolved.job.model_validate(
            resolved.job.model_dump() | {key: value for key, value in options.items() if value is not None}
        )
        paths = [*inputs, *(more or [])]
        say_tables_left_out(paths, resolved.read)
        refuse_nothing(paths, resolved.read, output)
        opener = partial(open_with, model, resolved)
        embedder = opener()
        width, fingerprint, prompt_tokens = embedder.width, embedder.fingerprint, embedder.prompt_tokens
        resolved = resolved.model_copy(update={"job": job, "chunking": embedder.chunking})
        rows = EmbeddingRows(width, resolved.embedding.dtype, resolved.embedding.parts != "none")
        if dry:
            count = embedder.chunking.build(embedder.tokenizer).kept
            raise typer.Exit(dry_run(paths, output, embedder, count, resolved.read, job, rows))
        del embedder  # the job loads its own, where it is at work
        with show_progress("embed") as tell:
            report = run_job(
                paths,
                output,
                opener,
                resolved.read,
                job,
                progress=tell,
                fingerprint=fingerprint,
                configuration=dump_resolved(resolved, HEEDS),
                rows=rows,
            )
        before = f"; each chunk begins with {counted(prompt_tokens, 'token')} of the prompt"
        told = f"{outcome(report, output)}; vectors of {width} numbers{before if prompt_tokens else ''}"
        closing_line(told + failures_told(report, output, job.max_failures))
        raise typer.Exit(report.exit_status)


def _quoted(value: str) -> str:
    """A string as YAML has it, whatever is in it."""
    import json

    return json.dumps(value)


def _settled(config: RunConfig, model: str) -> RunConfig:
    """The configuration; for a model folder of ours with what training has fixed, as in `predict`."""
    from longdoc.cli.trained import settled
    from longdoc.errors import ConfigurationError

    if config.job.evidence:
        raise ConfigurationError("`job.evidence` must be false for vectors, but is true. Leave it out.")
    if config.prediction.device_map is not None:
        raise ConfigurationError("`prediction.device_map` must be null for vectors, but is not. Leave it out.")
    return settled(config, Path(model)) if (Path(model) / "longdoc.json").is_file() else config


def open_with(model: str, config: RunConfig) -> Embedder:
    """Load the model in the process that will use it."""
    from longdoc.embedding import open_embedder

    prediction = config.prediction
    return open_embedder(
        model,
        config.embedding,
        config.chunking,
        prediction.batching,
        prediction.precision,
        prediction.max_unknown_share,
    )
