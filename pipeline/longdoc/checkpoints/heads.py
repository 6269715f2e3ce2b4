"""How a family's files describe what stands on its encoder: classifiers, taggers, and what else has a head."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import TypeAdapter, ValidationError

from longdoc.checkpoints.keymap import KeyMap
from longdoc.checkpoints.reading import share
from longdoc.errors import CheckpointError
from longdoc.nn.heads import HeadConfig, HeadKind
from longdoc.nn.layers import Activation
from longdoc.nn.pooling import PoolingKind
from longdoc.nn.readout import ReadoutConfig, VectorsReadoutConfig

__all__ = [
    "ClassifierFormat",
    "TaggerFormat",
    "dense_head",
    "head_dropout",
    "plain_answerer",
    "plain_tagger",
    "pooler_head",
]

_HEAD = TypeAdapter[HeadKind](HeadConfig)


@dataclass(frozen=True)
class ClassifierFormat:
    """A family's own model for sequence classification.

    Attributes:
        architecture: transformers' name of the class.
        keys: names of its head's tensors, theirs and ours in a readout that has this head.
        from_hf: `config.json` -> the pooling, and the head as its configuration's fields.
        to_hf: pooling and head -> the keys of `config.json` that say them.
    """

    architecture: str
    keys: KeyMap
    from_hf: Callable[[Mapping[str, Any]], tuple[PoolingKind, dict[str, Any]]]
    to_hf: Callable[[str, Any], dict[str, Any]]

    prefix: ClassVar[str] = ""
    """Where in a readout the tensors of `keys` are."""

    def readout(self, config: Mapping[str, Any]) -> VectorsReadoutConfig:
        """The readout that gives the scores of transformers on texts of one chunk."""
        pooling, head = self.from_hf(config)
        return VectorsReadoutConfig(pooling=pooling, head=_head(head))

    def describe(self, readout: ReadoutConfig, config: Mapping[str, Any]) -> dict[str, Any] | None:
        """The keys of `config.json` for a readout; None where this class is not what the readout is.

        Dropout may differ, since it changes no score.
        """
        pooling, head = getattr(readout, "pooling", None), getattr(readout, "head", None)
        if pooling is None or head is None:
            return None
        said = self.to_hf(pooling, head)
        again = self.readout({**config, **said})
        same = again.pooling == pooling and _scoring(again.head) == _scoring(head)
        return said if same else None


@dataclass(frozen=True)
class TaggerFormat:
    """A family's own model for token classification or question answering: a head that acts on each token.

    Attributes:
        architecture: transformers' name of the class.
        keys: names of its head's tensors, theirs and ours in the head.
        from_hf: `config.json` -> the head as its configuration's fields.
        to_hf: the head -> the keys of `config.json` that say it.
    """

    architecture: str
    keys: KeyMap
    from_hf: Callable[[Mapping[str, Any]], dict[str, Any]]
    to_hf: Callable[[Any], dict[str, Any]] = lambda _: {}

    prefix: ClassVar[str] = "head."
    """Where in a readout the tensors of `keys` are."""

    def head(self, config: Mapping[str, Any]) -> HeadKind:
        """The configuration of the head."""
        return _head(self.from_hf(config))

    def describe(self, readout: ReadoutConfig, config: Mapping[str, Any]) -> dict[str, Any] | None:
        """The keys of `config.json` for the head of a readout; None where this class has no such head.

        Dropout may differ, since it changes no score.
        """
        head = getattr(readout, "head", None)
        if head is None:
            return None
        said = self.to_hf(head)
        return said if _scoring(self.head({**config, **said})) == _scoring(head) else None


def _head(fields: Mapping[str, Any]) -> HeadKind:
    """A head's configuration from what a file says."""
    try:
        return _HEAD.validate_json(json.dumps(fields), strict=True)
    except ValidationError as error:
        faults = ", ".join(sorted({str(fault["loc"][-1]) for fault in error.errors(include_input=False)}))
        raise CheckpointError(
            f"`config.json` must describe a head, but these entries of it are impossible: {faults}."
        ) from None


def _scoring(head: HeadKind) -> dict[str, Any]:
    return head.model_dump(exclude={"dropout", "row_dropout"})


def head_dropout(config: Mapping[str, Any], *names: str, default: float = 0.1) -> float:
    """The first of these keys that says a number."""
    for name in names:
        if config.get(name) is not None:
            return share(config, name, default)
    return default


def pooler_head(architecture: str, prefix: str, *dropouts: str) -> ClassifierFormat:
    """[CLS] -> tanh layer in the base ("pooler") -> dropout -> linear. `dropouts`: keys that may say the dropout."""
    return ClassifierFormat(
        architecture=architecture,
        keys=KeyMap([(f"{prefix}.pooler.dense", "head.dense"), ("classifier", "head.output")]),
        from_hf=lambda config: ("cls", {"kind": "bert_pooler", "dropout": head_dropout(config, *dropouts)}),
        to_hf=lambda _, head: {dropouts[0]: head.dropout} if len(dropouts) > 1 else {},
    )


def dense_head(architecture: str, activation: Activation, *dropouts: str) -> ClassifierFormat:
    """[CLS] -> dropout -> dense -> activation -> dropout -> linear, all in a module `classifier` (RoBERTa)."""

    def from_hf(config: Mapping[str, Any]) -> tuple[PoolingKind, dict[str, Any]]:
        dropout = head_dropout(config, *dropouts)
        return "cls", {"kind": "dense", "activation": activation, "dropout": dropout, "row_dropout": dropout}

    return ClassifierFormat(
        architecture=architecture,
        keys=KeyMap([("classifier.dense", "head.dense"), ("classifier.out_proj", "head.output")]),
        from_hf=from_hf,
        to_hf=lambda _, head: {dropouts[0]: head.dropout} if len(dropouts) > 1 else {},
    )


def plain_tagger(architecture: str, *dropouts: str, default: float = 0.1) -> TaggerFormat:
    """Dropout and one linear layer on each token."""
    return TaggerFormat(
        architecture=architecture,
        keys=KeyMap([("classifier", "output")]),
        from_hf=lambda config: {"kind": "linear", "dropout": head_dropout(config, *dropouts, default=default)},
        to_hf=lambda head: {dropouts[0]: head.dropout} if len(dropouts) > 1 else {},
    )


def plain_answerer(architecture: str, *dropouts: str) -> TaggerFormat:
    """One linear layer on each token, for the start and the end of an answer; most families have no dropout there."""
    return TaggerFormat(
        architecture=architecture,
        keys=KeyMap([("qa_outputs", "output")]),
        from_hf=lambda config: {"kind": "linear", "dropout": head_dropout(config, *dropouts, default=0.0)},
    )
