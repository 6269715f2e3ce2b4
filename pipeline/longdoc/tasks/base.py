"""What a task says of itself: its labels, targets and loss, how scores become an answer, and how answers are measured.

A task is a value without state. What it could be told (a scheme of tags, a decoder) belongs to the readout, which is
handed to every method that may need it.

Shape letters: B documents, C scores of a row, T tokens of a document that are read, S rows of scores of a document: 1
where a task answers for the document as a whole, T where it answers for its tokens.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal

import torch
from numpy.typing import NDArray

from longdoc.decide import Decisions
from longdoc.errors import UsageError
from longdoc.nn import EncoderConfig
from longdoc.nn.readout import Readout, ReadoutKind, VectorsReadoutConfig
from longdoc.tasks.decision_settings import DecisionConfig
from longdoc.tasks.gold import Purpose, refuse_missing, refuse_unknown
from longdoc.tasks.losses import LossWishes, refuse_loss, refuse_positive_weights
from longdoc.tasks.outcomes import Outcome
from longdoc.text.chunking import Chunker, PreparedDocument, prepare_many
from longdoc.text.tokenizing import DocumentTokenizer
from longdoc.text.tokens_read import TokensRead
from longdoc.types import Document, DocumentFailure, DocumentPrediction, DocumentResult

__all__ = ["ClassWeights", "DocumentLoss", "Task"]

DocumentLoss = Callable[[torch.Tensor, Sequence[torch.Tensor]], torch.Tensor]
"""Scores of B documents, what `Readout.documents` gives for them, and their B targets -> (B,) losses, float32 or
finer."""

ClassWeights = Literal["none", "balanced"]


class Task(ABC):
    """What is asked of a document. One kind a file; the list of kinds is in `tasks/__init__.py`.

    Attributes:
        name: its word in configurations.
        field: of a `Document`, what holds the right answer.
        problem_type: transformers' word for it in `config.json`; None where it has none for such scores.
        pipeline_tag: what model hubs call such a task.
        needs_tokens: whether targets and answers need the places of tokens in the text.
        keeps_loss: whether the loss of a document is known only while its scores are there.
        learns_in_twos: whether documents learn from others of their batch: those with the same first number in their
            target.
        metric_names: what can decide on the best epoch, beside `auto`.
        automatic: what `auto` means.
        lower_is_better: names of the measures of which less is better.
        table: the measures that a table of several models shows.
        outcome_name: what the score of one document's `outcome` is; the mean over documents is drawn in reports.
        own_labels: the names of the scores, where they are the same for every model.
        row_kind: what the rows of its jobs are called in `jobs/row_kinds.py`.
        asks: whether a document needs a question.
        ordered: whether the model's labels stand from low to high.
    """

    name: ClassVar[str]
    field: ClassVar[str]
    problem_type: ClassVar[str | None] = None
    pipeline_tag: ClassVar[str] = "text-classification"
    needs_tokens: ClassVar[bool] = False
    keeps_loss: ClassVar[bool] = False
    learns_in_twos: ClassVar[bool] = False
    metric_names: ClassVar[tuple[str, ...]]
    automatic: ClassVar[str]
    lower_is_better: ClassVar[frozenset[str]] = frozenset({"loss"})
    table: ClassVar[tuple[str, ...]]
    outcome_name: ClassVar[str]
    own_labels: ClassVar[tuple[str, ...]] = ()
    row_kind: ClassVar[str] = "predictions"
    asks: ClassVar[bool] = False
    ordered: ClassVar[bool] = False

    # -- documents

    def check_tokenizer(self, tokenizer: DocumentTokenizer, encoder: EncoderConfig) -> None:
        """Refuse a tokenizer with which documents could not be made ready for this encoder.

        Raises:
            ConfigurationError: such is this one.
        """
        return None

    def prepare(
        self, documents: Sequence[Document], tokenizer: DocumentTokenizer, chunker: Chunker
    ) -> list[PreparedDocument | DocumentFailure]:
        """Tokens and chunks of documents, failures in their places."""
        return prepare_many(documents, tokenizer, chunker, self.needs_tokens)

    def asked(self, texts: Any, question: Any, context: Any) -> Any:
        """What `Pipeline.__call__` was given as one text or document, or a list of them.

        Raises:
            UsageError: the task asks no questions, but there is one.
        """
        if question is not None or context is not None:
            raise UsageError(
                f"`question` and `context` belong to models that answer questions, but this one's task is {self.name}. "
                "Pass texts."
            )
        return texts

    # -- labels

    @abstractmethod
    def collect_labels(self, documents: Sequence[Document]) -> tuple[str, ...]:
        """The label names that documents show, in the order of a new model.

        Raises:
            DataError: they are too few, or nobody could say their order.
        """

    @abstractmethod
    def gold_labels(self, document: Document) -> tuple[str, ...]:
        """The labels that a document has."""

    def check_labels(self, named: Sequence[str]) -> None:
        """Refuse label names of a configuration with which there is nothing to do.

        Raises:
            ConfigurationError: so are these.
        """
        return None

    def check_gold(
        self, documents: Sequence[Document], labels: Sequence[str] | None, purpose: Purpose = "training"
    ) -> None:
        """Refuse documents that cannot be learned from or measured by: before the long part, all faults of a kind at
        once.

        Args:
            labels: that the model knows; None = any will do.
            purpose: what the documents are for; a model that is measured has its task and labels for good.

        Raises:
            DataError: documents without the field that the task needs, with labels that the model does not know, or
                with a value that cannot be used.
        """
        missing = [number for number, document in enumerate(documents) if getattr(document, self.field) is None]
        refuse_missing(missing, documents, self.name, self.field, purpose)
        self.check_values(documents, purpose)
        if labels is not None:
            given = [self.gold_labels(document) for document in documents]
            refuse_unknown(given, labels, purpose, documents)

    def check_values(self, documents: Sequence[Document], purpose: Purpose) -> None:
        """Refuse right answers that cannot be used, where every document has one."""
        return None

    def check_validation(self, documents: Sequence[Document], metric: str) -> None:
        """Refuse validation documents on which `metric` has no value, whatever is answered."""
        return None

    def unfold(self, documents: Sequence[Document], purpose: Purpose) -> Sequence[Document]:
        """The documents that are learned from or measured by, where a record that `check_gold` has let pass is more
        than one; of those that come from here nothing more comes.
        """
        return documents

    # -- the head

    def classes(self, labels: Sequence[str], readout: ReadoutKind) -> int:
        """C: how many scores a row has."""
        return len(labels)

    def default_readout(self) -> ReadoutKind:
        """The readout where none is asked for."""
        return VectorsReadoutConfig()

    def check_readout(self, readout: ReadoutKind) -> None:
        """Refuse a readout that cannot answer this task.

        Raises:
            ValueError: it cannot; the sentence says which can.
        """
        if readout.scored != "documents":
            raise ValueError(
                f"`readout` must score whole documents for the task {self.name}, but the kind {readout.kind} scores "
                f"{readout.scored}. Choose vectors, logits or label_attention, or another `model.task`."
            )

    def settle(self, readout: ReadoutKind, documents: Sequence[Document]) -> ReadoutKind:
        """The readout with what it leaves to the training documents, which `check_gold` has let pass."""
        return readout

    # -- learning

    @abstractmethod
    def target(
        self,
        document: Document,
        labels: Sequence[str],
        tokens: TokensRead | None = None,
        readout: Readout | None = None,
    ) -> torch.Tensor:
        """What the loss compares scores with, for a document that `check_gold` has let pass."""

    def misfits(
        self,
        document: Document,
        labels: Sequence[str],
        tokens: TokensRead | None = None,
        readout: Readout | None = None,
    ) -> Mapping[str, int]:
        """What of the right answer of a document cannot be said to the model as it is, in words, and how often."""
        return {}

    @abstractmethod
    def loss(
        self,
        readout: Readout | None = None,
        targets: Sequence[torch.Tensor] = (),
        classes: int = 1,
        class_weights: ClassWeights = "none",
    ) -> DocumentLoss:
        """Losses of documents from their scores, in float32 or finer.

        Args:
            readout: that gives the scores; parameters of it may take part.
            targets: of all training documents; only `class_weights` looks at them.
            classes: C.
            class_weights: `balanced` makes rare labels weigh more.
        """

    def check_loss(self, wishes: LossWishes, labels: Sequence[str] | None = None) -> None:
        """Refuse a loss by which this task cannot be learned, before the long part begins.

        Args:
            labels: of the model; None = they are not known yet.

        Raises:
            ConfigurationError: such a one is asked for.
        """
        refuse_loss(self.name, wishes)
        refuse_positive_weights(self.name, wishes)

    def training_loss(
        self, wishes: LossWishes, readout: Readout, targets: Sequence[torch.Tensor], labels: Sequence[str]
    ) -> DocumentLoss:
        """As `loss`, with what the configuration wishes of it.

        Args:
            targets: of all training documents.
            labels: of the model.

        Raises:
            ConfigurationError: it does not suit this task.
        """
        self.check_loss(wishes, labels)
        return self.loss(readout, targets, readout.classes, wishes.class_weights)

    def check_batches(self, batches: Sequence[Sequence[torch.Tensor]]) -> Sequence[str]:
        """What one should know of how documents fall into batches, in sentences.

        Args:
            batches: the targets of each batch of the first epoch, of all processes.

        Raises:
            ConfigurationError: nothing can be learned from such batches.
        """
        return ()

    # -- answering

    def check_answering(self) -> None:
        """Refuse to answer documents, where a task has nothing to say of one by itself.

        Raises:
            UsageError: such is this one; the sentence says what its models are for.
        """
        return None

    @abstractmethod
    def answer(
        self,
        scores: NDArray[Any],
        labels: Sequence[str],
        decisions: Decisions,
        tokens: TokensRead | None = None,
        readout: Readout | None = None,
    ) -> dict[str, Any]:
        """The answer fields of a `DocumentPrediction` for one document.

        Args:
            scores: (S, C), as the readout gave them, in float32.
            labels: the label names, in the order of the model.
            decisions: what was fitted on validation documents.
            tokens: where `needs_tokens`.

        Returns:
            What is not at its default. `logits` holds the few raw numbers from which answers can be measured and
            decisions fitted, never one a token.
        """

    @abstractmethod
    def show(
        self,
        predictions: Sequence[DocumentPrediction],
        single: bool,
        top_k: int | None,
        labels: Sequence[str],
        texts: Sequence[str] = (),
    ) -> Any:
        """Answers as the pipeline of `transformers` for such a task shapes them.

        Args:
            predictions: of the texts that were asked about.
            single: whether that was one text, not a list of them.
            top_k: how many labels of each; None = all.
            texts: those texts.
        """

    def explained(self, prediction: DocumentPrediction, labels: Sequence[str]) -> tuple[tuple[str, int], ...]:
        """Which scores evidence is given for: name and column. None of them where a task has no such scores."""
        return ()

    # -- measuring

    @abstractmethod
    def metrics(
        self,
        documents: Sequence[Document],
        results: Sequence[DocumentResult],
        labels: Sequence[str],
        decisions: Decisions,
        readout: Readout | None = None,
        resamples: int = 1000,
    ) -> dict[str, Any]:
        """How good answers are, with intervals over documents.

        Args:
            documents: labelled.
            results: for each of them; at least one has an answer. One without counts as wrong where answers are
                compared.
            resamples: of the bootstrap; 0 = no intervals.

        Returns:
            `task`, `documents`, `unanswered`, the measures, `intervals`, `choices` and what else the task has.
        """

    @abstractmethod
    def mean_loss(
        self,
        documents: Sequence[Document],
        predictions: Sequence[DocumentPrediction],
        labels: Sequence[str],
        readout: Readout | None = None,
    ) -> float:
        """The mean loss of the raw scores over answered documents."""

    @abstractmethod
    def outcome(self, document: Document, result: DocumentResult, labels: Sequence[str]) -> Outcome:
        """How one labelled document came out, for reports. Words of the document are never in it."""

    def outcomes(
        self, documents: Sequence[Document], results: Sequence[DocumentResult], labels: Sequence[str]
    ) -> list[Outcome]:
        """How all documents of an evaluation came out, each by itself unless they are answers to each other."""
        return [self.outcome(document, result, labels) for document, result in zip(documents, results, strict=True)]

    # -- deciding

    def check_decisions(self, settings: DecisionConfig, documents: int) -> None:
        """Refuse what cannot be fitted on so many validation documents, before the long part begins.

        Raises:
            ConfigurationError: so it is asked for.
        """
        settings.check(documents)

    def check_fitted(self, decisions: Decisions, labels: Sequence[str]) -> None:
        """Refuse decisions that are not those of a model with these labels.

        Raises:
            ValueError: they are not.
        """
        return None

    @abstractmethod
    def fit(
        self,
        documents: Sequence[Document],
        predictions: Sequence[DocumentPrediction],
        labels: Sequence[str],
        settings: DecisionConfig,
        readout: Readout | None = None,
    ) -> Decisions:
        """What is fitted on validation documents, at least one, all of them answered with no decisions at all."""
