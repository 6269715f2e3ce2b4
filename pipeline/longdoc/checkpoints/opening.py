"""Opening a checkpoint folder: configuration, family, names, weights. Nothing in the folder is ever executed."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor

from longdoc.checkpoints.bert import BERT
from longdoc.checkpoints.claims import class_by_tensors, classes_named, family_by_tensors
from longdoc.checkpoints.deberta import DEBERTA
from longdoc.checkpoints.distilbert import DISTILBERT
from longdoc.checkpoints.electra import ELECTRA
from longdoc.checkpoints.eurobert import EUROBERT
from longdoc.checkpoints.family import Family
from longdoc.checkpoints.gte import GTE
from longdoc.checkpoints.jina_v2 import JINA_V2, JINA_V2_CODE
from longdoc.checkpoints.jina_v3 import JINA_V3
from longdoc.checkpoints.keymap import KeyMap, assign
from longdoc.checkpoints.longformer import LONGFORMER
from longdoc.checkpoints.megatron import MEGATRON_BERT
from longdoc.checkpoints.modernbert import MODERNBERT
from longdoc.checkpoints.mpnet import MPNET
from longdoc.checkpoints.neobert import NEOBERT
from longdoc.checkpoints.nomic import NOMIC_BERT
from longdoc.checkpoints.reading import check_sizes, encoder_config
from longdoc.checkpoints.roberta import CAMEMBERT, ROBERTA, XLM_ROBERTA
from longdoc.checkpoints.ultrabert import ULTRABERT
from longdoc.checkpoints.weights import read_json, read_tensors, tensor_names
from longdoc.errors import CheckpointError, UsageError
from longdoc.nn import Encoder, EncoderConfig
from longdoc.nn.shapes import shapes_only

__all__ = [
    "FAMILIES",
    "OWN",
    "OWN_ENCODER",
    "OWN_LANGUAGE_HEAD",
    "OWN_MARK",
    "OWN_READOUT",
    "Checkpoint",
    "check_family",
    "family_of",
    "open_checkpoint",
    "read_config",
]

# A new family is one file and one name in this line.
_FAMILIES = (
    *(BERT, ROBERTA, XLM_ROBERTA, CAMEMBERT, DEBERTA, MODERNBERT, ELECTRA, DISTILBERT, MPNET, MEGATRON_BERT),
    *(NOMIC_BERT, GTE, JINA_V3, EUROBERT, ULTRABERT, LONGFORMER, JINA_V2, JINA_V2_CODE, NEOBERT),
)

FAMILIES: dict[str, Family] = {family.model_type: family for family in _FAMILIES}
"""The families by `model_type`."""

OWN = "longdoc"
"""`model_type` of encoders that no family can describe."""
OWN_ENCODER = "longdoc.encoder."
OWN_READOUT = "longdoc.readout."
OWN_LANGUAGE_HEAD = "longdoc.language_head."
"""Beginnings of our own tensor names in a weight file."""
OWN_MARK = "longdoc_settings"
"""Key in the `config.json` of a model folder: it is not whole without its `longdoc.json`."""

_WRAPPINGS = ("module.", "_orig_mod.")

_told: set[Path] = set()
"""Folders of whose code it was said that it is not run: a command may open one twice."""
_without_class: set[Path] = set()
"""Folders of which it was said what they are taken to be."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Checkpoint:
    """What a folder holds.

    Attributes:
        config: its `config.json`.
        encoder: the encoder, in evaluation mode.
        readout: tensors that longdoc saved for the readout, by our names.
        head: tensors of a head of the family, by our names in what has that head; as a rule that for classification.
        language_head: tensors that longdoc saved for a head that guesses tokens, by our names.
        left_aside: names of tensors in the files that belong to neither: other heads, tables that are computed.
    """

    config: Mapping[str, Any]
    encoder: Encoder
    readout: dict[str, Tensor] = field(default_factory=dict)
    head: dict[str, Tensor] = field(default_factory=dict)
    language_head: dict[str, Tensor] = field(default_factory=dict)
    left_aside: tuple[str, ...] = ()

    @property
    def family(self) -> Family | None:
        """The family, None for our own kind."""
        return family_of(self.config)

    @property
    def architectures(self) -> list[str]:
        """transformers' names of the classes that the folder was saved from."""
        named = self.config.get("architectures")
        return [str(name) for name in named] if isinstance(named, list) else []


def family_of(config: Mapping[str, Any]) -> Family | None:
    """The family that a `config.json` belongs to; None = our own kind, or none that we know."""
    claimed = next((family for family in _FAMILIES if family.claims is not None and family.claims(config)), None)
    return claimed or FAMILIES.get(str(config.get("model_type")))


def check_family(folder: Path, config: Mapping[str, Any]) -> None:
    """Refuse a folder whose kind of model nobody here can read.

    Raises:
        CheckpointError: names the families that can be.
    """
    if config.get("model_type") != OWN and family_of(config) is None:
        raise CheckpointError(
            f"`model_type` in `{folder / 'config.json'}` must be one of {', '.join([*FAMILIES, OWN])}, but is "
            f"{config.get('model_type')!r} instead. Choose a checkpoint of one of these families."
        )


def read_config(folder: Path) -> dict[str, Any]:
    """A folder's `config.json`, in the words that transformers has for its family.

    Where it has no `architectures` and the weights hold a head, these say which class it is.

    Raises:
        CheckpointError: it is missing or no object, or says of its family what cannot be followed.
    """
    config = read_json(folder / "config.json")
    told = (each.translate(config) for each in _FAMILIES if each.translate is not None)
    config = next((said for said in told if said is not None), config)
    family = family_of(config)
    if family is None or classes_named(config, folder) or OWN_MARK in config:
        return config
    with contextlib.suppress(CheckpointError):  # whoever wants the weights says what is wrong with them
        if (found := class_by_tensors(family, config, tensor_names(folder))) is not None:
            if folder not in _without_class:
                _without_class.add(folder)
                logger.warning(
                    "`architectures` in %s is not there; by its tensors it is taken to be %s.",
                    folder / "config.json",
                    found,
                )
            return {**config, "architectures": [found]}
    return config


