"""The ways of reading a long document that are compared: what is read of it, and how chunks become one answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter

from longdoc.nn.readout import ReadoutConfig
from longdoc.tasks import Task
from longdoc.text.chunking import Keep

__all__ = ["STRATEGIES", "UNMERGED", "Strategy", "strategies_for"]

_READOUT: TypeAdapter[Any] = TypeAdapter(ReadoutConfig)


@dataclass(frozen=True)
class Strategy:
    """One row of the comparison.

    Attributes:
        name: for people, and of its folder.
        keep: what is read of a document.
        readout: a section of a configuration; None = the one that is configured.
    """

    name: str
    keep: Keep
    readout: Mapping[str, Any] | None = field(default_factory=lambda: {"kind": "vectors", "merger": {"kind": "mean"}})


def _vectors(merger: str) -> dict[str, Any]:
    return {"kind": "vectors", "merger": {"kind": merger}}


def _scores(merger: str) -> dict[str, Any]:
    return {"kind": "logits", "merger": {"kind": merger}}


_PARTS: tuple[tuple[str, Keep], ...] = (("head", "head"), ("tail", "tail"), ("head and tail", "head_tail"))

STRATEGIES = (
    *(Strategy(name, keep) for name, keep in _PARTS),
    Strategy("all, mean", "all", _vectors("mean")),
    Strategy("all, max", "all", _vectors("max")),
    Strategy("all, attention", "all", _vectors("attention")),
    Strategy("all, gated attention", "all", _vectors("gated_attention")),
    Strategy("all, hierarchical", "all", _vectors("hierarchical")),
    Strategy("all, max of scores", "all", _scores("max")),
    Strategy("all, log-sum-exp of scores", "all", _scores("logsumexp")),
    Strategy("all, noisy-or of scores", "all", _scores("noisy_or")),
    Strategy("all, label attention", "all", {"kind": "label_attention"}),
)
"""Truncated rows first: what everybody else does. Label attention last: it learns from tokens, so it cannot share the
rows of the others and reads the documents once for itself."""

UNMERGED = tuple(Strategy(name, keep, None) for name, keep in (*_PARTS, ("all", "all")))
"""For answers about places in a text: there is nothing to merge, and the configured readout reads more or less."""


def strategies_for(task: Task) -> list[Strategy]:
    """Those whose readout suits a task; of a task without merging what is read is all that differs."""
    return [strategy for strategy in STRATEGIES if _suits(task, strategy)] or list(UNMERGED)


def _suits(task: Task, strategy: Strategy) -> bool:
    try:
        task.check_readout(_READOUT.validate_python(strategy.readout))
    except ValueError:
        return False
    return True
