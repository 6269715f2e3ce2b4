"""How people call a pipeline, and how they should not: answered at once, in one sentence."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch

from longdoc.api import build_pipeline
from longdoc.checkpoints.native import SUPERSEDED_FILES
from longdoc.config import load_config
from longdoc.errors import ConfigurationError, UsageError
from longdoc.pipeline import Pipeline
from longdoc.types import Document, DocumentFailure
from task_kit import TASK_WORDS

TEXT = "the contract ends in may"


@pytest.mark.parametrize("method", ["predict", "stream", "stream_rows", "stream_with_evidence"])
@pytest.mark.parametrize(
    ("given", "message"),
    [
        (TEXT, "`documents` must be a list of texts or documents, but is a single one. Wrap it in a list."),
        (
            Document(id="a", text=TEXT),
            "`documents` must be a list of texts or documents, but is a single one. Wrap it in a list.",
        ),
        ({"text": TEXT}, "`documents` must be a list of texts or documents, but is a single one. Wrap it in a list."),
        (None, "`documents` must be a list of texts or documents, but is NoneType instead."),
        (3, "`documents` must be a list of texts or documents, but is int instead."),
    ],
)
def test_what_is_no_list_is_refused_at_once(tiny_pipeline: Pipeline, method: str, given: Any, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        getattr(tiny_pipeline, method)(given)  # a stream must not wait for the first answer to say so
    assert str(caught.value) == message


def test_an_item_that_is_no_document_is_named_by_its_number(tiny_pipeline: Pipeline) -> None:
    with pytest.raises(UsageError, match=r"^a document must be a string or a Document, but item 1 is int instead\.$"):
        tiny_pipeline.predict([TEXT, 5])  # type: ignore[list-item]


def test_a_document_may_be_called_like_a_text(tiny_pipeline: Pipeline) -> None:
    assert tiny_pipeline(Document(id="a", text=TEXT)) == tiny_pipeline(TEXT)
    assert len(tiny_pipeline([Document(id="a", text=TEXT), TEXT], top_k=2)[1]) == 2
    with pytest.raises(UsageError, match="but is NoneType instead"):
        tiny_pipeline(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("top_k", [0, -1, True, 1.5])
def test_top_k_counts_labels(tiny_pipeline: Pipeline, top_k: Any) -> None:
    with pytest.raises(UsageError, match=r"^`top_k` must be at least 1, or None for all labels, but is not\.$"):
        tiny_pipeline(TEXT, top_k=top_k)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"labels": "yes"}, "`labels` must be a list of names, but is one string. Pass labels=['yes', 'no']."),
        ({"labels": ["a", "a"]}, "`labels` must be distinct, but 1 of them come again."),
        (
            {"labels": ["a", "b"], "chunking": {"size": 1024, "overlap": 128}},
            "`chunking.size` must be at most 512, the positions that this encoder knows, but is 1024 instead. "
            "Lower it, or choose a position encoding that extends.",
        ),
        (
            {"labels": ["a", "b"], "task": "ranking"},
            f"`task` must be {TASK_WORDS}, but is not.",
        ),
        ({"labels": ["a", "b"], "chunk": {}}, "`chunk` is not a configuration key. Did you mean `chunking`?"),
    ],
)
def test_a_start_that_cannot_work_is_refused(minilm_folder: Path, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        Pipeline.from_checkpoint(minilm_folder, **arguments)
    assert message in str(caught.value)


def test_chunks_longer_than_an_encoder_from_scratch_reads_are_refused() -> None:
    position = "model.encoder={width: 8, layers: 1, heads: 1, max_len: 40, position: {kind: learned}}"
    config = load_config(overrides=[position, "chunking={size: 41, overlap: 8}"])
    with pytest.raises(ConfigurationError, match=r"^`chunking.size` must be at most 40, .* but is 41 instead\."):
        build_pipeline(config, ("a", "b"))


def test_a_document_that_the_tokenizer_does_not_know_says_how_much_of_it(tiny_pipeline: Pipeline) -> None:
    strange = "\U0001f9ff\U0001faac" * 30
    (result,) = tiny_pipeline.predict([strange])
    assert isinstance(result, DocumentFailure)
    assert (result.reason, result.stage) == ("unreadable", "tokenize")
    assert result.detail == (
        "100.0% of the characters lie under tokens that the tokenizer does not know; `prediction.max_unknown_share` "
        "allows 90.0%."
    )


# -- saving


def copy_of(pipeline: Pipeline, labels: tuple[str, ...] | None = None) -> Pipeline:
    settings = pipeline.settings
    if labels is not None:
        settings = settings.model_copy(update={"labels": labels})
    return Pipeline(pipeline.model, settings, pipeline.tokenizer, pipeline.prediction)


def test_saving_over_another_model_is_refused_and_leaves_it_whole(tiny_pipeline: Pipeline, tmp_path: Path) -> None:
    copy_of(tiny_pipeline, ("x", "y", "z")).save(tmp_path / "theirs", "their card")
    before = {path.name: path.read_bytes() for path in (tmp_path / "theirs").iterdir()}
    refused = re.escape(f"`output` must be a new folder, but {tmp_path / 'theirs'} holds a model already")
    with pytest.raises(UsageError, match=f"^{refused}"):
        copy_of(tiny_pipeline).save(tmp_path / "theirs")
    assert {path.name: path.read_bytes() for path in (tmp_path / "theirs").iterdir()} == before

    copy_of(tiny_pipeline).save(tmp_path / "theirs", overwrite=True)
    assert Pipeline.load(tmp_path / "theirs").labels == tiny_pipeline.labels


def test_a_model_in_the_place_of_another_is_that_of_a_new_folder(tiny_pipeline: Pipeline, tmp_path: Path) -> None:
    copy_of(tiny_pipeline).save(tmp_path / "new")
    copy_of(tiny_pipeline).save(tmp_path / "old")
    for name in SUPERSEDED_FILES:
        if "*" not in name:
            (tmp_path / "old" / name).write_text("of another model")
    (tmp_path / "old" / "model-00001-of-00002.safetensors").write_text("of another model")
    copy_of(tiny_pipeline).save(tmp_path / "old", overwrite=True)
    new, old = ({p.name: p.read_bytes() for p in (tmp_path / folder).iterdir()} for folder in ("new", "old"))
    assert old == new
    assert Pipeline.load(tmp_path / "old").fingerprint == Pipeline.load(tmp_path / "new").fingerprint


def test_a_model_may_be_saved_where_it_came_from_and_keeps_its_card(tiny_pipeline: Pipeline, tmp_path: Path) -> None:
    first = copy_of(tiny_pipeline)
    first.save(tmp_path / "model", "# What it is\n")
    first.save(tmp_path / "model")
    assert (tmp_path / "model" / "README.md").read_text() == "# What it is\n"
    again = Pipeline.load(tmp_path / "model")
    with torch.no_grad():
        again.save(tmp_path / "model")
        again.save(tmp_path / "copy")
    assert (tmp_path / "model" / "README.md").read_text() == "# What it is\n"
    assert (tmp_path / "copy" / "README.md").read_text() == "# What it is\n", "a card travels with its model"
