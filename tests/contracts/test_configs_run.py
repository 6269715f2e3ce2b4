"""The commands in the heads of the configuration files: they load, and the corpora that they name fit their tasks."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest

from longdoc.config import RunConfig, load_config
from longdoc.readers import load_labelled, read_documents
from longdoc.tasks import task_named

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "configs").glob("*.yaml"))


@dataclass(frozen=True)
class Command:
    """A command of a file's head."""

    file: Path
    words: list[str]

    def values(self, option: str) -> list[str]:
        return [self.words[n + 1] for n, word in enumerate(self.words) if word == option]

    def config(self) -> RunConfig:
        return load_config(self.file, self.values("--set"))


def commands() -> list[Command]:
    found = []
    for file in FILES:
        head = re.match(r"(#.*\n)*", file.read_text(encoding="utf-8"))
        assert head is not None
        text = re.sub(r"^# ?", "", head[0], flags=re.MULTILINE).replace("\\\n", " ")
        lines = [line.strip() for line in text.splitlines()]
        found += [Command(file, shlex.split(line)[1:]) for line in lines if line.startswith("longdoc ")]
    return [command for command in found if command.values("--config")]


COMMANDS = commands()
TRAINED = [command for command in COMMANDS if command.words[0] == "train" and command.values("--validation")]
named = [command.file.name for command in TRAINED]


@pytest.mark.parametrize("command", COMMANDS, ids=[f"{c.words[0]}-{c.file.name}" for c in COMMANDS])
def test_a_command_names_its_own_file_and_loads(command: Command) -> None:
    assert command.values("--config") == [f"configs/{command.file.name}"]
    command.config()


def test_every_task_has_a_file_that_says_how_it_is_run() -> None:
    trained = {command.config().model.task for command in TRAINED}
    assert {"single_label", "multi_label", "regression", "ordinal", "spans"} <= trained
    assert "embed" in {command.words[0] for command in COMMANDS}


@pytest.mark.parametrize("command", TRAINED, ids=named)
def test_the_corpus_of_a_command_fits_its_task(command: Command, shared_folder: Path) -> None:
    config = command.config()
    task = task_named(config.model.task)
    (path,) = command.values("--validation")
    data = shared_folder.parent / path.removeprefix("../")
    if not data.is_file():
        pytest.skip(f"{path} is not beside this checkout")
    documents = load_labelled([data], config.read)
    task.check_gold(documents, config.model.labels)
    labels = config.model.labels or task.collect_labels(documents)
    assert task.classes(labels, task.settle(config.model.readout, documents)) >= 1


@pytest.mark.parametrize("command", [c for c in COMMANDS if c.values("--input")], ids=lambda c: c.file.name)
def test_an_input_of_a_command_can_be_read(command: Command, shared_folder: Path) -> None:
    for path in command.values("--input"):
        if path.startswith("../shared/"):
            first = next(iter(read_documents([shared_folder.parent / path.removeprefix("../")], command.config().read)))
            assert first.document.id
