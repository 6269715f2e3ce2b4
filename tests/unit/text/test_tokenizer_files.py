"""Reading and writing the files of a tokenizer."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from longdoc.errors import CheckpointError
from longdoc.text.tokenizer_files import TokenizerFiles, read_files, token_content, write_files
from tokenizer_kit import raw


def write(folder: Path, **contents: object) -> Path:
    (folder / "tokenizer.json").write_text(raw("word_level").to_str())
    for name, content in contents.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    return folder


def test_what_stands_nearer_to_the_tokenizer_wins(tmp_path: Path) -> None:
    write(
        tmp_path,
        config={"max_position_embeddings": 514, "hidden_size": 4},
        special_tokens_map={"pad_token": "<a>", "unk_token": {"content": "<u>"}},
        tokenizer_config={"pad_token": "<b>", "mask_token": None, "model_max_length": 512},
    )
    assert read_files(tmp_path).settings == {
        "pad_token": "<b>",
        "unk_token": {"content": "<u>"},
        "model_max_length": 512,
    }


def test_the_limit_may_come_from_the_model(tmp_path: Path) -> None:
    assert read_files(write(tmp_path, config={"max_position_embeddings": 77})).settings == {"model_max_length": 77}
    assert read_files(write(tmp_path, config={})).settings == {"model_max_length": None}


def test_a_folder_without_a_fast_tokenizer_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "vocab.txt").write_text("[PAD]\n")
    message = (
        "The model folder `model` must hold a `tokenizer.json`, but does not. Make one with "
        "`AutoTokenizer.from_pretrained(...).save_pretrained(...)`."
    )
    with pytest.raises(CheckpointError, match=f"^{re.escape(message)}$"):
        read_files(folder)


@pytest.mark.parametrize("content", [b"{", b"[1]", b'{"a": "\xff"}', b""])
def test_a_damaged_file_is_named(tmp_path: Path, content: bytes) -> None:
    (write(tmp_path) / "tokenizer_config.json").write_bytes(content)
    message = "`tokenizer_config.json` must hold a JSON object, but does not. Fetch the model folder again."
    with pytest.raises(CheckpointError, match=f"^{re.escape(message)}$"):
        read_files(tmp_path)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    settings = {"pad_token": "[PAD]", "cls_token": {"content": "[CLS]"}, "model_max_length": 99, "tokenizer_class": "X"}
    files = TokenizerFiles(raw("word_level").to_str(), settings, {"vocab.txt": b"a\nb\n"})
    write_files(tmp_path / "deep" / "folder", files)
    assert read_files(tmp_path / "deep" / "folder") == files
    assert json.loads((tmp_path / "deep" / "folder" / "special_tokens_map.json").read_text()) == {
        "pad_token": "[PAD]",
        "cls_token": {"content": "[CLS]"},
    }


def test_no_limit_is_written_as_transformers_writes_it(tmp_path: Path) -> None:
    write_files(tmp_path, TokenizerFiles("{}", {"model_max_length": None, "mask_token": None}, {}))
    written = json.loads((tmp_path / "tokenizer_config.json").read_text())
    assert written == {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": int(1e30)}


def test_code_of_others_is_not_passed_on(tmp_path: Path) -> None:
    settings = {"auto_map": {"AutoTokenizer": ["evil.Tokenizer", None]}, "tokenizer_class": "Tokenizer"}
    write_files(tmp_path, TokenizerFiles("{}", settings, {}))
    written = json.loads((tmp_path / "tokenizer_config.json").read_text())
    assert "auto_map" not in written
    assert written["tokenizer_class"] == "PreTrainedTokenizerFast"


@pytest.mark.parametrize(("token", "content"), [("[A]", "[A]"), ({"content": "[A]", "lstrip": 1}, "[A]"), (None, None)])
def test_a_token_may_be_given_in_two_ways(token: object, content: str | None) -> None:
    assert token_content(token) == content


@pytest.mark.parametrize("limit", [0, -1, 2, "64", True])
def test_a_limit_that_is_no_length_is_named_and_not_heeded(
    limit: object, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path, tokenizer_config={"model_max_length": limit})
    assert read_files(tmp_path).settings["model_max_length"] is None
    assert caplog.messages == [
        f"`model_max_length` of the tokenizer in {tmp_path} must be a number of at least 4 or null, but is "
        f"{json.dumps(limit)} instead. It is not heeded: chunks are as long as the encoder allows. Correct "
        "`tokenizer_config.json`, or set `chunking.size`."
    ]


@pytest.mark.parametrize("limit", [4, 512, 1e30, None])
def test_a_limit_that_is_a_length_or_none_is_no_matter(
    limit: object, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path, tokenizer_config={"model_max_length": limit})
    assert read_files(tmp_path).settings["model_max_length"] == limit
    assert not caplog.messages
