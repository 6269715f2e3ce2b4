"""Whether and from where a run goes on: the newest whole checkpoint, if it is of the same run.

The same run has the same documents in the same order, the same configuration but for what only decides on logging and
keeping, the same frozen weights and the same number of processes. Anything else is refused, and the difference named:
what came out would be no run that anybody asked for.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml

from longdoc.errors import CheckpointError, UsageError
from longdoc.training.checkpointing import Checkpoint, read_checkpoint
from longdoc.training.run_layout import checkpoints_in
from longdoc.types import Document

__all__ = ["Identity", "find_unfinished"]

_DECIDING = ("model", "chunking", "training", "prediction")
"""Sections that decide on a run. Of `data` and `read` the documents that came of them are compared themselves."""
_FREE_KEYS = frozenset(
    f"training.{key}"
    for key in ("logging_steps", "save_steps", "save_minutes", "save_total_limit", "rows_folder", "tracker")
)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, repr=False)
class Identity:
    """What makes a run this run and no other.

    Attributes:
        configuration: the text of `config.resolved.yaml`.
        train, validation: its documents.
        sizes: tokens of each training example.
        model: whose frozen weights are no part of a checkpoint.
        processes: how many work together.
    """

    configuration: str
    train: Sequence[Document]
    validation: Sequence[Document]
    sizes: Sequence[int]
    model: torch.nn.Module
    processes: int

    @cached_property
    def settings(self) -> dict[str, Any]:
        """Dotted key -> value, of all that decides on the numbers of a run."""
        tree = yaml.safe_load(self.configuration)
        kept = {section: tree[section] for section in _DECIDING if section in tree}
        return {key: value for key, value in _flat(kept) if key not in _FREE_KEYS}

    @cached_property
    def fixed(self) -> str:
        """Stands for the weights that do not learn and the lengths of the documents in tokens."""
        digest = hashlib.sha256(np.asarray(self.sizes, dtype=np.int64).tobytes())
        for name, parameter in self.model.named_parameters():
            if not parameter.requires_grad:
                digest.update(name.encode())
                digest.update(parameter.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
        return digest.hexdigest()

    def store(self, checkpoint: Checkpoint, salt: str) -> None:
        """Put it into a checkpoint. Documents are there as salted digests of 64 bits."""
        checkpoint.numbers |= {
            "salt": salt,
            "configuration": self.settings,
            "fixed": self.fixed,
            "processes": self.processes,
        }
        checkpoint.tensors["documents"] = {
            "train": _digests(self.train, salt),
            "validation": _digests(self.validation, salt),
        }

    def differences(self, checkpoint: Checkpoint) -> list[str]:
        """How this run differs from that of a checkpoint, in sentences without their ends."""
        numbers, documents = checkpoint.numbers, checkpoint.tensors["documents"]
        found = list(_changed_settings(numbers["configuration"], self.settings))
        for name, now in (("training", self.train), ("validation", self.validation)):
            before = documents["train" if name == "training" else name]
            if said := _changed_documents(before, _digests(now, numbers["salt"])):
                found.append(f"{'of ' if said[0].isdigit() else ''}the {name} documents {said}")
        if numbers["processes"] != self.processes:
            found.append(f"its processes were {numbers['processes']} and are {self.processes}")
        if not found and numbers["fixed"] != self.fixed:
            found.append("the checkpoint or the tokenizer that `model.source` names is not what it was")
        return found


def find_unfinished(output: Path, identity: Identity) -> tuple[Path, Checkpoint] | None:
    """The newest whole checkpoint of a run's folder. Damaged ones are said and passed over.

    Raises:
        UsageError: it belongs to a run that differs from this one, and how.
        CheckpointError: there are checkpoints, but none of them is whole.
    """
    folders = checkpoints_in(output)
    for folder in folders:
        try:
            checkpoint = read_checkpoint(folder)
        except CheckpointError as error:
            _log.warning("the checkpoint %s is passed over: %s", folder.name, error)
            continue
        if differences := identity.differences(checkpoint):
            raise UsageError(
                f"the run that was begun in {output} cannot be gone on with, since {'; '.join(differences)}. Put that "
                "back, or start over: `--restart` (`resume=False` in Python)."
            )
        return folder, checkpoint
    if folders:
        raise CheckpointError(
            f"`{output}` must hold a whole checkpoint for the run to go on, but all {len(folders)} are damaged. Start "
            "over: `--restart` (`resume=False` in Python)."
        )
    return None


def _flat(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _changed_settings(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    for key in sorted({*before, *now}):
        old, new = before.get(key), now.get(key)
        if old == new:
            continue
        if all(value is None or isinstance(value, bool | int | float | str) for value in (old, new)):
            yield f"`{key}` was {_shown(old)} and is {_shown(new)}"
        elif key.startswith("training."):
            yield f"`{key}` was {json.dumps(old)} and is {json.dumps(new)}"
        else:  # other lists may hold labels
            yield f"`{key}` is not what it was"


def _shown(value: Any) -> str:
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _digests(documents: Sequence[Document], salt: str) -> torch.Tensor:
    """int64 (n, 2): of each document its id and all else that training looks at."""

    def digest(content: str) -> int:
        hashed = hashlib.blake2b(content.encode("ascii"), digest_size=8, key=salt.encode())
        return int.from_bytes(hashed.digest(), "little", signed=True)

    rows = [
        (
            digest(json.dumps(d.id)),
            digest(json.dumps([d.text, d.label, d.labels, d.target, d.spans, d.language, d.question, d.answers])),
        )
        for d in documents
    ]
    return torch.tensor(rows, dtype=torch.int64).reshape(len(rows), 2)


def _changed_documents(before: torch.Tensor, now: torch.Tensor) -> str:
    if before.shape == now.shape and torch.equal(before, now):
        return ""
    old, new = (dict(part.tolist()) for part in (before, now))
    counts = {
        "new": len(new.keys() - old.keys()),
        "gone": len(old.keys() - new.keys()),
        "changed": sum(old[key] != new[key] for key in old.keys() & new.keys()),
    }
    parts = [f"{count} {'is' if count == 1 else 'are'} {what}" for what, count in counts.items() if count]
    return ", ".join(parts) or "stand in another order"
