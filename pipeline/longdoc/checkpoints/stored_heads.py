"""How a model's readout stands in its folder: under the names of its family where the family has such a model.

transformers then opens the folder as a classifier, a tagger or a question answerer with the same tensors. What the
family's model has not (scores between neighbouring tags, a sequence of tags for each label, another head) stays under
our names beside the encoder.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from longdoc.checkpoints.family import Family
from longdoc.checkpoints.heads import ClassifierFormat, TaggerFormat
from longdoc.checkpoints.keymap import KeyMap
from longdoc.checkpoints.opening import OWN_READOUT, Checkpoint
from longdoc.checkpoints.settings import ModelSettings
from longdoc.tasks import task_named

__all__ = ["StoredHead", "head_keys", "spelled", "stored_head", "stored_readout"]


@dataclass(frozen=True)
class StoredHead:
    """A readout, or the head in it, as a model of the family.

    Attributes:
        architecture: transformers' name of the class.
        keys: names of its tensors, theirs and ours behind the prefix.
        prefix: where in the readout these tensors are.
        names: what the scores are called there, in their order.
        said: the keys of `config.json` that describe the head.
    """

    architecture: str
    keys: KeyMap
    prefix: str
    names: tuple[str, ...]
    said: dict[str, Any] = field(default_factory=dict)

    def to_theirs(self, name: str) -> str | None:
        """Their name of a tensor of the readout, None where the family's model has none."""
        return self.keys.to_theirs(name.removeprefix(self.prefix)) if name.startswith(self.prefix) else None


def stored_head(family: Family | None, settings: ModelSettings, config: Mapping[str, Any]) -> StoredHead | None:
    """How a model's readout is saved; None = under our names alone.

    Args:
        family: that of the encoder; None = ours.
        settings: of the model.
        config: `config.json`, what is said of the encoder.
    """
    stored, format = _stored(family, settings), _format(family, settings)
    if stored is None or format is None:
        return None
    said = format.describe(settings.readout, config)
    return None if said is None else StoredHead(stored.architecture, stored.keys, stored.prefix, stored.names, said)


def head_keys(family: Family, settings: ModelSettings) -> KeyMap:
    """Names under which tensors of the readout may be in a folder."""
    format = _format(family, settings)
    return KeyMap([]) if format is None else format.keys


def stored_readout(checkpoint: Checkpoint, settings: ModelSettings) -> tuple[dict[str, Tensor], StoredHead | None]:
    """The tensors of a model's readout, by our names, and how its folder says that they are stored.

    Folders from before taggers and question answerers had the family's names have them all under ours, and so has a
    readout that is more than the family's model.
    """
    stored = _stored(checkpoint.family, settings)
    prefix = "" if stored is None else stored.prefix
    tensors = {prefix + name: tensor for name, tensor in checkpoint.head.items()}
    said = stored is not None and stored.architecture in checkpoint.architectures
    return tensors | checkpoint.readout, stored if said else None


def spelled(stored: StoredHead | None, name: str) -> str:
    """The name in the files of a tensor of the readout."""
    return (None if stored is None else stored.to_theirs(name)) or OWN_READOUT + name


def _format(family: Family | None, settings: ModelSettings) -> ClassifierFormat | TaggerFormat | None:
    """The family's model that does what the readout does, as far as the kind of task says."""
    if family is None:
        return None
    if task_named(settings.task).problem_type is not None:
        return family.classifier
    kind = settings.readout.token_model
    return None if kind is None else {"tagger": family.tagger, "answerer": family.answerer}[kind]


def _stored(family: Family | None, settings: ModelSettings) -> StoredHead | None:
    format, names = _format(family, settings), settings.readout.score_names(settings.labels)
    if format is None or names is None:
        return None
    return StoredHead(format.architecture, format.keys, format.prefix, names)
