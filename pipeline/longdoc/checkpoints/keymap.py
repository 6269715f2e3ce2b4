"""Between the tensor names of a checkpoint family and ours: ordered, reversible, strict.

A rule is a pair of module names, theirs and ours, in which `{}` stands for a number; the tensor's own name (`weight`,
`bias`) follows. The first rule that fits is taken. Where one tensor of theirs holds several of ours, a `Fusion` takes
them apart and puts them together. Missing, unexpected, misshapen and broken tensors are collected and raised in one
error, so that one look shows what a checkpoint is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from longdoc.errors import CheckpointError

__all__ = ["QUERY_KEY_VALUE", "Fusion", "KeyMap", "assign"]

_SHOWN = 8  # names of each kind that a message lists

QUERY_KEY_VALUE = ("layers.{}.attention.query", "layers.{}.attention.key", "layers.{}.attention.value")
"""The usual parts of a fused projection."""


class KeyMap:
    """Reversible renaming.

    Args:
        rules: modules (theirs, ours), for example `("encoder.layer.{}.output.dense", "layers.{}.feed_forward.output")`.
        tensors: tensors (theirs, ours) whose own names differ too; they are tried first.
    """

    def __init__(self, rules: Sequence[tuple[str, str]], tensors: Sequence[tuple[str, str]] = ()) -> None:
        pairs = [*tensors, *((f"{theirs}.{{leaf}}", f"{ours}.{{leaf}}") for theirs, ours in rules)]
        self._to_ours = [(_pattern(theirs), _template(ours)) for theirs, ours in pairs]
        self._to_theirs = [(_pattern(ours), _template(theirs)) for theirs, ours in pairs]

    def to_ours(self, name: str) -> str | None:
        """Our name of their tensor, None where no rule fits."""
        return _rename(name, self._to_ours)

    def to_theirs(self, name: str) -> str | None:
        """Their name of our tensor, None where no rule fits."""
        return _rename(name, self._to_theirs)


@dataclass(frozen=True)
class Fusion:
    """A module of theirs whose tensors are several of ours, one under the other (axis 0).

    Attributes:
        theirs: the name of the module, with `{}` for a number.
        ours: the names of its parts, from the top.
        by_head: the parts alternate from head to head (head 0's query, key and value, head 1's ...) instead of each
            being in one piece.
    """

    theirs: str
    ours: tuple[str, ...]
    by_head: bool = False

    def split(self, name: str, tensor: Tensor, heads: int) -> dict[str, Tensor]:
        """Our tensors from their tensor `name`; nothing where it is not this module's."""
        keymaps = [KeyMap([(self.theirs, ours)]) for ours in self.ours]
        names = [renamed for keymap in keymaps if (renamed := keymap.to_ours(name)) is not None]
        if not names:
            return {}
        if self.by_head and tensor.shape[0] % (heads * len(names)) == 0:
            pieces = tensor.reshape(heads, len(names), -1, *tensor.shape[1:]).unbind(1)
            return dict(zip(names, (piece.flatten(0, 1) for piece in pieces), strict=True))
        return dict(zip(names, tensor.tensor_split(len(names)), strict=True))

    def join(self, tensors: Mapping[str, Tensor], heads: int) -> tuple[dict[str, Tensor], set[str]]:
        """Their tensors from all of ours, and which of ours are in them."""
        joined: dict[str, Tensor] = {}
        used: set[str] = set()
        for name in tensors:
            if (theirs := KeyMap([(self.theirs, self.ours[0])]).to_theirs(name)) is None:
                continue
            names = [KeyMap([(self.theirs, ours)]).to_ours(theirs) for ours in self.ours]
            parts = [tensors[part] for part in names if part is not None]
            if self.by_head:
                pieces = [part.reshape(heads, -1, *part.shape[1:]) for part in parts]
                joined[theirs] = torch.stack(pieces, 1).flatten(0, 2)
            else:
                joined[theirs] = torch.cat(parts)
            used.update(part for part in names if part is not None)
        return joined, used


def _pattern(template: str) -> re.Pattern[str]:
    escaped = re.escape(template).replace(r"\{\}", r"(\d+)")
    return re.compile(escaped.replace(r"\{leaf\}", r"([^.]+)"))


def _template(template: str) -> str:
    return template.replace("{leaf}", "{}")


def _rename(name: str, rules: Iterable[tuple[re.Pattern[str], str]]) -> str | None:
    for pattern, template in rules:
        if found := pattern.fullmatch(name):
            return template.format(*found.groups())
    return None


def assign(
    module: nn.Module,
    tensors: Mapping[str, Tensor],
    source: str,
    unexpected: Sequence[str] = (),
    spell: Callable[[str], str] = str,
) -> None:
    """Put tensors into a module that was built on the meta device (or anywhere), all of them or none.

    Args:
        module: takes the tensors as its parameters, in float32 where they are 16 bits wide.
        tensors: by our names.
        source: what the message calls the checkpoint.
        unexpected: names that were found and belong nowhere; they are faults too.
        spell: our name of a tensor -> its name in the files, for the message.

    Raises:
        CheckpointError: names every tensor that is missing, unexpected, of the wrong shape, not floating, or not
            finite.
    """
    wanted = module.state_dict()
    shared = [name for name in wanted if name in tensors]
    misshapen = [name for name in shared if tensors[name].shape != wanted[name].shape]
    faults = {
        "Missing": [spell(name) for name in wanted if name not in tensors],
        "Unexpected": [*unexpected, *(spell(name) for name in tensors if name not in wanted)],
        "Of the wrong shape": [
            f"{spell(name)} ({_shape(tensors[name])} instead of {_shape(wanted[name])})" for name in misshapen
        ],
        "Not floating numbers": [spell(name) for name in shared if not tensors[name].is_floating_point()],
        "Of 8 bits, which are read by nobody without their scales": [
            spell(name) for name in shared if tensors[name].is_floating_point() and not _is_wide(tensors[name])
        ],
        "Not finite (NaN or infinity)": [
            spell(name) for name in shared if _is_wide(tensors[name]) and not bool(tensors[name].isfinite().all())
        ],
    }
    if any(faults.values()):
        found = " ".join(f"{fault}: {_listed(names)}." for fault, names in faults.items() if names)
        raise CheckpointError(
            f"`{source}` must hold exactly the tensors that its configuration describes, but does not. {found} Check "
            "that `config.json` and the weights belong together, and fetch the checkpoint again if it is damaged."
        )
    # Copies: tensors read from a file may be views of it, and a file that changes later must not change a model.
    copies = {
        name: tensor.to(torch.promote_types(tensor.dtype, torch.float32), copy=True) for name, tensor in tensors.items()
    }
    module.load_state_dict(copies, strict=True, assign=True)


def _is_wide(tensor: Tensor) -> bool:
    return tensor.is_floating_point() and tensor.element_size() > 1


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"


def _shape(tensor: Tensor) -> str:
    return "x".join(map(str, tensor.shape)) or "no axes"
