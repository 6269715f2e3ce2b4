"""What a folder of sentence-transformers says about making vectors: pooling, normalisation, length, prompts.

The files are data of that library's format (`modules.json`, `1_Pooling/config.json`, `sentence_bert_config.json`,
`config_sentence_transformers.json`); nothing of the library is needed, and a part that would change the vectors in
a way that is not known here is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from longdoc.checkpoints.weights import read_json
from longdoc.errors import CheckpointError
from longdoc.nn.readout import EmbeddingReadoutConfig, ReadoutKind
from longdoc.nn.readout.embedding import EmbeddingPooling

__all__ = ["SentenceSettings", "pooled_as_before", "read_sentence_settings"]

_MODES: dict[str, EmbeddingPooling] = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_cls_token": "cls",
}
"""Switches of a pooling -> how we call it."""


@dataclass(frozen=True)
class SentenceSettings:
    """How a checkpoint makes vectors.

    Attributes:
        pooling: of the states.
        normalize: whether vectors have length 1.
        max_tokens: tokens of a text that the model was made for, specials included; None where nothing is said.
        prompts: texts that stand before a text, by name.
        default_prompt: the name of the one that is used where none is asked for.
        pools_prompt: whether the tokens of the prompt count in the vector.
    """

    pooling: EmbeddingPooling = "mean"
    normalize: bool = False
    max_tokens: int | None = None
    prompts: Mapping[str, str] = field(default_factory=dict)
    default_prompt: str | None = None
    pools_prompt: bool = True


def read_sentence_settings(folder: Path) -> SentenceSettings:
    """The settings of a checkpoint folder.

    A folder without `modules.json` gets what sentence-transformers makes of it: the mean over all tokens.

    Raises:
        CheckpointError: a file is damaged, or asks for something that cannot be done here.
    """
    folder = Path(folder)
    if not (folder / "modules.json").is_file():
        return SentenceSettings()
    pooling: tuple[EmbeddingPooling, bool] = ("mean", True)
    normalize, transformer = False, "."
    for kind, path in _modules(folder):
        if kind == "Transformer":
            transformer = path
        elif kind == "Pooling":
            pooling = _pooling(folder / path / "config.json")
        elif kind == "Normalize":
            normalize = True
        else:
            raise CheckpointError(
                f"`modules.json` in `{folder}` must name Transformer, Pooling and Normalize only, but names {kind}. "
                "Its vectors cannot be made without it: choose another checkpoint."
            )
    sizes = folder / transformer / "sentence_bert_config.json"
    described = read_json(sizes) if sizes.is_file() else {}
    if described.get("do_lower_case"):
        raise CheckpointError(
            f"`do_lower_case` in `{sizes}` must be false, but is true: texts would be changed before they are read. "
            "Put the lower-casing into the tokenizer's normaliser."
        )
    limit = described.get("max_seq_length")
    named = folder / "config_sentence_transformers.json"
    told = read_json(named) if named.is_file() else {}
    prompts = told.get("prompts")
    default = told.get("default_prompt_name")
    return SentenceSettings(
        pooling=pooling[0],
        normalize=normalize,
        max_tokens=limit if isinstance(limit, int) and not isinstance(limit, bool) and limit > 0 else None,
        prompts={str(k): str(v) for k, v in prompts.items()} if isinstance(prompts, Mapping) else {},
        default_prompt=default if isinstance(default, str) else None,
        pools_prompt=pooling[1],
    )


def pooled_as_before(readout: ReadoutKind, folder: Path) -> ReadoutKind:
    """The readout of a model that starts from a checkpoint: vectors are pooled as the checkpoint says, unless it is
    known how they shall be.

    Raises:
        CheckpointError: as `read_sentence_settings`.
    """
    if not isinstance(readout, EmbeddingReadoutConfig) or readout.pooling is not None:
        return readout
    return readout.model_copy(update={"pooling": read_sentence_settings(folder).pooling})


def _modules(folder: Path) -> list[tuple[str, str]]:
    """The last word of each module's type, and its folder, in order."""
    path = folder / "modules.json"
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
        found = [(str(entry["type"]).rpartition(".")[2], str(entry["path"])) for entry in entries]
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        raise CheckpointError(
            f"`{path}` must be a list of modules with `type` and `path`, but is not. Fetch the file again."
        ) from None
    for _, place in found:
        if PurePosixPath(place).is_absolute() or ".." in PurePosixPath(place).parts:
            raise CheckpointError(f"`{path}` must name folders inside its own, but does not. Fetch the file again.")
    return found


def _pooling(path: Path) -> tuple[EmbeddingPooling, bool]:
    """The pooling, and whether prompts are pooled."""
    described: dict[str, Any] = read_json(path)
    named = described.get("pooling_mode")
    if isinstance(named, str):
        chosen = [named]
    else:
        chosen = [
            _MODES.get(key, key.removeprefix("pooling_mode_"))
            for key, value in described.items()
            if key.startswith("pooling_mode_") and value
        ]
    if len(chosen) != 1 or chosen[0] not in _MODES.values():
        raise CheckpointError(
            f"`{path}` must choose one pooling of {', '.join(_MODES.values())}, but chooses "
            f"{', '.join(chosen) or 'none'} instead. Choose another checkpoint."
        )
    (pooling,) = (mode for mode in _MODES.values() if mode == chosen[0])
    return pooling, bool(described.get("include_prompt", True))
