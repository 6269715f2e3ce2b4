"""What `--help` shows of every command there is: an example to copy, and values by names that people understand."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import typer.main
from click.testing import Result

from longdoc.cli import app


def every_command(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    inner = getattr(command, "commands", None)
    if inner is None:
        yield words
    for name, one in (inner or {}).items():
        yield from every_command(one, (*words, name))


@pytest.mark.parametrize("words", list(every_command(typer.main.get_command(app))), ids=" ".join)
def test_the_help_of_a_command(run: Callable[..., Result], words: tuple[str, ...]) -> None:
    shown = run(*words, "--help").output
    assert f"Example: longdoc {' '.join(words)}" in " ".join(shown.split())
    assert not re.findall(r"--[a-z-]+ <.*>", shown), "a name of a Python type says nothing to its readers"
    assert not re.findall(r"^ +[A-Z]+ <.*>", shown, re.MULTILINE), "nor does one of an argument"
    assert not re.findall(r"[A-Z]+]\.*]\.*", shown), "brackets in brackets"


def test_all_kinds_of_files_are_named(run: Callable[..., Result]) -> None:
    assert ".npy" in run("export", "--help").output
    assert "without .html or .htm is a folder" in " ".join(run("explain", "--help").output.split())
