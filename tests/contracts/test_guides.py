"""Pages for people: their links lead somewhere, their commands are understood, and the guides do what they say."""

from __future__ import annotations

import json
import re
import shlex
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import torch
import typer.main
from pydantic import ValidationError
from typer.testing import CliRunner

from longdoc.cli import app
from longdoc.config import load_config
from longdoc.model import LongDocModel
from longdoc.nn.readout import TokensReadoutConfig
from longdoc.pipeline import Pipeline

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())


def blocks(page: Path, *languages: str) -> list[str]:
    """The code blocks of a page in these languages; an empty word for those without any."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [text for language, text in found if language in languages]


def anchors(page: Path) -> set[str]:
    """What the headings of a page are called in links, as hubs of code make them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    found: set[str] = set()
    for heading in re.findall(r"^#+ +(.*)$", text, re.MULTILINE):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        name = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        number, whole = 0, name
        while whole in found:
            number += 1
            whole = f"{name}-{number}"
        found.add(whole)
    return found


@every_page
def test_every_link_leads_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", text)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), target
        assert not anchor or anchor in anchors(there), target


def test_the_index_names_every_guide() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"\]\(([\w-]+\.md)\)", index))
    assert named == {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}


def commands(page: Path) -> Iterator[list[str]]:
    """The command lines of longdoc on a page, without what is only shown."""
    for block in blocks(page, "sh", "bash", ""):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] == ["longdoc"] and "..." not in words and "|" not in words:
                yield words[1 : words.index(">") if ">" in words else None]


@every_page
def test_every_command_is_understood(page: Path) -> None:
    """Options exist, files of ours exist, and settings are keys with values that they may have."""
    for words in commands(page):
        command: Any = typer.main.get_command(app)
        rest = words
        while hasattr(command, "commands") and rest and rest[0] in command.commands:
            command, rest = command.commands[rest[0]], rest[1:]
        if not hasattr(command, "commands"):
            command.make_context("longdoc", list(rest), resilient_parsing=False)
        files = [rest[n + 1] for n, word in enumerate(rest) if word == "--config"]
        ours = [file for file in files if file.startswith("configs/")]
        settings = [rest[n + 1] for n, word in enumerate(rest) if word == "--set"]
        if words[:2] != ["inspect", "positions"]:
            load_config(ROOT / ours[0] if ours else None, [setting.replace("$seed", "0") for setting in settings])


def execute(page: str, names: dict[str, Any]) -> dict[str, Any]:
    """Run the Python blocks of a page, one after the other."""
    for block in blocks(ROOT / "docs" / page, "python"):
        exec(compile(block, page, "exec"), names)
    return names


def longdoc(words: list[str]) -> str:
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, f"{' '.join(words)}: {done.output}"
    return done.output


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
@pytest.mark.usefixtures("minilm_folder")
def test_the_first_hour(here: Path) -> None:
    texts = {
        "lease": "the tenant shall pay the rent to the landlord ",
        "letter": "dear friend many thanks for the cake ",
    }
    rows = [f"n{kind}{n},{text * (3 + n)},{kind}\n" for n in range(12) for kind, text in texts.items()]
    (here / "letters.csv").write_text("number,body,kind\n" + "".join(rows))
    page = ROOT / "docs" / "first-hour.md"
    (settings,) = blocks(page, "yaml")
    (here / "letters.yaml").write_text(settings)
    steps = list(commands(page))
    shown = [longdoc(words) for words in steps[:2]]
    assert "24 documents" in shown[0]
    assert 'text: "body"  # letters.yaml' in shown[1]
    execute("first-hour.md", {})
    for words in steps[2:]:
        longdoc(words)
    assert "The mean accuracy is 1.000" in (here / "runs" / "letters-test" / "report.html").read_text()
    assert (here / "runs" / "letters" / "curves.svg").is_file()
    metrics = json.loads((here / "runs" / "letters-test" / "metrics.json").read_text())
    assert metrics["accuracy"] == 1.0, "rent and cake are easily told apart"
    assert len((here / "answers.csv").read_text().splitlines()) == 25


