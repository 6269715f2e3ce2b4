"""Weight files are data from strangers."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from longdoc.checkpoints.weights import read_json, read_tensors, weight_files
from longdoc.errors import CheckpointError


def write_safetensors(path: Path, header: str, data: bytes = b"") -> None:
    path.write_bytes(struct.pack("<Q", len(header)) + header.encode() + data)


def test_one_file_is_read_tensor_by_tensor(tmp_path: Path) -> None:
    tensors = {"a": torch.arange(3.0), "b": torch.ones(2, 2)}
    save_file(tensors, tmp_path / "model.safetensors")
    found = dict(read_tensors(tmp_path))
    assert found.keys() == tensors.keys()
    assert all(torch.equal(found[name], tensors[name]) for name in tensors)


def test_shards_are_read_by_their_index(tmp_path: Path) -> None:
    save_file({"a": torch.zeros(1)}, tmp_path / "model-1.safetensors")
    save_file({"b": torch.ones(1)}, tmp_path / "model-2.safetensors")
    weight_map = {"a": "model-1.safetensors", "b": "model-2.safetensors"}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    assert sorted(name for name, _ in read_tensors(tmp_path)) == ["a", "b"]
    (tmp_path / "model-2.safetensors").unlink()
    index = tmp_path / "model.safetensors.index.json"
    message = f"`{index}` names model-2.safetensors, which must be in its folder but are not."
    with pytest.raises(CheckpointError, match=f"^{re.escape(message)}$"):
        weight_files(tmp_path)


@pytest.mark.parametrize("weight_map", [{"a": "../model.safetensors"}, {"a": "/etc/passwd"}, {"a": 3}, {}, []])
def test_an_index_names_files_of_its_own_folder(tmp_path: Path, weight_map: object) -> None:
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": weight_map}))
    message = f"`weight_map` of `{index}` must name files of its own folder, but does not."
    with pytest.raises(CheckpointError, match=f"^{re.escape(message)}$"):
        weight_files(tmp_path)


def test_a_pickle_is_refused_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    message = (
        f"`{tmp_path}` must hold `model.safetensors`, but has its weights as pytorch_model.bin only. That is a pickle, "
        "which can run any code when it is opened, so it is never read. Convert it once where you trust it: "
        "`AutoModel.from_pretrained(source).save_pretrained(folder)` with transformers writes safetensors; on the hub, "
        "many such models have a converted copy under the revision `refs/pr/1`."
    )
    with pytest.raises(CheckpointError, match=f"^{re.escape(message)}$"):
        weight_files(tmp_path)


def test_no_weights_at_all(tmp_path: Path) -> None:
    message = (
        f"`{tmp_path}` must hold `model.safetensors`, but does not. Name a folder that transformers or longdoc saved."
    )
    with pytest.raises(CheckpointError, match=f"^{re.escape(message)}$"):
        weight_files(tmp_path)


def test_a_name_twice_in_the_header_is_refused(tmp_path: Path) -> None:
    entry = '{"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}'
    path = tmp_path / "model.safetensors"
    write_safetensors(path, f'{{"a": {entry}, "a": {entry}}}', bytes(4))
    message = (
        f"`{path}` must name each tensor once, but has the name 'a' twice. Do not use this file; it may show one model "
        "to a checker and another to a loader."
    )
    with pytest.raises(CheckpointError, match=f"^{re.escape(message)}$"):
        list(read_tensors(tmp_path))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"short",
        struct.pack("<Q", 10**12) + b"{}",
        struct.pack("<Q", 2) + b"{]",
        struct.pack("<Q", 64) + b'{"a": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}  ' + bytes(8),
        struct.pack("<Q", 20_000) + b"[" * 20_000,
    ],
    ids=["empty", "short", "endless header", "no json", "cut off", "deep"],
)
def test_a_damaged_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)
    message = f"`{path}` must be a complete safetensors file, but is not. Fetch or save it again."
    with pytest.raises(CheckpointError, match=f"^{re.escape(message)}$"):
        list(read_tensors(tmp_path))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('{"a": 1, "a": 2}', "must be a JSON object, but has the name 'a' twice. Fetch the file again."),
        ("{", "must be a JSON object, but is not valid JSON. Fetch the file again."),
        ("[1]", "must be a JSON object, but is something else. Fetch the file again."),
    ],
)
def test_a_configuration_is_one_json_object(tmp_path: Path, content: str, reason: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(content)
    with pytest.raises(CheckpointError, match=f"^{re.escape(f'`{path}` {reason}')}$"):
        read_json(path)


def test_a_configuration_must_be_there(tmp_path: Path) -> None:
    message = f"`{tmp_path}` must hold a `config.json`, but does not. Name a folder saved by transformers or longdoc."
    with pytest.raises(CheckpointError, match=f"^{re.escape(message)}$"):
        read_json(tmp_path / "config.json")


def test_a_configuration_that_may_not_be_read_is_not_said_to_be_absent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "longdoc.json").write_text("{}")

    def denied(*_: object, **__: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_text", denied)
    with pytest.raises(CheckpointError) as caught:
        read_json(tmp_path / "longdoc.json")
    assert str(caught.value) == f"`{tmp_path / 'longdoc.json'}` cannot be read (PermissionError). Check its rights."
