"""What every command shares: the configuration options, errors as one line, and progress without any text."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from longdoc.launched import speaks_for_all

if TYPE_CHECKING:
    from longdoc.config import RunConfig

__all__ = [
    "ConfigOption",
    "SetOption",
    "closing_line",
    "faults_as_exit_status",
    "heed_nothing",
    "load",
    "quiet_libraries",
    "say",
    "show_progress",
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


def load(
    config: Path | None,
    overrides: Sequence[str] | None,
    command: str,
    heeds: Sequence[str],
    base: dict[str, Any] | None = None,
) -> RunConfig:
    """The resolved configuration of a command.

    Args:
        command: its name, for messages.
        heeds: sections that it looks at. A file may hold others, since it serves several commands; `--set` is for this
            one, so there another section is a mistake.
        base: values under the file.

    Raises:
        ConfigurationError: a wrong key or value, or a key that this command does not look at.
    """
    from longdoc.config import RunConfig, load_config
    from longdoc.errors import ConfigurationError

    # What has no effect need not be right; what is no key of any section is told so by the configuration itself.
    sections = [override.partition("=")[0].strip() for override in overrides or ()]
    for key in sections:
        section = key.partition(".")[0]
        if section in RunConfig.model_fields and section not in heeds:
            raise ConfigurationError(
                f"`{key}` has no effect on `longdoc {command}`, which looks at {_listed(heeds)}. Leave it out."
            )
    return load_config(config, overrides or (), base)


def heed_nothing(config: Path | None, overrides: Sequence[str] | None, command: str) -> None:
    """For commands that no section decides: a file is checked all the same, `--set` refused.

    Without either nothing is loaded, so that what does without torch stays quick.
    """
    if config is not None or overrides:
        load(config, overrides, command, ())


def _listed(words: Sequence[str]) -> str:
    if not words:
        return "no section"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def quiet_libraries() -> None:
    """No telemetry, no hub look-ups by accident, no progress bars of other libraries in our output."""
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")


_STOPPED = 75
_FIRST_SAYS_SO = 8.0  # seconds
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})


@contextlib.contextmanager
def faults_as_exit_status(
    kept: Callable[[], str] = lambda: "Nothing is kept: the same command starts over.",
) -> Iterator[None]:
    """Errors of ours end the command with one message and their status; the message never holds text of a document.

    Args:
        kept: what is said when the command is stopped by Ctrl-C or SIGTERM: what is kept, and what the same command
            will do.
    """
    from longdoc.errors import LongDocError
    from longdoc.interruption import raising, was_raised

    quiet_libraries()
    try:
        with raising(lambda: f"longdoc: stopped. {kept()}"):
            yield
    except LongDocError as error:
        if was_raised() and error.exit_status != _STOPPED:
            raise _stopped(kept) from None
        if not speaks_for_all() and error.exit_status != _STOPPED:
            # As a rule the first process of the launch has met the same and says it; its launcher ends this one then.
            time.sleep(_FIRST_SAYS_SO)
        say(f"longdoc: {error}", err=True)
        raise typer.Exit(error.exit_status) from None
    except KeyboardInterrupt:
        raise _stopped(kept) from None
    except BrokenPipeError:
        raise  # nobody reads on, as behind `| head`: click ends quietly
    except OSError as error:
        if was_raised():
            raise _stopped(kept) from None
        # What is written says so itself, with status 74; what arrives here was to be read, or the disk is full.
        reason = os.strerror(error.errno) if error.errno else type(error).__name__
        full = error.errno in _NO_ROOM
        say(f"longdoc: {error.filename or 'a file'} cannot be {'written' if full else 'read'}: {reason}.", err=True)
        raise typer.Exit(74 if full else 2) from None
    except Exception as error:
        # The signal came in the middle of an import, and the library made another error of it.
        if was_raised() and not isinstance(error, (typer.Exit, typer.Abort)):
            raise _stopped(kept) from None
        raise


def _stopped(kept: Callable[[], str]) -> typer.Exit:
    if speaks_for_all():  # processes of one launch are stopped together: one speaks for all
        typer.echo(f"longdoc: stopped. {kept()}", err=True)
    return typer.Exit(_STOPPED)


def closing_line(text: str) -> None:
    """The one line on standard output that says what a command did, whatever number of processes was launched."""
    from longdoc.errors import on_one_line

    if speaks_for_all():
        typer.echo(on_one_line(text))


def say(text: str, err: bool = False) -> None:
    """Print text of several lines in which names from outside may stand: none of them can steer the terminal.

    A line break within a name is made visible where the sentence is made; here it would be one like any other.
    """
    from longdoc.errors import on_one_line

    typer.echo("\n".join(map(on_one_line, text.split("\n"))), err=err)


@contextlib.contextmanager
def show_progress(what: str, unit: str = "documents") -> Iterator[Callable[..., None]]:
    """A bar on a terminal, a plain line now and then elsewhere. Call it with (done, total or None, failed)."""
    if not sys.stderr.isatty() or os.environ.get("TERM", "") == "dumb":
        from longdoc.cli.progress_lines import ProgressLines

        yield ProgressLines(what, unit, lambda line: typer.echo(line, err=True))
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
