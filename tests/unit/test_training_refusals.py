"""Training is refused before anything is started, has its folder to itself, and says what it left out."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import longdoc as library
from longdoc.api import train_with_report
from longdoc.errors import LongDocError, UsageError
from longdoc.files import only_writer
from longdoc.training.progress import TrainingProgress
from longdoc.types import Document

CONFIG = Path(__file__).parents[2] / "configs" / "debug_tiny.yaml"
STRANGE = "\U0001f9ff\U0001faac" * 30

pytestmark = pytest.mark.usefixtures("minilm_folder")


def documents(count: int = 6, first: int = 0) -> list[Document]:
    return [
        Document(id=str(n), text=f"{['the cat', 'a tree'][n % 2]} {n} " * 5, label="ab"[n % 2])
        for n in range(first, first + count)
    ]


def fit(
    folder: Path,
    *overrides: str,
    train: Sequence[Document] | None = None,
    validation: Sequence[Document] = (),
    progress: Any = None,
) -> tuple[library.Pipeline, Any]:
    config = library.load_config(CONFIG, ["training.num_train_epochs=1", *overrides])
    return train_with_report(
        config,
        folder,
        train_documents=documents() if train is None else train,
        validation_documents=validation,
        progress=progress,
    )


@pytest.mark.parametrize(
    ("overrides", "validation", "message"),
    [
        (
            ["model.labels=[a,b]"],
            [Document(id="v", text="the cat", label="Mr Smith is ill")],
            "`model.labels` must name every label of the validation documents, but 1 of 1 has a label that is not "
            "among its 2 (1 different one; number 1). Is it a typo? Correct the data, or name them too.",
        ),
        (
            [],
            [Document(id="v", text=" \n ", label="a"), Document(id="w", text=STRANGE, label="b")],
            "validation needs at least 1 document that can be answered, but none of 2 can: 1 empty, 1 unreadable.",
        ),
        (
            ["model.task=regression", "model.labels=[x,y]"],
            [],
            "`model.labels` must be null or name 1 number for a regression, but names 2 instead. For classes set "
            "`model.task`.",
        ),
        (
            ["model.labels=[a]"],
            [],
            "`model.labels` must name at least 2 labels for the task single_label, but names 1. With `model.task: "
            "multi_label` a document may have it or not.",
        ),
        (
            ["training.decisions.coverage=0.9"],
            [],
            "`training.decisions.coverage` is 0.9, but there is no validation document to fit it on. Pass "
            "`--validation`, or set it to null.",
        ),
    ],
)
def test_nothing_is_started_where_documents_and_settings_do_not_fit(
    overrides: list[str], validation: list[Document], message: str, tmp_path: Path
) -> None:
    steps: list[TrainingProgress] = []
    with pytest.raises(LongDocError) as caught:
        fit(tmp_path / "run", *overrides, validation=validation, progress=steps.append)
    assert str(caught.value) == message
    assert steps == []
    assert not (tmp_path / "run").exists()


def test_a_constant_target_cannot_choose_an_epoch_by_r2(tmp_path: Path) -> None:
    same = [Document(id=str(n), text=f"the cat {n}", target=1.0) for n in range(3)]
    with pytest.raises(LongDocError, match=r"^`training.metric_for_best_model: r2` needs validation documents with"):
        fit(tmp_path / "run", "model.task=regression", "training.metric_for_best_model=r2", train=same, validation=same)
    assert not (tmp_path / "run").exists()


def test_training_documents_of_which_none_can_be_read_are_refused(tmp_path: Path) -> None:
    blank = [Document(id=str(n), text=" ", label="ab"[n % 2]) for n in range(3)]
    with pytest.raises(LongDocError) as caught:
        fit(tmp_path / "run", train=blank)
    assert str(caught.value) == (
        "training needs at least 1 document that can be read, but none of 3 can: 3 empty. The first of them: The text "
        "must have something to read, but has 1 character, white space or invisible. Leave the document out, or "
        "look at how it was read."
    )
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("freeze", ["[]", "[encoder]"])
def test_what_would_not_be_answered_is_not_learned_from_and_counted(freeze: str, tmp_path: Path) -> None:
    odd = [Document(id="blank", text=" ", label="a"), Document(id="strange", text=STRANGE, label="b")]
    given = documents(3) + odd + documents(3, first=3)
    asked = documents(2, 50) + [replace(document, id=f"another {document.id}") for document in odd]
    _, report = fit(tmp_path / "run", f"training.freeze={freeze}", train=given, validation=asked)
    assert report.train_documents == 6
    assert (report.empty_documents, report.unreadable_documents) == (1, 1)
    assert report.unanswered_validation == 2
    card = (tmp_path / "run" / "README.md").read_text()
    assert "left out: 1 without a\ntoken, 1 that the tokenizer hardly knows" in card
    assert "4 documents, 2 without an answer" in card


def test_a_second_run_into_a_folder_is_refused_while_the_first_is_at_work(tmp_path: Path) -> None:
    with (
        only_writer(tmp_path / "run"),
        pytest.raises(UsageError, match=r"^`output` must be a folder that no other run"),
    ):
        fit(tmp_path / "run")
    tried: list[str] = []

    def try_too(progress: TrainingProgress) -> None:
        if not tried:
            with pytest.raises(UsageError) as caught:
                fit(tmp_path / "run")
            tried.append(str(caught.value))

    fit(tmp_path / "run", progress=try_too)
    assert len(tried) == 1
    assert library.Pipeline.load(tmp_path / "run").labels == ("a", "b")
    with pytest.raises(UsageError, match="holds a model already"):
        fit(tmp_path / "run")


def test_an_imported_encoder_is_not_trained_over(tmp_path: Path) -> None:
    (tmp_path / "encoder").mkdir()
    (tmp_path / "encoder" / "model.safetensors").write_bytes(b"weights of somebody")
    with pytest.raises(UsageError, match=r"holds a model already \(model.safetensors\)"):
        fit(tmp_path / "encoder")
    assert (tmp_path / "encoder" / "model.safetensors").read_bytes() == b"weights of somebody"


def test_a_file_is_no_folder_to_train_into(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UsageError, match=r"^`output` must be a folder, but .*file is a file\. Name another folder\.$"):
        fit(tmp_path / "file")


def test_the_card_of_a_model_from_scratch_names_no_checkpoint_that_it_started_from(tmp_path: Path) -> None:
    pipeline, _ = fit(tmp_path / "run")
    card = (tmp_path / "run" / "README.md").read_text()
    assert (
        "Encoder: trained from scratch, 1 layer of width 32, positions sinusoidal, with the tokenizer of `default`.\n"
        in card
    )
    assert "6 documents, 1 epoch, 2 optimiser steps" in card
    assert pipeline.settings.source == ""


def test_without_a_folder_the_model_is_returned_and_nothing_kept(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    config = library.load_config(CONFIG, ["training.num_train_epochs=1"])
    pipeline = library.train(config, train_documents=documents())
    assert list(tmp_path.iterdir()) == []
    pipeline.save(tmp_path / "model")
    assert library.Pipeline.load(tmp_path / "model").labels == ("a", "b")


def test_the_resolved_configuration_says_what_was_used(tmp_path: Path) -> None:
    fit(tmp_path / "run")
    resolved = library.load_config(tmp_path / "run" / "config.resolved.yaml")
    assert resolved.model.labels == ("a", "b")
    assert resolved.chunking.size == 32


def test_what_is_doubtful_is_said_before_the_first_step(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "longdoc"):
        fit(tmp_path / "run", validation=documents(2))
    assert [record.getMessage() for record in caplog.records if record.name == "longdoc.api"] == [
        "2 validation documents of 2 have the text of a training document (numbers 1, 2): the measured quality will "
        "be too good."
    ]


def test_a_run_that_starts_over_does_not_keep_the_best_epoch_of_another(tmp_path: Path) -> None:
    best = tmp_path / "run" / "checkpoints" / "best"
    best.mkdir(parents=True)
    (best / "README.md").write_text("of an earlier run")
    (tmp_path / "run" / "config.resolved.yaml").write_text("{}")
    seen: list[bool] = []
    fit(tmp_path / "run", validation=documents(2, 50), progress=lambda _: seen.append((best / "README.md").exists()))
    assert not seen[0]
    assert json.loads((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()[0])["step"] == 1
