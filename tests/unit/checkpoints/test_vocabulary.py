"""Tokenizer and encoder must belong together, by whichever door they come in."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from family_kit import reconfigure, saved, their_model
from longdoc.api import pretrain, train
from longdoc.checkpoints import load_encoder
from longdoc.checkpoints.classifiers import load_classifier
from longdoc.checkpoints.native import load_model, save_model
from longdoc.checkpoints.vocabulary import check_vocabulary, read_tokenizer
from longdoc.embedding import open_embedder
from longdoc.errors import CheckpointError
from longdoc.model import LongDocModel
from longdoc.pipeline import Pipeline
from longdoc.study.model_description import describe_model
from longdoc.text.tokenizing import DocumentTokenizer
from nn_kit import tiny_config
from tokenizer_kit import RAW, toy, wrapped

TOKENS = wrapped("byte_level").vocab_size


def added(kind: str, *tokens: dict[str, Any], settings: dict[str, Any] | None = None) -> DocumentTokenizer:
    """A tokenizer with tokens added to it after it was trained."""
    state = json.loads(RAW[kind]().to_str())
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
    state["added_tokens"] += [plain | token for token in tokens]
    return DocumentTokenizer(json.dumps(state), settings)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A classifier that transformers saved, of 60 words, beside a tokenizer of hundreds."""
    path = saved(their_model("bert", "classifier", num_hidden_layers=1), tmp_path_factory.mktemp("vocabulary"))
    wrapped("byte_level").save(path)
    return path


def native(folder: Path, output: Path) -> Path:
    """The same as a model folder of ours."""
    model, settings = load_classifier(folder)
    save_model(output / "ours", model, settings, wrapped("byte_level"))
    return output / "ours"


def assembled(folder: Path, output: Path) -> object:
    """An encoder, loaded alone, and a tokenizer, put together by hand."""
    model, settings = load_classifier(folder)
    return Pipeline(LongDocModel(load_encoder(folder), model.readout), settings, wrapped("byte_level"))


CONFIG = {"chunking": {"size": 16, "overlap": 0}}
ROWS = [{"id": "1", "text": "a letter", "label": "LABEL_0"}, {"id": "2", "text": "a notice", "label": "LABEL_1"}]


def written(output: Path) -> str:
    path = output / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return str(path)


def sourced(folder: Path, output: Path) -> dict[str, Any]:
    return CONFIG | {"model": {"source": str(folder)}, "data": {"train": [written(output)]}}


DOORS: dict[str, Callable[[Path, Path], object]] = {
    "classifier": lambda folder, output: load_model(folder),
    "native": lambda folder, output: load_model(native(folder, output)),
    "from_checkpoint": lambda folder, output: Pipeline.from_checkpoint(folder, labels=["a", "b"]),
    "embed": lambda folder, output: open_embedder(str(folder)),
    "train": lambda folder, output: train(sourced(folder, output), output / "run"),
    "pretrain": lambda folder, output: pretrain(sourced(folder, output), output / "run"),
    "describe": lambda folder, output: describe_model(folder),
    "by hand": assembled,
}


@pytest.mark.parametrize("door", DOORS)
def test_more_tokens_than_words_are_refused(door: str, folder: Path, tmp_path: Path) -> None:
    where = tmp_path / "ours" / "config.json" if door == "native" else folder / "config.json"
    place = "of the encoder" if door == "by hand" else f"in `{where}`"
    message = (
        f"`vocab_size` {place} must be at least {TOKENS}, since the tokenizer gives ids up to {TOKENS - 1}, but is 60 "
        "instead. Take the tokenizer that the encoder was trained with, or give the encoder a row for each token "
        "(`resize_token_embeddings` of transformers) and save both into one folder."
    )
    with pytest.raises(CheckpointError, match=f"^{re.escape(message)}$"):
        DOORS[door](folder, tmp_path)
    assert not (tmp_path / "run").exists()


def test_an_encoder_without_a_tokenizer_is_none_with_a_wrong_one(tmp_path: Path) -> None:
    folder = saved(their_model("bert", num_hidden_layers=1), tmp_path)
    assert describe_model(folder)["kind"] == "encoder"
    toy().save(folder)
    assert read_tokenizer(folder, load_encoder(folder).config).highest_id == 3, "a table with rows to spare is usual"
    wrapped("byte_level").save(folder)
    with pytest.raises(CheckpointError, match="since the tokenizer gives ids up to"):
        describe_model(folder)


def test_what_a_text_can_get_decides() -> None:
    config = tiny_config(vocab_size=4)
    spelled = added("word_level", {"id": 4, "content": "zebra"})
    control = added("word_level", {"id": 4, "content": "<extra>", "special": True})
    assert (spelled.vocab_size, spelled.highest_id) == (5, 4)
    assert (control.vocab_size, control.highest_id) == (5, 3)
    assert 4 in next(spelled.segments("a zebra")).token_ids
    assert 4 not in next(control.segments("a <extra>")).token_ids
    check_vocabulary(control, config)
    with pytest.raises(CheckpointError, match="must be at least 5, since the tokenizer gives ids up to 4, but is 4 "):
        check_vocabulary(spelled, config)


def test_the_padding_of_a_tokenizer_counts() -> None:
    """Padding is looked up too, though nothing attends to it."""
    filled = added("word_level", {"id": 4, "content": "[FILL]", "special": True}, settings={"pad_token": "[FILL]"})
    assert (filled.pad_id, filled.highest_id) == (4, 4)


def test_import_checkpoint_refuses_it_too(folder: Path, tmp_path: Path) -> None:
    from click.testing import CliRunner
    from typer.main import get_command

    from longdoc.cli import app

    encoder = tmp_path / "encoder"
    encoder.mkdir()
    for name in ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"):
        (encoder / name).write_bytes((folder / name).read_bytes())
    for architecture in ("BertModel", "BertForMaskedLM", "BertForSequenceClassification"):
        reconfigure(encoder, architectures=[architecture])
        result = CliRunner().invoke(get_command(app), ["import-checkpoint", str(encoder), str(tmp_path / "ours")])
        assert result.exit_code == 2
        assert f"longdoc: `vocab_size` in `{encoder / 'config.json'}` must be at least {TOKENS}, " in result.output
        assert not (tmp_path / "ours").exists()
