"""Reading weight files, which are data from strangers: safetensors only, checked before anything is built of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from torch import Tensor

from longdoc.errors import CheckpointError

__all__ = ["read_json", "read_tensors", "tensor_names", "weight_files"]

_LARGEST_HEADER = 100_000_000  # bytes, the limit of the format
_POINTER = b"version https://git-lfs"
_PICKLES = ("pytorch_model.bin", "pytorch_model.bin.index.json", "model.pt", "model.pth", "pytorch_model.pt")


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file; names given twice are refused.

    Raises:
        CheckpointError: no such file, not a JSON object, or a name twice.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_no_duplicates)
    except (FileNotFoundError, NotADirectoryError):
        raise CheckpointError(
            f"`{path.parent}` must hold a `{path.name}`, but does not. Name a folder saved by transformers or longdoc."
        ) from None
    except OSError as error:
        raise CheckpointError(f"`{path}` cannot be read ({type(error).__name__}). Check its rights.") from None
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, _DuplicateNameError) else "is not valid JSON"
        raise CheckpointError(f"`{path}` must be a JSON object, but {reason}. Fetch the file again.") from None
    if not isinstance(content, dict):
        raise CheckpointError(f"`{path}` must be a JSON object, but is something else. Fetch the file again.")
    return content


def weight_files(folder: Path) -> list[Path]:
    """The weight files of a checkpoint folder: `model.safetensors`, or the shards that its index names.

    Raises:
        CheckpointError: there are none, or only pickles; the index names a file that is absent or outside the folder.
    """
    single, index = folder / "model.safetensors", folder / "model.safetensors.index.json"
    if single.is_file():
        return [single]
    if index.is_file():
        weight_map = read_json(index).get("weight_map")
        named = list(weight_map.values()) if isinstance(weight_map, dict) else []
        if not named or not all(isinstance(name, str) and Path(name).name == name for name in named):
            raise CheckpointError(f"`weight_map` of `{index}` must name files of its own folder, but does not.")
        names = sorted(set(named))
        if absent := [name for name in names if not (folder / name).is_file()]:
            raise CheckpointError(f"`{index}` names {', '.join(absent)}, which must be in its folder but are not.")
        return [folder / name for name in names]
    if pickles := [name for name in _PICKLES if (folder / name).is_file()]:
        raise CheckpointError(
            f"`{folder}` must hold `model.safetensors`, but has its weights as {pickles[0]} only. That is a pickle, "
            "which can run any code when it is opened, so it is never read. Convert it once where you trust it: "
            "`AutoModel.from_pretrained(source).save_pretrained(folder)` with transformers writes safetensors; on the "
            "hub, many such models have a converted copy under the revision `refs/pr/1`."
        )
    raise CheckpointError(
        f"`{folder}` must hold `model.safetensors`, but does not. Name a folder that transformers or longdoc saved."
    )


def tensor_names(folder: Path) -> list[str]:
    """The names of the tensors of a checkpoint folder; none of them is read.

    Raises: as `read_tensors`.
    """
    names: list[str] = []
    for path in weight_files(folder):
        _check_header(path)
        try:
            with safe_open(path, framework="pt") as file:
                names.extend(file.keys())
        except (SafetensorError, OSError):
            raise _damaged(path) from None
    return names


def read_tensors(folder: Path) -> Iterator[tuple[str, Tensor]]:
    """Each tensor of a checkpoint folder with its name, one after the other; they may be views of the file.

    Raises:
        CheckpointError: as `weight_files`; a file is damaged, or a name stands in its header twice.
    """
    for path in weight_files(folder):
        _check_header(path)
        try:
            with safe_open(path, framework="pt") as file:
                for name in file.keys():  # noqa: SIM118 (not a dictionary)
                    yield name, file.get_tensor(name)
        except (SafetensorError, OSError):
            raise _damaged(path) from None


def _check_header(path: Path) -> None:
    """The library keeps the last of two entries with one name; two readers may then see two models."""
    with path.open("rb") as file:
        start = file.read(8)
        if start + file.read(len(_POINTER) - 8) == _POINTER:
            raise CheckpointError(
                f"`{path}` must be a safetensors file, but is a pointer of Git LFS to one. Fetch the weights "
                "themselves: `git lfs pull` in that folder, or download the file from the hub."
            )
        file.seek(8)
        length = int.from_bytes(start, "little")
        if not 0 < length <= min(_LARGEST_HEADER, path.stat().st_size):
            raise _damaged(path)
        header = file.read(length)
    try:
        json.loads(header, object_pairs_hook=_no_duplicates)
    except _DuplicateNameError as error:
        raise CheckpointError(
            f"`{path}` must name each tensor once, but {error}. Do not use this file; it may show one model to a "
            "checker and another to a loader."
        ) from None
    except (ValueError, RecursionError):
        raise _damaged(path) from None


def _damaged(path: Path) -> CheckpointError:
    return CheckpointError(f"`{path}` must be a complete safetensors file, but is not. Fetch or save it again.")


class _DuplicateNameError(ValueError):
    pass


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for name, value in pairs:
        if name in content:
            raise _DuplicateNameError(f"has the name {name!r} twice")
        content[name] = value
    return content
