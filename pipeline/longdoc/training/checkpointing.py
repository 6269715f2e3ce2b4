"""Checkpoints of a training run on the disk: `checkpoints/step-000123/`, each whole or not there at all.

A checkpoint is a `state.json` with numbers and some safetensors files. `manifest.json`, the last to be written, holds
the SHA-256 of every file: what a full disk, a kill or a flipped bit has touched is never taken for whole. No pickle.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from longdoc.errors import CannotWriteError, CheckpointError
from longdoc.files import write_folder
from longdoc.training.run_layout import BEST_SO_FAR, CHECKPOINTS, checkpoints_in

__all__ = [
    "Checkpoint",
    "clear_checkpoints",
    "keep_last",
    "read_checkpoint",
    "remove_checkpoint",
    "remove_leftovers",
    "write_checkpoint",
]

_MANIFEST, _STATE = "manifest.json", "state.json"
_LEFTOVER = re.compile(r"\..+\.(\d+(-[0-9a-f]{8})?|[0-9a-f]{12})\.tmp")
"""How `longdoc.files` names what is not whole yet."""


@dataclass
class Checkpoint:
    """What is stored of a run.

    Attributes:
        numbers: whatever JSON can say. NaN and infinity it cannot.
        tensors: file name without its ending -> name -> tensor.
    """

    numbers: dict[str, Any] = field(default_factory=dict)
    tensors: dict[str, dict[str, torch.Tensor]] = field(default_factory=dict)


def write_checkpoint(output: Path, step: int, checkpoint: Checkpoint) -> Path:
    """Write the checkpoint after a step; returns its folder.

    Raises:
        CannotWriteError: no space, no permission, or a failing disk. Older checkpoints are as they were.
    """
    folder = output / CHECKPOINTS / f"step-{step:06d}"

    def fill(temporary: Path) -> None:
        for name, tensors in checkpoint.tensors.items():
            _save({key: tensor.detach().cpu().contiguous() for key, tensor in tensors.items()}, temporary / name)
        (temporary / _STATE).write_text(json.dumps(checkpoint.numbers, allow_nan=False), encoding="utf-8")
        hashes = {path.name: _sha256(path) for path in sorted(temporary.iterdir())}
        (temporary / _MANIFEST).write_text(json.dumps(hashes, indent=2) + "\n", encoding="utf-8")

    write_folder(folder, fill, (_MANIFEST,))
    return folder


def _save(tensors: dict[str, torch.Tensor], path: Path) -> None:
    try:
        save_file(tensors, path.with_name(path.name + ".safetensors"))
    except SafetensorError:  # the library's own error for a disk that is full
        raise CannotWriteError(
            "a checkpoint of the run cannot be written. Make room or choose another output, then run the same command "
            "again."
        ) from None


def read_checkpoint(folder: Path) -> Checkpoint:
    """Read a checkpoint, each of its bytes checked.

    Raises:
        CheckpointError: a file is absent, damaged or not of the manifest.
    """
    try:
        hashes = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
        if not isinstance(hashes, Mapping) or _STATE not in hashes:
            raise ValueError
    except (OSError, ValueError):
        raise CheckpointError(f"`{folder}` must hold a whole {_MANIFEST}, but does not.") from None
    checkpoint = Checkpoint()
    for name, expected in hashes.items():
        path = folder / Path(name).name
        try:
            if _sha256(path) != expected:
                raise CheckpointError(f"`{path}` must be as it was written, but is not.")
        except OSError:
            raise CheckpointError(f"`{path}` must be there and readable, but is not.") from None
        if name == _STATE:
            checkpoint.numbers = json.loads(path.read_text(encoding="utf-8"))
        else:
            checkpoint.tensors[path.stem] = load_file(path)
    return checkpoint


def keep_last(output: Path, limit: int) -> None:
    """Remove all checkpoints but the newest `limit`, which are on the disk by now."""
    for folder in checkpoints_in(output)[limit:]:
        remove_checkpoint(folder)


def remove_checkpoint(folder: Path) -> None:
    """Remove a checkpoint: first its name, so that nobody finds half of it."""
    hidden = folder.with_name(f".{folder.name}.{uuid.uuid4().hex[:12]}.tmp")
    with suppress(OSError):
        folder.rename(hidden)
        shutil.rmtree(hidden)


def clear_checkpoints(output: Path) -> None:
    """Remove all checkpoints, the best epoch and leftovers; what else lies there is not a run's and stays."""
    folder = output / CHECKPOINTS
    for checkpoint in checkpoints_in(output):
        remove_checkpoint(checkpoint)
    remove_leftovers(output)
    shutil.rmtree(output / BEST_SO_FAR, ignore_errors=True)
    with suppress(OSError):  # not empty, or not there
        folder.rmdir()


def remove_leftovers(output: Path) -> None:
    """Remove what a killed run was writing or removing, in its folder and, of the model folder itself, beside it."""
    output = output.absolute()
    beside = f".{output.name}."
    for folder in (output / CHECKPOINTS, output, output.parent):
        with suppress(OSError):
            for path in folder.iterdir():
                if _LEFTOVER.fullmatch(path.name) and (folder != output.parent or path.name.startswith(beside)):
                    if path.is_dir():
                        shutil.rmtree(path, ignore_errors=True)
                    else:
                        path.unlink()


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
