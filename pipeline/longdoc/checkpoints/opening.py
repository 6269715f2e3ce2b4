"""Opening a checkpoint folder: configuration, family, names, weights. Nothing in the folder is ever executed."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from longdoc.checkpoints import bert
from longdoc.checkpoints.family import Family, encoder_config
from longdoc.checkpoints.keymap import assign
from longdoc.checkpoints.weights import read_json, read_tensors
from longdoc.errors import CheckpointError
from longdoc.nn import Encoder, EncoderConfig

__all__ = ["FAMILIES", "OWN", "OWN_ENCODER", "OWN_READOUT", "Checkpoint", "open_checkpoint"]

# A new family is one file and one name in this line.
FAMILIES: dict[str, Family] = {family.model_type: family for family in (bert.BERT,)}

OWN = "longdoc"
"""`model_type` of encoders that no family can describe."""
OWN_ENCODER = "longdoc.encoder."
OWN_READOUT = "longdoc.readout."
"""Beginnings of our own tensor names in a weight file."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Checkpoint:
    """What a folder holds.

    Attributes:
        config: its `config.json`.
        encoder: the encoder, in evaluation mode.
        readout: tensors that longdoc saved for the readout, by our names.
        head: tensors of the family's own classification head, by our names in a readout that has that head.
    """

    config: Mapping[str, Any]
    encoder: Encoder
    readout: dict[str, Tensor] = field(default_factory=dict)
    head: dict[str, Tensor] = field(default_factory=dict)

    @property
    def family(self) -> Family | None:
        """The family, None for our own kind."""
        return FAMILIES.get(self.config["model_type"])


def open_checkpoint(folder: Path) -> Checkpoint:
    """Read a checkpoint folder strictly.

    Raises:
        CheckpointError: the family is unknown, the configuration impossible, or the weights are not those that it
            describes; the message names every tensor at fault.
    """
    config = read_json(folder / "config.json")
    if config.get("auto_map"):
        logger.warning(
            "`auto_map` in %s names code of the checkpoint's own (%s). It is ignored: no code of a checkpoint is run.",
            folder / "config.json",
            ", ".join(map(str, config["auto_map"])) if isinstance(config["auto_map"], Mapping) else "no mapping",
        )
    model_type = config.get("model_type")
    if model_type == OWN:
        described = config.get("longdoc_encoder")
        if not isinstance(described, dict):
            raise CheckpointError(f"`longdoc_encoder` must be in `{folder / 'config.json'}`, but is not.")
        return _load(folder, config, encoder_config(**described), None)
    if model_type not in FAMILIES:
        raise CheckpointError(
            f"`model_type` in `{folder / 'config.json'}` must be one of {', '.join([*FAMILIES, OWN])}, but is "
            f"{model_type!r} instead. Choose a checkpoint of one of these families."
        )
    family = FAMILIES[model_type]
    return _load(folder, config, family.config_from_hf(config), family)


def _load(folder: Path, config: Mapping[str, Any], chosen: EncoderConfig, family: Family | None) -> Checkpoint:
    with torch.device("meta"):
        encoder = Encoder(chosen)
    ours: dict[str, Tensor] = {}
    readout: dict[str, Tensor] = {}
    carried: dict[str, Tensor] = {}
    unexpected: list[str] = []
    head: dict[str, Tensor] = {}
    seen: set[str] = set()
    for stored_name, tensor in read_tensors(folder):
        name = stored_name if family is None else family.fix_name(stored_name)
        known = True
        if name in seen:
            unexpected.append(f"{stored_name} (a second time)")
        elif name.startswith(OWN_READOUT):
            readout[name.removeprefix(OWN_READOUT)] = tensor.clone()
        elif family is None:
            known = name.startswith(OWN_ENCODER)
            ours[name.removeprefix(OWN_ENCODER)] = tensor
        elif (ours_name := family.keys.to_ours(name)) is not None:
            ours[ours_name] = tensor
        else:
            known = name.startswith((*family.ignored, *family.carried))
            if (head_name := family.head_keys.to_ours(name)) is not None:
                head[head_name] = tensor.clone()
                known = True
            if name.startswith(family.carried):
                carried[name] = tensor.clone()
        if not known:
            unexpected.append(stored_name)
        seen.add(name)
    assign(encoder, ours, str(folder), unexpected)
    encoder.carried = carried
    return Checkpoint(config, encoder.eval(), readout, head)
