"""What a first hour stumbles on: one message each, whole, with the next step in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from click.testing import Result

from longdoc.cli import common
from longdoc.readers import extras, html
from longdoc.readers.sandbox import Sandbox
from longdoc.training.steps import Stepper

Run = Callable[..., Result]
TINY = Path(__file__).parents[3] / "configs" / "debug_tiny.yaml"


def write(path: Path, *rows: dict[str, object]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("predict", "--input"), "`{path}` must be a model folder, but there is no such folder. Check the path."),
        (("evaluate", "--data"), "`{path}` must be a model folder, but there is no such folder. Check the path."),
        (("explain", "--input"), "`{path}` must be a model folder, but there is no such folder. Check the path."),
    ],
)
def test_no_model_at_that_path(run: Run, data: Path, tmp_path: Path, command: tuple[str, str], said: str) -> None:
    missing = tmp_path / "runs" / "mien"
    output = tmp_path / ("out.html" if command[0] == "explain" else "out")
    shown = run(command[0], "--model", missing, command[1], data, "--output", output, expect=2)
    assert shown.output == f"longdoc: {said.format(path=missing)}\n"
    assert not output.exists()


def test_the_embedded_encoder_is_no_model_that_answers(run: Run, data: Path, tmp_path: Path) -> None:
    for command, option, output in (("predict", "--input", "out"), ("explain", "--input", "out.html")):
        shown = run(command, "--model", "default", option, data, "--output", tmp_path / output, expect=2)
        assert shown.output.startswith("longdoc: `default` is the embedded encoder, which has no head and answers ")


def test_a_wrong_column(run: Run, tmp_path: Path) -> None:
    (tmp_path / "letters.csv").write_text("id,body,kind\n1,the rent is due,lease\n")
    shown = run("inspect", "lengths", "--input", tmp_path / "letters.csv", expect=2)
    assert shown.output == (
        "longdoc: letters.csv has no column `text`. Columns found: `id`, `body`, `kind`. Name the column that holds "
        "the documents in `read.fields.text`.\n"
    )


def test_a_label_column_that_is_called_otherwise(run: Run, tmp_path: Path) -> None:
    (tmp_path / "letters.csv").write_text("id,text,kind\n1,the rent is due,lease\n2,thanks,letter\n")
    shown = run("train", "--config", TINY, "--data", tmp_path / "letters.csv", "--output", tmp_path / "m", expect=2)
    assert shown.output.splitlines()[1:] == [
        "longdoc: not one of 2 documents has a label, from letters.csv:2 on. Beside its text the first has `kind`. "
        "Name the one that holds the label: --set read.fields.label=kind (`labels`, `target`, `spans`, or `question` "
        "and `answers` for other tasks)."
    ]


def test_a_typo_in_a_label(run: Run, model: Path, tmp_path: Path) -> None:
    rows = write(
        tmp_path / "test.jsonl",
        {"id": "a", "text": "x", "label": "contract"},
        {"id": "b", "text": "x", "label": "leter"},
    )
    shown = run("evaluate", "--model", model, "--data", rows, "--output", tmp_path / "out", expect=2)
    assert shown.output == (
        "longdoc: the model must know every label of the evaluation documents, but 1 of 2 has a label that is not "
        "among its 3 (1 different one; test.jsonl:2). Is it a typo? Correct the data, "
        "or train a model with these labels.\n"
    )


def test_a_missing_extra(run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    monkeypatch.setattr(Sandbox, "parse", lambda self, parser, data, settings: html.parse(data, settings))
    (tmp_path / "letter.html").write_text("<p>the rent is due</p>")
    shown = run(
        "predict", "--model", model, "--input", tmp_path / "letter.html", "--output", tmp_path / "out", expect=3
    )
    assert shown.output.splitlines()[0] == (
        "longdoc: Reading this file needs the package selectolax, which is not installed. Run: pip install "
        '"longdoc[html]"'
    )


def test_what_a_look_at_the_lengths_could_not_read(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing package, a wrong encoding and an empty file: "none has a token" alone helps nobody."""
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    monkeypatch.setattr(Sandbox, "parse", lambda self, parser, data, settings: html.parse(data, settings))
    for name in ("a.html", "b.html"):
        (tmp_path / name).write_text("<p>the rent is due</p>")
    (tmp_path / "c.csv").write_bytes("text\ncafé\n".encode("cp1252"))
    (tmp_path / "d.parquet").write_bytes(b"")
    shown = run("inspect", "lengths", "--input", tmp_path, expect=2)
    assert shown.output.splitlines() == [
        "longdoc: 2 unreadable (unsupported_type, Reading this file needs the package selectolax, which is not "
        'installed. Run: pip install "longdoc[html]")',
        "longdoc: 1 unreadable (decode_error, c.csv:2: Line 2 does not fit the encoding utf-8 at position 3. Set "
        "`read.encoding`, for example to `cp1252`, if you know it.)",
        "longdoc: 1 unreadable (unreadable, d.parquet:1: The file has 0 bytes, so it is no Parquet file. Write it "
        "anew.)",
        "longdoc: `--input` must hold at least 1 document with text, but none of 4 has a token.",
    ]


@pytest.mark.parametrize("command", ["train", "predict", "evaluate", "inspect lengths"])
def test_a_table_of_a_header_alone(run: Run, model: Path, tmp_path: Path, command: str) -> None:
    (tmp_path / "letters.csv").write_text("id,text,label\n")
    named = "--data" if command in ("train", "evaluate") else "--input"
    own = ("--config", TINY) if command == "train" else ("--model", model)
    output = () if "lengths" in command else ("--output", tmp_path / "out")
    shown = run(*command.split(), *own, named, tmp_path / "letters.csv", *output, expect=2)
    assert shown.output.splitlines()[-1] == (
        f"longdoc: `{'data.train' if command == 'train' else named}` must hold at least 1 document, but holds none. "
        "Name other files, or look whether these are empty: a table needs a row below its header."
    )


@pytest.mark.slow
def test_too_little_memory(run: Run, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(self: Stepper, step: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20 GiB.")

    monkeypatch.setattr(Stepper, "_try", never)
    shown = run("train", "--config", TINY, "--data", data, "--output", tmp_path / "m", expect=2)
    assert shown.output.splitlines()[1:] == [
        "longdoc: a step does not fit into memory, with one chunk of 32 tokens at a time. Lower "
        "`training.per_device_train_batch_size` or `chunking.size`, or free memory."
    ]


@pytest.mark.parametrize(("rank", "waited"), [("0", []), ("1", [8.0])])
def test_other_processes_of_a_launch_leave_the_word_to_the_first(
    run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rank: str, waited: list[float]
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(common.time, "sleep", slept.append)
    monkeypatch.setenv("RANK", rank)
    told = run("train", "--data", tmp_path / "none.jsonl", "--output", tmp_path / "out", expect=2).output
    assert told.startswith("longdoc: ")
    assert slept == waited
