"""What is written must lie apart from what is read, whichever command does it."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from longdoc.apart import check_apart
from longdoc.api import pretrain, train
from longdoc.cli import app
from longdoc.errors import UsageError


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with letters in two folders and a link to one of them."""
    monkeypatch.chdir(tmp_path)
    for name in ("letters/a.txt", "letters/old/b.txt", "models/mine/config.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}")
    (tmp_path / "link").symlink_to("letters")
    return tmp_path


@pytest.mark.parametrize(
    ("output", "given", "relation"),
    [
        ("letters", "letters", "is"),
        ("letters/.", "letters", "is"),
        ("link", "letters", "is"),
        ("letters", "link", "is"),
        ("letters/out", "letters", "lies in"),
        ("letters/old/new/out", "letters", "lies in"),
        ("link/out", "letters", "lies in"),
        ("letters/out", "link", "lies in"),
        ("models", "models/mine", "holds"),
        (".", "models/mine", "holds"),
        ("letters", "letters/a.txt", "holds"),
        ("letters/a.txt", "letters/a.txt", "is"),
        ("letters", "letters/*.txt", "holds what matches"),
        ("letters/out", "letters/**/*.txt", "may match"),
        ("letters/out", "letters/*/*.txt", "may match"),
        ("letters/out/deep", "letters/o*", "may match"),
        (".", "*/a.txt", "holds what matches"),
    ],
)
def test_an_output_amid_the_inputs_is_refused(output: str, given: str, relation: str, here: Path) -> None:
    message = (
        f"`output` must lie apart from what `--input` names, but {Path(output)} {relation} {given}. Name another "
        "place, beside it."
    )
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        check_apart(Path(output), {"--input": ["elsewhere.txt", given]})
    with pytest.raises(UsageError, match=f" {relation} "):
        check_apart(here / output, {"--input": [here / given]})


@pytest.mark.parametrize(
    ("output", "given"),
    [
        ("out", "letters"),
        ("letters-out", "letters"),
        ("letters/out", "letters/*.txt"),
        ("letters/out", "letters/a.txt"),
        ("letters/old/out", "letters/new/**/*.txt"),
        ("out", "*.txt"),
        ("out", "models/mine"),
        ("models/new", "models/mine"),
        ("default", "default"),
        ("hf:owner/name", "hf:owner/name"),
        ("out", "not/there"),
        ("letters/[1]", "letters/a.txt"),
    ],
)
def test_an_output_beside_them_is_not(output: str, given: str, here: Path) -> None:
    check_apart(Path(output), {"--input": [given]})


def test_two_names_of_one_folder_are_one(here: Path) -> None:
    """Even where resolving links does not show it, as with a folder that is mounted twice."""
    if not os.path.samefile("letters", "link"):  # noqa: PTH121
        pytest.skip("no links here")
    check_apart(here / "other", {"--model": [here / "models" / "mine"]})
    check_apart(here / "models" / "mine" / "test", {"--model": ["models/mine"]}, homes=("--model",))
    with pytest.raises(UsageError, match=r"but .* is models/mine"):
        check_apart(here / "models" / "mine", {"--model": ["models/mine"]}, homes=("--model",))
    with pytest.raises(UsageError, match="lies in"):
        check_apart(here / "link" / ".." / "models" / "mine" / "x", {"--model": ["models/mine"]})


INPUT = ("--input", "letters")
COMMANDS: dict[str, tuple[tuple[str, ...], str]] = {
    "predict": (("predict", "--model", "models/mine", *INPUT, "--output", "letters/out"), "lies in letters"),
    "predict, its model": (("predict", "--model", "models/mine", *INPUT, "--output", "models"), "holds models/mine"),
    "embed": (("embed", "--model", "models/mine", *INPUT, "--output", "letters"), "is letters"),
    "explain": (("explain", "--model", "default", *INPUT, "--output", "letters/r.html"), "lies in letters"),
    "import": (("import-checkpoint", "models/mine", "models/mine/copy"), "lies in models/mine"),
    "train": (("train", "--data", "letters", "--output", "letters/run"), "lies in letters"),
    "train, its source": (
        ("train", "--data", "letters", "--set", "model.source=models/mine", "--output", "models"),
        "holds models/mine",
    ),
    "pretrain": (("train", "--pretrain", "--data", "letters/**/*", "--output", "letters/run"), "may match letters/**"),
    "compare": (("compare", "--data", "letters", "--validation", "link", "--output", "letters"), "is letters"),
    "positions": (("compare", "--positions", "--data", "letters", "--output", "letters/old"), "lies in letters"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_refuses_it_and_writes_nothing(command: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("longdoc.cli.trained.settled", lambda config, model: config)  # there is no model to open
    before = sorted(here.rglob("*"))
    arguments, said = COMMANDS[command]
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == 2, result.output
    assert "must lie apart from what `" in result.output
    assert f" {said}" in result.output
    assert sorted(here.rglob("*")) == before


def test_evaluate_refuses_it_too(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("longdoc.cli.trained.settled", lambda config, model: config)
    result = CliRunner().invoke(
        app, ["evaluate", "--model", "models/mine", "--data", "letters", "--output", "letters/metrics"]
    )
    assert result.exit_code == 2
    assert result.output == (
        "longdoc: `output` must lie apart from what `--data` names, but letters/metrics lies in letters. Name another "
        "place, beside it.\n"
    )


def test_from_python_what_is_given_is_not_read(here: Path) -> None:
    config = {"data": {"train": ["letters"]}, "model": {"source": "models/mine"}}
    for run in (train, pretrain):
        with pytest.raises(UsageError, match=r"but letters/run lies in letters\."):
            run(config, "letters/run")
        with pytest.raises(UsageError, match=r"`model\.source` names, but models holds models/mine\."):
            run(config, "models", train_documents=[])
