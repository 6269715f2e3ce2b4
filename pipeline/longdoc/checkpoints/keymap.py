"""Between the tensor names of a checkpoint family and ours: ordered, reversible, strict.

A rule is a pair of module names, theirs and ours, in which `{}` stands for a number; the tensor's own name (`weight`,
`bias`) follows. The first rule that fits is taken. Missing, unexpected, misshapen and broken tensors are collected and
raised in one error, so that one look shows what a checkpoint is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor, nn

from longdoc.errors import CheckpointError

__all__ = ["KeyMap", "assign"]

_SHOWN = 8  # names of each kind that a message lists


class KeyMap:
    """Reversible renaming.

    Args:
        rules: (theirs, ours), for example `("encoder.layer.{}.output.dense", "layers.{}.feed_forward.output")`.
    """

    def __init__(self, rules: Sequence[tuple[str, str]]) -> None:
        self.rules = tuple(rules)
        self._to_ours = [(_pattern(theirs), ours) for theirs, ours in rules]
        self._to_theirs = [(_pattern(ours), theirs) for theirs, ours in rules]

    def to_ours(self, name: str) -> str | None:
        """Our name of their tensor, None where no rule fits."""
        return _rename(name, self._to_ours)

    def to_theirs(self, name: str) -> str | None:
        """Their name of our tensor, None where no rule fits."""
        return _rename(name, self._to_theirs)


def _pattern(template: str) -> re.Pattern[str]:
    return re.compile(r"(\d+)".join(re.escape(part) for part in template.split("{}")) + r"\.([^.]+)")


def _rename(name: str, rules: Iterable[tuple[re.Pattern[str], str]]) -> str | None:
    for pattern, template in rules:
        if found := pattern.fullmatch(name):
            *numbers, leaf = found.groups()
            return f"{template.format(*numbers)}.{leaf}"
    return None


def assign(module: nn.Module, tensors: Mapping[str, Tensor], source: str, unexpected: Sequence[str] = ()) -> None:
    """Put tensors into a module that was built on the meta device (or anywhere), all of them or none.

    Args:
        module: takes the tensors as its parameters, in float32 where they are 16 bits wide.
        tensors: by our names.
        source: what the message calls the checkpoint.
        unexpected: names that were found and belong nowhere; they are faults too.

    Raises:
        CheckpointError: names every tensor that is missing, unexpected, of the wrong shape, not floating, or not
            finite.
    """
    wanted = module.state_dict()
    shared = [name for name in wanted if name in tensors]
    misshapen = [name for name in shared if tensors[name].shape != wanted[name].shape]
    faults = {
        "Missing": [name for name in wanted if name not in tensors],
        "Unexpected": [*unexpected, *(name for name in tensors if name not in wanted)],
        "Of the wrong shape": [
            f"{name} ({_shape(tensors[name])} instead of {_shape(wanted[name])})" for name in misshapen
        ],
        "Not floating numbers": [name for name in shared if not tensors[name].is_floating_point()],
        "Not finite (NaN or infinity)": [
            name for name in shared if tensors[name].is_floating_point() and not bool(tensors[name].isfinite().all())
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


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"


def _shape(tensor: Tensor) -> str:
    return "x".join(map(str, tensor.shape)) or "no axes"
