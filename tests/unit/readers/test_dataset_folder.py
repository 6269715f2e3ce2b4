"""Folders made by `save_to_disk`, and ids of the hub, offline."""

from __future__ import annotations

import json
import logging
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from longdoc.errors import DataError
from longdoc.readers import find_sources, read_source, source_digest
from longdoc.readers.dataset_folder import _load_from_hub
from reader_kit import documents_of, failures_of, records_of, settings_of

TEXTS = [f"text number {number}" for number in range(300)]


def dataset(texts: list[str] = TEXTS) -> Any:
    from datasets import ClassLabel, Dataset, Features, Value

    features = Features({"id": Value("string"), "text": Value("string"), "label": ClassLabel(names=["neg", "pos"])})
    columns = {"id": [f"i{n}" for n in range(len(texts))], "text": texts, "label": [n % 2 for n in range(len(texts))]}
    return Dataset.from_dict(columns, features=features)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    dataset().save_to_disk(tmp_path / "saved", num_shards=3)
    return tmp_path / "saved"


def test_a_folder_of_shards_is_one_source_in_order(saved: Path) -> None:
    documents = documents_of(records_of(saved))
    assert [document.text for document in documents] == TEXTS
    assert [document.label for document in documents[:3]] == ["neg", "pos", "neg"]


def test_a_changed_order_is_kept_as_saved(tmp_path: Path) -> None:
    dataset().select([5, 3, 8]).save_to_disk(tmp_path / "picked")
    assert [document.id for document in documents_of(records_of(tmp_path / "picked"))] == ["i5", "i3", "i8"]


def test_a_folder_of_splits_needs_one_of_them(tmp_path: Path) -> None:
    from datasets import DatasetDict

    DatasetDict(train=dataset(["a"]), test=dataset(["b", "c"])).save_to_disk(tmp_path / "both")
    (source,) = find_sources([tmp_path / "both"], settings_of(split="test"))
    assert source.name == "both/test"
    assert [document.text for document in documents_of(list(read_source(source)))] == ["b", "c"]
    with pytest.raises(DataError) as refused:
        find_sources([tmp_path / "both"])
    assert str(refused.value) == "both has the splits `train`, `test`. Say in `read.split` which one is read."
    with pytest.raises(DataError) as refused:
        find_sources([tmp_path / "both"], settings_of(split="valid"))
    assert str(refused.value) == "`read.split` must be one of `train`, `test` in both, but is `valid` instead."


def test_the_only_split_needs_no_name(tmp_path: Path) -> None:
    from datasets import DatasetDict

    DatasetDict(train=dataset(["a"])).save_to_disk(tmp_path / "one")
    assert [document.text for document in documents_of(records_of(tmp_path / "one"))] == ["a"]


def test_inside_a_folder_it_is_one_source_beside_the_files(saved: Path) -> None:
    (saved.parent / "note.txt").write_text("a note", encoding="utf-8")
    assert [source.name for source in find_sources([saved.parent])] == ["note.txt", "saved"]


def test_digest_follows_the_bytes_of_every_file(saved: Path) -> None:
    (source,) = find_sources([saved])
    before = source_digest(source)
    assert source_digest(source) == before
    shard = sorted(saved.glob("*.arrow"))[-1]
    data = bytearray(shard.read_bytes())
    data[-20] ^= 1
    shard.write_bytes(data)
    assert source_digest(source) != before


