"""What a comparison of strategies found, as values and as a table.

Shape letters: B documents, C labels.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from longdoc.tasks.compared_task import ComparedTask

__all__ = ["Comparison", "Entry", "comparison_table"]


@dataclass(frozen=True)
class Entry:
    """What one way of reading gave.

    Attributes:
        name: of the strategy.
        reads: `all` of a document, or what of it.
        validation: the measure on the validation documents by which the best are chosen.
        metrics: on the test documents, as `longdoc evaluate` gives them.
        answers: what the paired test compares, as the task says.
        tokens: that the encoder computed for the test documents, overlaps and special tokens included.
        seconds: that reading the test documents took, one after the other strategy on the same machine; where their
            rows were found on disk, those of the first documents, scaled up.
        folder: of the model; None where there is none to save.
        by_words: whether words count by themselves, beside what the encoder makes of them.
    """

    name: str
    reads: str
    validation: float
    metrics: Mapping[str, Any]
    answers: NDArray[Any]
    tokens: int
    seconds: float
    folder: Path | None = None
    by_words: bool = False


@dataclass(frozen=True)
class Comparison:
    """All entries, the paired test of the two that matter, and what follows.

    Attributes:
        task: of the documents; its automatic measure decides.
        documents: numbers of training, validation and test documents.
        held_out: False where there are no test documents and the validation documents, which chose the epochs, were
            measured instead: the numbers then flatter.
        entries: in the order of the table.
        test: see `paired_test`; between the best that reads all and the best that does not.
        verdict: one sentence.
        left_out: strategies that were not tried, and why.
    """

    task: ComparedTask
    documents: tuple[int, int, int]
    held_out: bool
    entries: list[Entry]
    test: dict[str, Any]
    verdict: str
    left_out: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "task": self.task.name,
            "documents": dict(zip(("train", "validation", "test"), self.documents, strict=True)),
            "held_out": self.held_out,
            "strategies": [
                {
                    "name": entry.name,
                    "reads": entry.reads,
                    "validation": {self.task.chosen_by: None if math.isnan(entry.validation) else entry.validation},
                    "tokens": entry.tokens,
                    "seconds": round(entry.seconds, 3),
                    "model": None if entry.folder is None else entry.folder.name,
                    **{name: entry.metrics.get(name) for name in self.task.table},
                    "intervals": {name: entry.metrics.get("intervals", {}).get(name) for name in self.task.table},
                }
                for entry in self.entries
            ],
            "left_out": dict(self.left_out),
            "paired_test": self.test,
            "verdict": self.verdict,
        }


def comparison_table(comparison: Comparison) -> str:
    """Markdown: measures with 95 % intervals, cost, and the verdict."""
    measures = comparison.task.table
    train, validation, test = comparison.documents
    lines = [
        "| strategy | " + " | ".join(name.replace("_", " ") for name in measures) + " | tokens | seconds |",
        "| --- |" + " --- |" * (len(measures) + 2),
    ]
    for entry in comparison.entries:
        cells = []
        for name in measures:
            value, ends = entry.metrics.get(name), entry.metrics.get("intervals", {}).get(name)
            cell = "-" if value is None else f"{value:.3f}"
            cells.append(cell if value is None or not ends else f"{cell} ({ends[0]:.3f} to {ends[1]:.3f})")
        tokens = f"{entry.tokens:,}" if entry.tokens else "-"
        lines.append(f"| {entry.name} | " + " | ".join(cells) + f" | {tokens} | {entry.seconds:.1f} |")
    measured = (
        f"{test} test documents"
        if comparison.held_out
        else (f"the {validation} validation documents, which also chose the epochs: the numbers flatter")
    )
    lines += [
        "",
        f"Trained on {train} documents with the encoder frozen, epochs chosen on {validation}, measured on {measured}. "
        "Tokens and seconds: what reading those took.",
        *(f"Not tried: {name}, since {reason}." for name, reason in comparison.left_out.items()),
        "",
        comparison.verdict,
    ]
    return "\n".join(lines) + "\n"
