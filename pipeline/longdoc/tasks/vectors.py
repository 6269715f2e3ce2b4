"""Tasks that make a vector of each document, learned from which documents are alike.

The vector is that of `longdoc embed`: states of all tokens pooled, each token once. A document learns from the others
of its batch, on its own process. Nothing is learned of a label by itself, so new ones may come later.

Shape letters: B documents, D width of a vector.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from longdoc.decide import Decisions
from longdoc.errors import ConfigurationError, UsageError, counted
from longdoc.metrics.neighbours import Neighbours
from longdoc.nn.readout import EmbeddingReadout, EmbeddingReadoutConfig, Readout, ReadoutKind
from longdoc.tasks.base import Task
from longdoc.tasks.decision_settings import DecisionConfig
from longdoc.tasks.losses import LossWishes
from longdoc.tasks.outcomes import MISSING, Outcome, chance_of
from longdoc.text.tokens_read import TokensRead
from longdoc.types import Document, DocumentPrediction, DocumentResult

__all__ = ["Floats", "VectorTask", "digest_of", "temperature_of", "vectors_of"]

Floats = NDArray[np.float64]


class VectorTask(Task):
    """A vector for each document; those that are alike are to be near each other."""

    pipeline_tag = "feature-extraction"
    learns_in_twos = True
    metric_names = ("loss", "precision_at_1", "mean_reciprocal_rank", "recall_at_10", "mean_average_precision")
    table = ("precision_at_1", "mean_reciprocal_rank", "mean_average_precision")
    own_labels = ("vector",)

    # -- labels: which documents are alike, and nothing else

    def collect_labels(self, documents: Sequence[Document]) -> tuple[str, ...]:
        return self.own_labels

    def gold_labels(self, document: Document) -> tuple[str, ...]:
        return ()

    def check_labels(self, named: Sequence[str]) -> None:
        if tuple(named) != self.own_labels:
            raise ConfigurationError(
                f"`model.labels` must be null for the task {self.name}, which makes vectors and knows no labels, but "
                "names some. Leave it out."
            )

    def check_batches(self, batches: Sequence[Sequence[torch.Tensor]]) -> Sequence[str]:
        total = Counter(int(target.flatten()[0]) for batch in batches for target in batch)
        beside = [Counter(int(target.flatten()[0]) for target in batch) for batch in batches]
        unpaired = [group for counts in beside for group, count in counts.items() if count == 1]
        of_one_kind = sum(len(counts) == 1 < counts.total() for counts in beside)
        if not any(1 < len(counts) < counts.total() for counts in beside):
            raise ConfigurationError(
                "`training.per_device_train_batch_size` must be so large that alike documents and others meet in a "
                f"batch, but of {len(batches)} in the first epoch not one holds both. Raise it, to an even number "
                "from 4 on."
            )
        alone = sum(total[group] == 1 for group in unpaired)
        remarks = []
        if alone:
            remarks.append(
                f"{counted(alone, 'training document')} of {total.total()} "
                f"{'has' if alone == 1 else 'have'} nothing here that is alike: only others are told apart from "
                f"{'it' if alone == 1 else 'them'}."
            )
        if missed := len(unpaired) - alone:
            remarks.append(
                f"{counted(missed, 'training document')} of {total.total()} "
                f"{'has' if missed == 1 else 'have'} nothing alike in the batch, in the first epoch, and "
                f"{'is' if missed == 1 else 'are'} not brought nearer to any. A larger "
                "`training.per_device_train_batch_size`, an even one, leaves fewer."
            )
        if of_one_kind:
            remarks.append(
                f"{of_one_kind} of {len(batches)} batches of the first epoch hold nothing but documents that are "
                "alike, and nothing to tell them apart from. A larger `training.per_device_train_batch_size` leaves "
                "fewer."
            )
        return remarks

    # -- the readout

    def default_readout(self) -> ReadoutKind:
        return EmbeddingReadoutConfig()

    def check_readout(self, readout: ReadoutKind) -> None:
        if not isinstance(readout, EmbeddingReadoutConfig):
            raise ValueError(
                f"`readout` must be of the kind embedding for the task {self.name}, but is {readout.kind} instead"
            )

    # -- learning

    def check_loss(self, wishes: LossWishes, labels: Sequence[str] | None = None) -> None:
        super().check_loss(wishes, labels)
        if wishes.class_weights != "none":
            raise ConfigurationError(
                f"`training.class_weights` must be none for the task {self.name}, which has no classes, but is "
                f"{wishes.class_weights} instead."
            )

    # -- answering

    def check_answering(self) -> None:
        raise UsageError(
            f"a model of the task {self.name} makes vectors, and has nothing to say of a document by itself. Use "
            "`longdoc embed` or `Pipeline.embed`; how good the vectors are says `longdoc evaluate`."
        )

    def answer(
        self,
        scores: NDArray[Any],
        labels: Sequence[str],
        decisions: Decisions,
        tokens: TokensRead | None = None,
        readout: Readout | None = None,
    ) -> dict[str, Any]:
        """As in `Task`: the vector as `logits`, to be measured beside those of other documents."""
        return {"logits": tuple(np.asarray(scores, dtype=np.float64)[0].tolist())}

    def show(
        self,
        predictions: Sequence[DocumentPrediction],
        single: bool,
        top_k: int | None,
        labels: Sequence[str],
        texts: Sequence[str] = (),
    ) -> Any:
        """There is nothing to show: see `check_answering`."""
        self.check_answering()

    # -- measuring

    @abstractmethod
    def neighbours(self, documents: Sequence[Document], vectors: Floats) -> tuple[list[str], Neighbours]:
        """What each document is alike by, in a word that reports may show, and what it finds, from vectors (B, D)."""

    def outcome(self, document: Document, result: DocumentResult, labels: Sequence[str]) -> Outcome:
        return self.outcomes([document], [result], labels)[0]

    def outcomes(
        self, documents: Sequence[Document], results: Sequence[DocumentResult], labels: Sequence[str]
    ) -> list[Outcome]:
        """Each document among all others: what is said of it is what the nearest one is alike by."""
        words, found = self.neighbours(documents, vectors_of(results))
        outcomes = []
        for number, word in enumerate(words):
            nearest, cosine = int(found.nearest[number]), float(found.cosine[number])
            score = float(found.average_precision[number])
            if nearest < 0:
                outcomes.append(Outcome(score, right=word, said=MISSING))
                continue
            is_wrong = found.precision_at_1[number] == 0
            surprise = max(0.0, cosine) if is_wrong else 0.0
            outcomes.append(Outcome(score, surprise, word, chance_of(words[nearest], cosine)))
        return outcomes

    # -- deciding

    def check_decisions(self, settings: DecisionConfig, documents: int) -> None:
        if settings.coverage is not None:
            raise ConfigurationError(
                f"`training.decisions.coverage` must be null for the task {self.name}, which has no labels to abstain "
                f"from, but is {settings.coverage} instead."
            )

    def fit(
        self,
        documents: Sequence[Document],
        predictions: Sequence[DocumentPrediction],
        labels: Sequence[str],
        settings: DecisionConfig,
        readout: Readout | None = None,
    ) -> Decisions:
        """A vector has nothing to decide."""
        return Decisions()


def digest_of(word: str) -> int:
    """A whole number below 2**63 in size for a word, the same in every process and every run."""
    return int.from_bytes(hashlib.sha256(word.encode("utf-8", "surrogatepass")).digest()[:8], "big", signed=True)


def temperature_of(readout: Readout | None) -> float:
    return readout.temperature if isinstance(readout, EmbeddingReadout) else EmbeddingReadoutConfig().temperature


def vectors_of(results: Sequence[DocumentResult]) -> Floats:
    """float64 (B, D); a row of NaN where a document has none."""
    given = [result.logits if isinstance(result, DocumentPrediction) else () for result in results]
    width = max(map(len, given), default=0)
    return np.array([row or (np.nan,) * width for row in given], dtype=np.float64).reshape(len(given), width)