@pytest.mark.parametrize(
    ("state", "detail"),
    [
        ({"_data_files": []}, "The file `state.json` lists no data files."),
        ({"_data_files": [{"filename": 3}]}, "The file `state.json` lists no data files."),
        ({"_data_files": "x"}, "The file `state.json` lists no data files."),
        ([], "The file `state.json` is not a JSON object."),
        ({"_indices_files": [{"filename": "x"}]}, "The folder keeps its rows in an order of its own: save it again."),
        (
            {"_data_files": [{"filename": "../outside.arrow"}]},
            "The path leads out of the input root.",
        ),
    ],
)
def test_a_state_file_from_strangers_leads_nowhere(saved: Path, state: Any, detail: str) -> None:
    shutil.copy(sorted(saved.glob("*.arrow"))[0], saved.parent / "outside.arrow")
    (saved / "state.json").write_text(json.dumps(state), encoding="utf-8")
    records = records_of(saved)
    assert [(failure.id, failure.detail) for failure in failures_of(records)] == [("saved:1", detail)]
    assert not documents_of(records)
    assert len(source_digest(find_sources([saved])[0])) == 64


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A cache in which the dataset `org/notes` was downloaded once, and no network."""
    import datasets

    cache = tmp_path / "cache"
    dataset().to_parquet(tmp_path / "in.parquet")
    files = {"train": str(tmp_path / "in.parquet"), "test": str(tmp_path / "in.parquet")}
    datasets.load_dataset("parquet", data_files=files, cache_dir=str(cache))
    (built,) = cache.glob("parquet/*/*/*/dataset_info.json")
    folder = cache / "org___notes" / "default" / "0.0.0" / "0123456789"
    shutil.copytree(built.parent, folder)
    for path in folder.glob("parquet-*"):
        path.rename(path.with_name(path.name.replace("parquet-", "notes-")))
    info = json.loads((folder / "dataset_info.json").read_text("utf-8"))
    info.update(dataset_name="notes", config_name="default")
    (folder / "dataset_info.json").write_text(json.dumps(info), encoding="utf-8")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", cache)
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.chdir(tmp_path)
    _load_from_hub.cache_clear()
    yield
    _load_from_hub.cache_clear()


@pytest.mark.usefixtures("hub")
class TestHub:
    def test_rows_of_a_split_in_order_from_any_cursor(self) -> None:
        (source,) = find_sources(["hf:org/notes"], settings_of(split="test"))
        assert source.name == "org/notes/test"
        records = list(read_source(source))
        assert [document.text for document in documents_of(records)] == TEXTS
        assert documents_of(records)[1].label == "pos"
        assert str(records[1].place) == "org/notes/test:2"
        for cursor in (0, 1, 127, 128, 299, 300):
            assert list(read_source(source, cursor=cursor)) == records[cursor:]
        assert len(source_digest(source)) == 64
        assert source_digest(source) == source_digest(source)

    def test_several_splits_need_a_name(self) -> None:
        with pytest.raises(DataError) as refused:
            find_sources(["hf:org/notes"])
        assert str(refused.value) == "org/notes has the splits `train`, `test`. Say in `read.split` which one is read."

    def test_a_missing_text_column_is_refused(self) -> None:
        settings = settings_of(split="test", fields={"text": "body"})
        (source,) = find_sources(["hf:org/notes"], settings)
        with pytest.raises(DataError) as refused:
            list(read_source(source, settings))
        assert str(refused.value) == (
            "org/notes/test has no column `body`. Columns found: `id`, `text`, `label`. "
            "Name the column that holds the documents in `read.fields.text`."
        )

    def test_the_name_may_end_like_that_of_a_file(self) -> None:
        with pytest.raises(DataError) as refused:
            find_sources(["hf:org/notes.csv"])
        assert str(refused.value).startswith("The dataset `hf:org/notes.csv` cannot be loaded from the hub (")

    def test_a_path_of_that_name_is_not_read_instead(self, tmp_path: Path) -> None:
        folder = tmp_path / "org" / "notes"
        folder.mkdir(parents=True)
        (folder / "a.txt").write_text("local", encoding="utf-8")
        assert [source.name for source in find_sources(["org/notes"])] == ["a.txt"]
        with pytest.raises(DataError) as refused:
            find_sources(["hf:org/notes"], settings_of(split="test"))
        assert str(refused.value) == (
            "`hf:org/notes` is a dataset of the hub, but there is a file or folder `org/notes` here too. Name that one "
            "without `hf:`, or run the command in another folder."
        )

    def test_an_unknown_id_is_refused(self) -> None:
        with pytest.raises(DataError) as refused:
            find_sources(["hf:org/other"])
        assert str(refused.value).startswith("The dataset `hf:org/other` cannot be loaded from the hub (")
        assert refused.value.__context__ is None

    def test_the_cache_answers_where_the_hub_does_not(
        self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
    ) -> None:
        """One question, no second try, and not a word of the libraries."""
        import datasets
        import huggingface_hub

        asked: list[str] = []

        def refuse(self: object, name: str, **_: object) -> None:
            asked.append(name)
            logging.getLogger("huggingface_hub.utils._http").warning("%s thrown while requesting", name)
            raise ConnectionError(name)

        monkeypatch.setattr(huggingface_hub.HfApi, "dataset_info", refuse)
        monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", False)
        (source,) = find_sources(["hf:org/notes"], settings_of(split="test"))
        assert len(list(read_source(source))) == len(TEXTS)
        with pytest.raises(DataError) as refused:
            find_sources(["hf:org/other"])
        assert str(refused.value) == (
            "The dataset `hf:org/other` cannot be loaded from the hub (ConnectionError). Check the spelling; if it is "
            "right, check the network, or HF_HUB_OFFLINE."
        )
        assert asked == ["org/notes", "org/other"]
        assert datasets.config.HF_HUB_OFFLINE is False
        assert (caplog.text, *capfd.readouterr()) == ("", "", "")


@pytest.mark.parametrize("name", ["hf:notes", "hf:a/b/c", "hf:", "hf:/org/notes", "hf:org/../notes"])
def test_the_prefix_wants_an_owner_and_a_name(name: str) -> None:
    with pytest.raises(DataError) as refused:
        find_sources([name])
    assert str(refused.value) == (f"A dataset of the hub must be named `hf:owner/name`, but is named `{name}` instead.")


@pytest.mark.parametrize(
    "name",
    ["patients/smith_john", "org/notes", "org/notes.jsonl", "a/b/c", "notes", "../org/notes", "/org/notes", "~/notes"],
)
def test_nothing_without_the_prefix_is_ever_looked_up(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    monkeypatch.setattr(socket, "socket", None)
    monkeypatch.setattr(socket, "getaddrinfo", None)
    monkeypatch.setitem(sys.modules, "datasets", None)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(DataError) as refused:
        find_sources([name])
    hint = f" A dataset of the Hugging Face hub is named with a prefix: `hf:{name}`."
    assert str(refused.value) == (
        f"`{name}` does not exist. Check the path; it is taken relative to the current folder."
        f"{hint if name in ('patients/smith_john', 'org/notes') else ''}"
    )
