"""Every command, whatever it is: its help shows an example that it would understand. The list enumerates itself."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer.main

from longdoc.cli import app

ROOT = typer.main.get_command(app)


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """All commands that do something, and the words that call them."""
    if hasattr(command, "commands"):
        for name, each in command.commands.items():
            yield from commands(each, (*path, name))
    else:
        yield path, command


EVERY = [pytest.param(path, command, id=" ".join(path)) for path, command in commands(ROOT)]


def examples(command: Any) -> list[list[str]]:
    """The command lines that the help of a command shows."""
    found = re.findall(r"Example: (.*?)(?=\n\n|\n\s*Example:|$)", command.help or "", re.DOTALL)
    return [shlex.split(" ".join(each.split()).partition(" > ")[0]) for each in found]


def test_there_are_commands() -> None:
    assert len(EVERY) >= 18


@pytest.mark.parametrize(("path", "command"), EVERY)
def test_a_command_shows_an_example_that_it_understands(path: tuple[str, ...], command: Any) -> None:
    shown = examples(command)
    assert shown, "no `Example:` in the help"
    assert not re.search(r"[^\n]\n[ ]*Example:", command.help), "an example must be a paragraph of its own"
    for example in shown:
        assert example[: len(path) + 1] == ["longdoc", *path]
        context = command.make_context(" ".join(path), example[len(path) + 1 :], resilient_parsing=False)
        assert context.args == []


@pytest.mark.parametrize(("path", "command"), EVERY)
def test_a_command_says_what_it_does_and_what_each_option_is(path: tuple[str, ...], command: Any) -> None:
    assert (command.help or "").split("\n\n")[0].rstrip(" `").endswith((".", "json"))
    for option in command.params:
        assert getattr(option, "help", None), f"{option.name} is not explained"


@pytest.mark.parametrize(("path", "command"), EVERY)
def test_a_command_takes_a_configuration(path: tuple[str, ...], command: Any) -> None:
    assert "--config" in {name for option in command.params for name in option.opts}


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_commands_and_options(shell: str) -> None:
    """As the scripts that `longdoc --install-completion` writes ask for it."""
    words = {"bash": ("longdoc pred", "1"), "zsh": ("longdoc pred", "1"), "fish": ("longdoc pred", "pred")}[shell]
    asked = {
        "_LONGDOC_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": words[0],
        "COMP_CWORD": words[1],
        "_TYPER_COMPLETE_ARGS": words[0],
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        "_TYPER_COMPLETE_WORD_TO_COMPLETE": "pred",
    }
    code = "import sys; sys.argv[0] = 'longdoc'; from longdoc.__main__ import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | asked, capture_output=True, text=True, timeout=60, check=False
    )
    assert "predict" in done.stdout, done.stderr
    assert "verify" not in done.stdout