def test_the_guide_to_deidentification(tiny_pipeline: Pipeline, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With a model that takes every word for a city: nothing is missed then."""
    config = TokensReadoutConfig(overlapping=False)
    readout = config.build(tiny_pipeline.model.encoder.config.width, 5)
    with torch.no_grad():
        readout.head.output.bias.copy_(torch.tensor([0.0, 9.0, 0.0, 0.0, 0.0]))
    settings = tiny_pipeline.settings.model_copy(
        update={"task": "spans", "labels": ("CITY", "PERSON"), "readout": config}
    )
    pipe = Pipeline(LongDocModel(tiny_pipeline.model.encoder, readout), settings, tiny_pipeline.tokenizer)
    pipe.save(here / "runs" / "private")
    (here / "runs" / "private-test").mkdir()
    rows = [
        {"id": "a", "text": "Ada met Bob", "spans": [{"start": 0, "end": 3, "label": "PERSON"}]},
        {"id": "b", "text": "Ada met Bob", "spans": [{"start": 0, "end": 3, "label": "PERSON"}]},
    ]
    found = [rows[0], {"id": "b", "spans": [{"start": 1, "end": 3, "label": "PERSON"}]}]
    (here / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    answers = here / "runs" / "private-test" / "predictions.jsonl"
    answers.write_text("".join(json.dumps(row) + "\n" for row in found))
    with patch("builtins.open", _open_and_close()):
        names = execute("deidentification.md", {})
    assert set(re.findall(r"\w+", names["clean"])) == {"CITY"}
    assert capsys.readouterr().out == "1 of 2 documents without a miss\n"


def _open_and_close() -> Callable[..., Any]:
    """`open` for blocks that leave closing to Python, whose warnings are errors here."""
    return lambda path, *_, **__: iter(Path(path).read_text(encoding="utf-8").splitlines(keepends=True))


@pytest.mark.slow
def test_the_service(tiny_pipeline: Pipeline, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a stand-in for FastAPI: what it would call, called."""
    Pipeline(tiny_pipeline.model, tiny_pipeline.settings, tiny_pipeline.tokenizer).save(here / "runs" / "mine")

    class HTTPException(Exception):  # noqa: N818 - its name there
        pass

    class FastAPI:
        def post(self, path: str) -> Callable[[Any], Any]:
            return lambda handler: handlers.setdefault(path, handler)

        def exception_handler(self, kind: Any) -> Callable[[Any], Any]:
            return self.post(kind)

    handlers: dict[str, Any] = {}
    stand_in: Any = types.ModuleType("fastapi")
    stand_in.FastAPI, stand_in.HTTPException = FastAPI, HTTPException
    exceptions: Any = types.ModuleType("fastapi.exceptions")
    exceptions.RequestValidationError = "refused"
    responses: Any = types.ModuleType("fastapi.responses")
    responses.JSONResponse = lambda content, status_code: (status_code, content)
    for each in (stand_in, exceptions, responses):
        monkeypatch.setitem(sys.modules, each.__name__, each)
    module: Any = types.ModuleType("service_of_the_page")
    monkeypatch.setitem(sys.modules, "service_of_the_page", module)  # pydantic looks up names there
    module.__dict__["__name__"] = "service_of_the_page"
    names = execute("service.md", module.__dict__)
    answered = handlers["/answers"](names["Letter"](text="the tenant shall pay the rent " * 20))
    assert answered["label"] in tiny_pipeline.labels
    assert answered["read"] == answered["of"] == 120
    with pytest.raises(HTTPException) as refused:
        handlers["/answers"](names["Letter"](text=" "))
    assert refused.value.args == (422, "no answer: empty")
    assert not names["one_at_a_time"].locked()
    with pytest.raises(ValidationError, match="at most 500000 characters") as too_long:
        names["Letter"](text="x" * 500_001)
    said = "String should have at most 500000 characters"
    assert handlers["refused"](None, too_long.value) == (422, {"detail": [{"loc": ("text",), "msg": said}]})