def open_checkpoint(folder: Path, head: Callable[[Family], KeyMap] | None = None) -> Checkpoint:
    """Read a checkpoint folder strictly.

    Args:
        folder: what transformers or longdoc saved.
        head: names of the head whose tensors are wanted; None = the family's head for sequence classification.

    Raises:
        CheckpointError: the family is unknown, the configuration impossible, or the weights are not those that it
            describes; the message names every tensor at fault.
    """
    config = read_config(folder)
    if config.get("auto_map") and folder not in _told:
        _told.add(folder)
        logger.warning(
            "`auto_map` in %s names code of the checkpoint's own (%s). It is ignored: no code of a checkpoint is run.",
            folder / "config.json",
            ", ".join(map(str, config["auto_map"])) if isinstance(config["auto_map"], Mapping) else "no mapping",
        )
    if config.get("model_type") == OWN:
        described = config.get("longdoc_encoder")
        if not isinstance(described, dict):
            raise CheckpointError(f"`longdoc_encoder` must be in `{folder / 'config.json'}`, but is not.")
        return _load(folder, config, encoder_config(**described), None, None)
    check_family(folder, config)
    family = family_of(config)
    assert family is not None
    if config.get("quantization_config"):
        raise CheckpointError(
            f"`quantization_config` in `{folder / 'config.json'}` must not be there, but is: quantised weights are not "
            "read. Take the checkpoint in full precision, or save it so with transformers (`dequantize`)."
        )
    check_sizes(config)
    head_keys = head(family) if head is not None else family.classifier.keys if family.classifier is not None else None
    return _load(folder, config, family.config_from_hf(config), family, head_keys)


def _load(
    folder: Path,
    config: Mapping[str, Any],
    chosen: EncoderConfig,
    family: Family | None,
    head_keys: KeyMap | None,
) -> Checkpoint:
    try:
        with shapes_only():
            encoder = Encoder(chosen)
    except UsageError as error:  # parts that are possible, but not together
        raise CheckpointError(f"`config.json` must describe an encoder, but does not: {error}") from None
    ours: dict[str, Tensor] = {}
    readout: dict[str, Tensor] = {}
    carried: dict[str, Tensor] = {}
    unexpected: list[str] = []
    left_aside: list[str] = []
    head: dict[str, Tensor] = {}
    language_head: dict[str, Tensor] = {}
    stored: dict[str, str] = {}
    seen: set[str] = set()
    stored_names: list[str] = []
    for stored_name, tensor in read_tensors(folder):
        stored_names.append(stored_name)
        name = stored_name if family is None else family.fix_name(stored_name)
        if name in seen:
            unexpected.append(f"{stored_name} (a second time)")
        elif name.startswith(OWN_READOUT):
            readout[name.removeprefix(OWN_READOUT)] = tensor.clone()
        elif name.startswith(OWN_LANGUAGE_HEAD):
            language_head[name.removeprefix(OWN_LANGUAGE_HEAD)] = tensor.clone()
        elif family is None:
            if not name.startswith(OWN_ENCODER):
                unexpected.append(stored_name)
            ours[name.removeprefix(OWN_ENCODER)] = tensor
        elif parts := _parts(family, name, tensor, chosen.heads):
            ours.update(parts)
            stored |= {part: stored_name if len(parts) == 1 else f"{stored_name} ({part})" for part in parts}
        else:
            head_name = None if head_keys is None else head_keys.to_ours(name)
            if head_name is not None:
                head[head_name] = tensor.clone()
            if name.startswith(family.carried):
                carried[name] = tensor.clone()
            elif head_name is None:
                (left_aside if name.startswith(family.ignored) else unexpected).append(stored_name)
        seen.add(name)

    def spell(name: str) -> str:
        return stored.get(name) or (OWN_ENCODER + name if family is None else family.spell(name))

    try:
        assign(encoder, ours, str(folder), unexpected, spell)
    except CheckpointError as error:
        if family is None or not (hint := _hint(config, family, stored_names)):
            raise
        raise CheckpointError(f"{error}{hint}") from None
    encoder.carried = carried
    if left_aside:
        logger.info("left aside in %s, since the encoder does not use them: %s", folder, ", ".join(left_aside))
    return Checkpoint(config, encoder.eval(), readout, head, language_head, tuple(left_aside))


def _hint(config: Mapping[str, Any], family: Family, names: Sequence[str]) -> str:
    """What else the names of tensors that do not fit may be, behind the error that lists them."""
    if wrapped := next((prefix for prefix in _WRAPPINGS if names and all(n.startswith(prefix) for n in names)), None):
        return (
            f" All of them begin with {wrapped!r}: they were saved from a model inside another "
            f"(`DistributedDataParallel`, `torch.compile`). Save the one that is inside (`model.{wrapped[:-1]}`) again."
        )
    true = family_by_tensors([family, *_FAMILIES], names)
    if true is None or true is family:
        return ""
    return f" `model_type` is `{config.get('model_type')}`, but the tensors have the names of `{true.model_type}`."


def _parts(family: Family, name: str, tensor: Tensor, heads: int) -> dict[str, Tensor]:
    """The encoder's tensors that a tensor of theirs holds, by our names."""
    for fusion in family.fusions:
        if parts := fusion.split(name, tensor, heads):
            return parts
    ours = family.keys.to_ours(name)
    return {} if ours is None else {ours: tensor}
