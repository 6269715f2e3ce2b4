"""Folders made by `save_to_disk`, and ids of the hub, offline."""

from __future__ import annotations

import json
import shutil
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
        (source,) = find_sources(["org/notes"], settings_of(split="test"))
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
            find_sources(["org/notes"])
        assert str(refused.value) == "org/notes has the splits `train`, `test`. Say in `read.split` which one is read."

    def test_a_missing_text_column_is_refused(self) -> None:
        settings = settings_of(split="test", fields={"text": "body"})
        (source,) = find_sources(["org/notes"], settings)
        with pytest.raises(DataError) as refused:
            list(read_source(source, settings))
        assert str(refused.value) == (
            "org/notes/test has no column `body`. Columns found: `id`, `text`, `label`. "
            "Name the column that holds the documents in `read.fields.text`."
        )

    def test_a_path_of_that_name_comes_first(self, tmp_path: Path) -> None:
        folder = tmp_path / "org" / "notes"
        folder.mkdir(parents=True)
        (folder / "a.txt").write_text("local", encoding="utf-8")
        assert [source.name for source in find_sources(["org/notes"])] == ["a.txt"]

    def test_an_unknown_id_is_refused(self) -> None:
        with pytest.raises(DataError) as refused:
            find_sources(["org/other"])
        assert str(refused.value).startswith(
            "There is no file or folder `org/other`, and a dataset of that id cannot be loaded from the hub ("
        )
        assert refused.value.__context__ is None

    @pytest.mark.parametrize("name", ["org/notes.jsonl", "a/b/c", "notes", "../org/notes", "/org/notes"])
    def test_what_looks_like_a_path_is_never_looked_up(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        import datasets

        monkeypatch.setattr(datasets, "load_dataset", None)
        with pytest.raises(DataError) as refused:
            find_sources([name])
        assert str(refused.value) == (
            f"`{name}` does not exist. Check the path; it is taken relative to the current folder."
        )
