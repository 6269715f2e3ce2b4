"""Models on the hub, which is a folder here: pushed whole and without anything private, opened with the same bits."""

from __future__ import annotations

import fnmatch
import shutil
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
from huggingface_hub import ModelCard, constants

from longdoc.checkpoints.publishing import publish_folder, without_places
from longdoc.errors import CheckpointError, LongDocError, UsageError
from longdoc.pipeline import Pipeline

TEXT = "the tenant shall pay the rent in advance " * 9


class Repository:
    """What `HfApi` and `snapshot_download` would do, with a folder for the hub."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.made, self.asked = folder, [], []  # type: Path, list[tuple[str, bool]], list[Any]

    def create_repo(self, name: str, private: bool, exist_ok: bool) -> Any:
        assert exist_ok
        self.made.append((name, private))
        self.folder.mkdir(parents=True, exist_ok=True)
        return type("Url", (), {"repo_id": name})

    def list_repo_files(self, name: str, revision: str | None) -> list[str]:
        return [path.name for path in self.folder.iterdir()]

    def upload_folder(self, *, folder_path: Path, delete_patterns: list[str], **options: Any) -> Any:
        for path in list(self.folder.iterdir()):
            if any(fnmatch.fnmatch(path.name, pattern) for pattern in delete_patterns):
                path.unlink()
        shutil.copytree(folder_path, self.folder, dirs_exist_ok=True)
        return type("Commit", (), {"commit_url": f"https://hub/{options['repo_id']}/commit/1"})

    def snapshot_download(self, name: str, revision: str | None, local_files_only: bool, **_: Any) -> str:
        self.asked.append((name, revision, local_files_only))
        if local_files_only:
            raise FileNotFoundError
        snapshot = self.folder.parent / "snapshots" / "0123abc"
        shutil.copytree(self.folder, snapshot, dirs_exist_ok=True)
        return str(snapshot)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    made = Repository(tmp_path / "hub")
    for name in ("create_repo", "list_repo_files", "upload_folder"):
        monkeypatch.setattr(huggingface_hub.HfApi, name, staticmethod(getattr(made, name)))
    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", lambda *_, **__: None)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", made.snapshot_download)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    return made


def test_what_is_pushed_comes_back_with_the_same_bits(hub: Repository, tiny_pipeline: Pipeline) -> None:
    tiny_pipeline.card = "# Mine\n"
    hub.folder.mkdir()
    (hub.folder / "model-00001-of-00002.safetensors").write_bytes(b"of a bigger model of ours")
    (hub.folder / "longdoc.json").write_text("{}")
    assert tiny_pipeline.push_to_hub("me/mine") == "https://hub/me/mine/commit/1"
    assert hub.made == [("me/mine", True)], "nobody's model is public unless that is said"
    assert {path.name for path in hub.folder.iterdir()} == {
        *("README.md", "config.json", "longdoc.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"),
        *("special_tokens_map.json", "vocab.txt"),
    }
    again = Pipeline.from_pretrained("hf:me/mine", revision="0123abc")
    assert hub.asked[-1] == ("me/mine", "0123abc", False)
    assert again.predict([TEXT])[0].to_dict() == tiny_pipeline.predict([TEXT])[0].to_dict()
    assert again.card == "# Mine\n"
    with pytest.raises(UsageError, match="holds a model already"):
        again.save(hub.folder.parent / "snapshots" / "0123abc")


def test_a_folder_is_opened_as_by_load(tiny_pipeline: Pipeline, tmp_path: Path) -> None:
    Pipeline(tiny_pipeline.model, tiny_pipeline.settings, tiny_pipeline.tokenizer).save(tmp_path / "model")
    again = Pipeline.from_pretrained(tmp_path / "model")
    again.save(tmp_path / "model")
    assert again.predict([TEXT])[0].to_dict() == tiny_pipeline.predict([TEXT])[0].to_dict()


def test_no_path_of_this_machine_goes_out(hub: Repository, tiny_pipeline: Pipeline) -> None:
    settings = tiny_pipeline.settings.model_copy(update={"source": "/srv/alice/patients/encoder"})
    mine = Pipeline(tiny_pipeline.model, settings, tiny_pipeline.tokenizer)
    mine.card = "Encoder: started from `/srv/alice/patients/encoder`.\n"
    mine.push_to_hub("me/mine")
    for path in hub.folder.iterdir():
        assert b"/srv/alice" not in path.read_bytes(), path.name
    assert "started from `encoder`" in (hub.folder / "README.md").read_text()
    assert mine.settings.source == "/srv/alice/patients/encoder", "the model in hand is as it was"


@pytest.mark.parametrize(
    ("source", "public"),
    [("default", "default"), ("", ""), ("owner/name@3f2", "owner/name@3f2"), ("hf:owner/name", "hf:owner/name"),
     ("/data/x/encoder", "encoder"), ("../x", "x"), ("~/x/y", "y"), ("a/b/c", "c"), ("C:\\models\\mine", "mine")],
)  # fmt: skip
def test_names_stay_and_paths_go(source: str, public: str) -> None:
    assert without_places(source) == public


def test_another_model_is_not_replaced_unasked(hub: Repository, tiny_pipeline: Pipeline) -> None:
    hub.folder.mkdir()
    (hub.folder / "model.safetensors").write_bytes(b"theirs")
    with pytest.raises(UsageError) as caught:
        tiny_pipeline.push_to_hub("me/theirs")
    assert str(caught.value) == (
        "`me/theirs` holds a model that longdoc did not write (model.safetensors). Name another repository, or pass "
        "overwrite=True."
    )
    assert (hub.folder / "model.safetensors").read_bytes() == b"theirs"
    tiny_pipeline.push_to_hub("me/theirs", overwrite=True, private=False)
    assert (hub.folder / "longdoc.json").is_file()


def test_half_a_folder_a_bad_name_and_no_network_are_refused(
    hub: Repository, tiny_pipeline, tmp_path, monkeypatch
) -> None:
    with pytest.raises(CheckpointError, match=r"must be a whole model, but has no config\.json\. Save it again\."):
        publish_folder(tmp_path, "me/mine")
    with pytest.raises(UsageError, match=r"must be a name such as owner/name, but is '\.\./x' instead\."):
        tiny_pipeline.push_to_hub("../x")

    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError("secret address")

    monkeypatch.setattr(huggingface_hub.HfApi, "create_repo", refuse)
    with pytest.raises(LongDocError) as caught:
        tiny_pipeline.push_to_hub("hf:me/mine")
    assert str(caught.value) == (
        "`me/mine` could not be pushed to the hub: PermissionError. Check the network and the name; if both are right, "
        "log in with `hf auth login` or set HF_TOKEN. Nothing of it is half there: a push is one commit."
    )
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(UsageError, match="HF_HUB_OFFLINE forbids the network"):
        tiny_pipeline.push_to_hub("me/mine")


def test_the_card_of_a_trained_model_is_one_that_hubs_read(tiny_pipeline: Pipeline) -> None:
    from longdoc.training.card import model_card
    from longdoc.training.progress import TrainingReport
    from longdoc.training.settings import TrainingConfig

    report = TrainingReport(
        best_epoch=1,
        metric="macro_f1",
        best=0.5,
        validation={"accuracy": 0.5, "intervals": {"accuracy": [0.25, 0.75], "macro_f1": None}},
        train_documents=6,
        validation_documents=3,
    )
    encoder = tiny_pipeline.model.encoder.config
    text = model_card(tiny_pipeline.settings, TrainingConfig(), report, encoder, "default")
    data = ModelCard(text).data.to_dict()
    assert data["library_name"] == "longdoc"
    assert data["pipeline_tag"] == "text-classification"
    assert data["tags"] == ["long-documents"]
    assert "| accuracy | 0.5000 |" in ModelCard(text).text
