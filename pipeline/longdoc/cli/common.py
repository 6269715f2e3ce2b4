"""What every command shares: the configuration options, errors as one line, and progress without any text."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from longdoc.config import RunConfig
    from longdoc.training.loop import TrainingProgress

__all__ = [
    "ConfigOption",
    "SetOption",
    "closing_line",
    "faults_as_exit_status",
    "load",
    "quiet_libraries",
    "show_progress",
    "show_training",
]

ConfigOption = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="YAML with what differs from the defaults.")
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="One value over the file: training.learning_rate=3e-5. Repeatable."
    ),
]


def load(config: Path | None, overrides: Sequence[str] | None, base: dict[str, Any] | None = None) -> RunConfig:
    """The resolved configuration of a command."""
    from longdoc.config import load_config

    return load_config(config, overrides or (), base)


def quiet_libraries() -> None:
    """No telemetry, no hub look-ups by accident, no progress bars of other libraries in our output."""
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")


@contextlib.contextmanager
def faults_as_exit_status() -> Iterator[None]:
    """Errors of ours end the command with one message and their status; the message never holds text of a document."""
    from longdoc.errors import LongDocError

    quiet_libraries()
    try:
        yield
    except LongDocError as error:
        typer.echo(f"longdoc: {error}", err=True)
        raise typer.Exit(error.exit_status) from None
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else type(error).__name__
        typer.echo(f"longdoc: {error.filename or 'a file'} cannot be read or written: {reason}.", err=True)
        raise typer.Exit(74) from None
    except KeyboardInterrupt:
        typer.echo("longdoc: stopped. Run the same command again to continue.", err=True)
        raise typer.Exit(75) from None


def closing_line(text: str) -> None:
    """The one line on standard output that says what a command did."""
    typer.echo(text)


def _say_nothing(done: int, total: int | None, failed: int = 0) -> None:
    """Progress where nobody looks."""


@contextlib.contextmanager
def show_progress(what: str, unit: str = "documents") -> Iterator[Callable[..., None]]:
    """A bar on a terminal, nothing when piped. Call it with (done, total or None, failed)."""
    if not sys.stderr.isatty():
        yield _say_nothing
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TextColumn("{task.fields[note]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None, note="")

        def tell(done: int, total: int | None, failed: int = 0) -> None:
            bar.update(task, completed=done, total=total, note=f"{failed} failed" if failed else "")

        yield tell


@contextlib.contextmanager
def show_training() -> Iterator[Callable[[TrainingProgress], None]]:
    """A line for each epoch that beats the ones before, and a bar on a terminal or a plain line every 30 seconds."""
    last = [time.monotonic()]
    names = {"rows": "encode", "train": "train", "validate": "validate"}
    interactive = sys.stderr.isatty()
    with show_progress("train", "steps") as bar:

        def tell(state: TrainingProgress) -> None:
            name = names[state.phase]
            where = f"epoch {state.epoch} of {state.epochs}" if state.epoch else "the frozen encoder's rows, once"
            if state.improved and state.metric is not None:
                typer.echo(f"{where}: validation {state.metric:.4f}, the best so far", err=True)
            if interactive:
                bar(state.done, state.total, 0)
            elif time.monotonic() - last[0] >= 30:
                last[0] = time.monotonic()
                loss = f", loss {state.loss:.4f}" if state.loss is not None else ""
                typer.echo(f"{name}: {where}, {state.done} of {state.total}{loss}", err=True)

        yield tell
