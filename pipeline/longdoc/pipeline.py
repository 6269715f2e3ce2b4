"""The conductor: texts in, answers out, in input order, in bounded memory.

`stream` is the walk of a document through the house: prepare (tokens, chunks), batch beside strangers, encode,
assemble, decide. `predict`, `__call__`, jobs and evaluation all go through it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field, ValidationError

from longdoc.checkpoints.native import (
    ModelSettings,
    load_model,
    model_fingerprint,
    refuse_other_model,
    save_model,
)
from longdoc.checkpoints.vocabulary import check_vocabulary, read_tokenizer
from longdoc.condensing import condenser, document_scores
from longdoc.decide import Decisions
from longdoc.embedding import Embedder, EmbeddingConfig, recipe_of_readout
from longdoc.errors import ConfigurationError, UsageError
from longdoc.evidence import explain_document
from longdoc.linear import LinearClassifier, LinearSettings, read_linear
from longdoc.model import LongDocModel
from longdoc.nn import Encoder
from longdoc.nn.position import PositionEncoding
from longdoc.pages import with_pages
from longdoc.precision import ComputePath, Placement, PrecisionConfig, choose_placement, compute_path
from longdoc.readers import ArrowTable
from longdoc.repeats import ChunkMemory, RepeatCount
from longdoc.schema import Config, explain_faults
from longdoc.spreading import DeviceMapConfig, is_spread, spread
from longdoc.streaming import DocumentRows, Prepare, RowStream, as_documents, prepared_failure
from longdoc.tasks import TASKS, Task, task_named
from longdoc.tasks.label_task import LabelTask
from longdoc.text.axes import AXES
from longdoc.text.batching import BatchingConfig
from longdoc.text.chunking import ChunkingConfig, PreparedDocument
from longdoc.text.tokenizing import DocumentTokenizer
from longdoc.types import Document, DocumentEmbedding, DocumentFailure, DocumentPrediction, DocumentResult
from longdoc.version import __version__

__all__ = ["DocumentRows", "Pipeline", "PredictionConfig", "chunking_for"]


class PredictionConfig(Config):
    """How predictions are computed."""

    batching: BatchingConfig = BatchingConfig()
    precision: PrecisionConfig = PrecisionConfig()
    device_map: DeviceMapConfig | None = None
    """For a model that is too big for the device: how much of its layers lies there, in main memory and on the disk.
    None: the whole model is on the device."""
    max_unknown_share: float = Field(default=0.9, ge=0, le=1)
    """A document whose text lies under unknown tokens to a larger share is a failure (`unreadable`), not a guess."""


class Pipeline:
    """A model with everything it needs to read documents of any length.

    Args:
        model: encoder and readout.
        settings: task, labels, chunking and readout, as stored in the model folder.
        tokenizer: the model's own.
        prediction: batching, precision and limits.
        linear: a classifier over words whose scores are added as `settings.linear` says.

    The same document gets the same scores alone, in any batch, in any order and with any neighbours: bit for bit
    with `prediction.batching.deterministic` (the default), within 1e-5 in float32 without.
    """

    def __init__(
        self,
        model: LongDocModel,
        settings: ModelSettings,
        tokenizer: DocumentTokenizer,
        prediction: PredictionConfig | None = None,
        linear: LinearClassifier | None = None,
    ) -> None:
        check_vocabulary(tokenizer, model.encoder.config)
        chunking = chunking_for(model.encoder, settings.chunking)
        self.settings = settings = settings.model_copy(update={"chunking": chunking})
        self.tokenizer = tokenizer
        self.prediction = prediction or PredictionConfig()
        self.placement: Placement = choose_placement(self.prediction.precision)
        self.model = model
        self.task.check_tokenizer(tokenizer, model.encoder.config)
        self.chunker = settings.chunking.build(tokenizer)
        model.readout.fit_chunks(self.chunker.body)
        self.linear = linear
        self.card = ""
        """The text of the model folder's README.md; travels with the model."""
        self.chunk_memory: ChunkMemory | None = None
        """Where it is set, chunks that were met in an earlier call are not encoded again; see `remember_chunks`."""
        self.repeats = RepeatCount()
        """Chunks that all calls so far have asked for, and those among them that were not encoded again."""
        self._source_fingerprint: str | None = None
        self._own_folders: set[Path] = set()
        self._place()

    def _place(self) -> None:
        """Bring the model to its device, all of it or what `prediction.device_map` says."""
        asked = self.prediction.device_map
        if asked is None:
            self.model.to(self.placement.device).eval()
            return
        _ = self.fingerprint  # while all weights are here
        spread(self.model, self.placement.device, asked)
        if is_spread(self.model):  # layers come and go: a second batch would only wait for them
            self.placement = replace(self.placement, most_lanes=1)

    # -- loading and saving

    @classmethod
    def load(cls, folder: str | Path, prediction: PredictionConfig | None = None) -> Pipeline:
        """Open a model folder.

        Raises:
            CheckpointError: no such folder, not a model folder, or files that do not fit together.
        """
        folder = Path(folder)
        model, settings, tokenizer = load_model(folder)
        linear = None if settings.linear is None else read_linear(folder, settings.linear, len(settings.labels))
        pipeline = cls(model, settings, tokenizer, prediction, linear)
        pipeline._source_fingerprint = model_fingerprint(folder)
        pipeline._own_folders.add(folder.resolve())
        if (folder / "README.md").is_file():
            pipeline.card = (folder / "README.md").read_text(encoding="utf-8", errors="replace")
        return pipeline

    @classmethod
    def from_checkpoint(
        cls,
        source: str | Path = "default",
        labels: Sequence[str] = (),
        prediction: PredictionConfig | None = None,
        seed: int = 0,
        **settings: Any,
    ) -> Pipeline:
        """An encoder checkpoint with an untrained head: the start of fine-tuning.

        Where the checkpoint is a classifier with these labels, its head is taken over unless `readout` is given, and
        its task unless `task` is.

        Args:
            source: `default` (the embedded all-MiniLM-L6-v2), a folder, or a hub id.
            labels: names of the labels; none for a task whose scores have names of their own.
            seed: of the head's random start.
            settings: further fields of `ModelSettings`: `task`, `chunking`, `readout`.

        Raises:
            UsageError: labels that are none, a setting out of bounds, or chunks that are longer than the encoder reads.
            CheckpointError: no such checkpoint, or a damaged one.
        """
        from longdoc.checkpoints import open_checkpoint, resolve_checkpoint
        from longdoc.checkpoints.answerers import adopt_answer_head
        from longdoc.checkpoints.classifiers import own_task, start_readout
        from longdoc.checkpoints.resolve import pinned_name
        from longdoc.checkpoints.sentence_transformers import pooled_as_before

        if isinstance(labels, str):
            raise UsageError("`labels` must be a list of names, but is one string. Pass labels=['yes', 'no'].")
        asked_task = settings.get("task")
        if not labels and isinstance(asked_task, str) and asked_task in {task.name for task in TASKS}:
            labels = task_named(asked_task).own_labels
        if not labels:
            raise UsageError("`labels` must name at least one label, but is empty. Pass labels=['yes', 'no'].")
        folder = resolve_checkpoint(source)
        checkpoint = open_checkpoint(folder)
        task = own_task(checkpoint, labels)
        known = {"task": task, "labels": tuple(labels), "source": pinned_name(source, folder)}
        try:
            chosen = ModelSettings(**known | settings)
        except ValidationError as error:
            raise UsageError(explain_faults(error, ModelSettings)) from None
        tokenizer = read_tokenizer(folder, checkpoint.encoder.config)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            chosen = chosen.model_copy(update={"readout": pooled_as_before(chosen.readout, folder)})
            asked = chosen.readout if "readout" in settings else None
            readout, readout_config = start_readout(checkpoint, chosen, asked)
            adopt_answer_head(readout, folder)
        chosen = chosen.model_copy(update={"readout": readout_config})
        return cls(LongDocModel(checkpoint.encoder, readout), chosen, tokenizer, prediction)

    def save(self, folder: str | Path, card: str | None = None, *, overwrite: bool = False) -> None:
        """Write a model folder: whole or not at all.

        Args:
            folder: a new folder, or the one that this pipeline was loaded from or saved to before.
            card: the text of its README.md; None = the card that the model has.
            overwrite: replace another model that is there.

        Raises:
            UsageError: another model is there and may not be replaced.
            CannotWriteError: no space, no permission, or a failing disk.
        """
        folder = Path(folder)
        if is_spread(self.model):
            raise UsageError(
                "a model of which layers lie elsewhere (`prediction.device_map`) can only predict. Load it without, to "
                "save it."
            )
        if not overwrite and folder.resolve() not in self._own_folders:
            refuse_other_model(folder)
        self.card = self.card if card is None else card
        save_model(folder, self.model, self.settings, self.tokenizer, self.card, self.linear)
        self._own_folders.add(folder.resolve())
        self._source_fingerprint = model_fingerprint(folder)

    @classmethod
    def from_pretrained(
        cls, folder_or_id: str | Path, *, revision: str | None = None, prediction: PredictionConfig | None = None
    ) -> Pipeline:
        """Open a model folder, or a model of the Hugging Face hub, from the local cache where it is there.

        Args:
            folder_or_id: a folder or `owner/name`; `hf:owner/name` is never a folder. What may be read there is said by
                `HF_TOKEN` or `hf auth login`; `HF_HUB_OFFLINE=1` forbids the network.
            revision: branch, tag or commit of a hub id. A commit is the only one that stays what it is.

        Raises:
            CheckpointError: no such model, files that do not fit together, or a revision of a folder.
        """
        from longdoc.checkpoints import resolve_checkpoint

        folder = resolve_checkpoint(folder_or_id, revision, answers=True)
        pipeline = cls.load(folder, prediction)
        if not Path(folder_or_id).expanduser().is_dir():
            pipeline._own_folders.clear()  # the cache is nobody's to save to
        return pipeline

    def push_to_hub(
        self,
        repo_id: str,
        *,
        private: bool = True,
        revision: str | None = None,
        commit_message: str = "A longdoc model",
        overwrite: bool = False,
    ) -> str:
        """Put the model with its card on the Hugging Face hub, in one commit: weights, settings, tokenizer.

        Nothing goes out that stands beside them in its folder, and no path of this machine.

        Args:
            repo_id: `owner/name`; made if there is none.
            private: of a new repository.
            revision: a branch; None = the main one.
            commit_message: of the commit.
            overwrite: replace a model that longdoc did not write.

        Returns:
            The address of the commit.

        Raises:
            UsageError: another model is there, or the name cannot be one.
            LongDocError: the hub cannot be reached, or does not let us.
        """
        from longdoc.checkpoints.publishing import publish_model

        if is_spread(self.model):
            raise UsageError(
                "a model of which layers lie elsewhere (`prediction.device_map`) can only predict. Load it without, to "
                "push it."
            )
        return publish_model(
            *(self.model, self.settings, self.tokenizer, self.card, self.linear, repo_id),
            private=private,
            revision=revision,
            message=commit_message,
            overwrite=overwrite,
        )

    @property
    def labels(self) -> tuple[str, ...]:
        """The label names, in the order of the logits."""
        return self.settings.labels

    @property
    def task(self) -> Task:
        """What is asked of a document."""
        return task_named(self.settings.task)

    @property
    def compute_path(self) -> ComputePath:
        """How predictions are computed here, and why so."""
        return compute_path(self.placement, self.prediction.batching, self.model.encoder)

    @property
    def fingerprint(self) -> str:
        """Digest of everything that decides a prediction on this machine; results mix only where it is equal."""
        if self._source_fingerprint is None:
            digest = hashlib.sha256()
            for name, tensor in sorted(self.model.state_dict().items()):
                digest.update(name.encode())
                digest.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
            digest.update(self.settings.model_dump_json().encode())
            digest.update(self.tokenizer.fingerprint.encode())
            self._source_fingerprint = digest.hexdigest()
        parts = {
            "model": self._source_fingerprint,
            "chunking": self.settings.chunking.model_dump(mode="json"),
            "batching": self.prediction.batching.model_dump(mode="json"),
            "max_unknown_share": self.prediction.max_unknown_share,
            "placement": self.placement.name,
            "longdoc": __version__,
            "torch": torch.__version__,
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def add_linear(self, linear: LinearClassifier, settings: LinearSettings) -> None:
        """From now on add the scores of a classifier over words."""
        self.settings = ModelSettings(**{**dict(self.settings), "linear": settings})
        self.linear = linear
        self._source_fingerprint = None

    def mixed(self, prediction: DocumentPrediction, word_scores: NDArray[np.float64]) -> DocumentPrediction:
        """The answer with the scores of words added to those of the model alone, which `prediction` carries."""
        assert self.settings.linear is not None
        scores = self.settings.linear.mix(np.asarray(prediction.logits, dtype=np.float32)[None], word_scores)
        fields = self.task.answer(scores, self.labels, self.settings.decisions)
        return replace(prediction, **{"label": None, "score": None, "abstained": False} | fields)

    def decide_by(self, decisions: Decisions) -> None:
        """From now on make answers of scores like this: temperature, thresholds, when to abstain."""
        self.settings = ModelSettings(**{**dict(self.settings), "decisions": decisions})
        self._source_fingerprint = None

    # -- predicting

    def stream(
        self, documents: Iterable[str | Document | DocumentFailure] | ArrowTable, text_column: str | None = None
    ) -> Iterator[DocumentResult]:
        """Answer documents one after the other, lazily, in input order.

        A document that cannot be answered gives a `DocumentFailure` in its place; a failure that comes in (from a
        reader) goes out unchanged. Texts without an id are called `0`, `1`, ... by their place in the input.

        Memory: the read-ahead of `prediction.batching.read_ahead` tokens, the texts of at most 64 documents, and F
        floats for each chunk of a document that is not finished; for each 1024 chunks, where the readout condenses.

        Args:
            documents: texts, documents, or a table with a row each: a data frame, an Arrow table, a dataset. Its column
                `id` names them, where there is one.
            text_column: of a table, what holds the texts; None = `text`.

        Raises:
            UsageError: `documents` is one text or no iterable at all, or a table without that column, or the model
                answers nothing, as one that makes vectors; at once, not with the first answer.
        """
        self.task.check_answering()
        walk = replace(self._walk(self.prepare), condense=condenser(self.model, self.placement.device))
        rows = walk.rows(as_documents(documents, text_column))
        return (item if isinstance(item, DocumentFailure) else self.answer(item) for item in rows)

    def stream_measured(self, documents: Sequence[Document]) -> Iterator[DocumentResult]:
        """As `stream` for labelled documents: each answer has its `loss`, where the task needs it to be measured."""
        for document, item in zip(documents, self.stream_rows(documents), strict=True):
            yield item if isinstance(item, DocumentFailure) else self.answer(item, document)

    def stream_rows(
        self, documents: Iterable[str | Document | DocumentFailure] | ArrowTable, text_column: str | None = None
    ) -> Iterator[DocumentRows | DocumentFailure]:
        """The first half of `stream`: the rows of each document's chunks, before merging. Same order, same failures."""
        return self._walk(self.prepare).rows(as_documents(documents, text_column))

    def rows_of_prepared(
        self, documents: Sequence[Document], prepared: Sequence[PreparedDocument | DocumentFailure]
    ) -> Iterator[DocumentRows | DocumentFailure]:
        """As `stream_rows`, for documents that `prepare` has cut already."""
        cut = iter(prepared)
        return self._walk(lambda group: [next(cut) for _ in group]).rows(documents)

    def _walk(self, prepare: Prepare) -> RowStream:
        return RowStream(
            self.model,
            prepare,
            self.settings.chunking.size,
            self.tokenizer.pad_id,
            self.prediction.batching,
            self.placement,
            self.prediction.max_unknown_share,
            memory=self.chunk_memory or self._fresh_memory(),
        )

    def remember_chunks(self) -> None:
        """Encode chunks that many documents share only once over all calls to come, not only within one call.

        For a run over a corpus. From then on the weights must not change, and one thread at a time may use this
        pipeline.
        """
        self.chunk_memory = self._fresh_memory()

    def _fresh_memory(self) -> ChunkMemory | None:
        """None where repeats are encoded each for itself: their bits would depend on what stands beside them."""
        batching = self.prediction.batching
        if not (batching.deterministic and batching.reuse_repeats):
            return None
        return ChunkMemory(self.model.readout.places_rows, total=self.repeats)

    def answer(self, document: DocumentRows, gold: Document | None = None) -> DocumentResult:
        """The second half of `stream`: merge and decide one document, alone, so that nobody else can touch its bits.

        Args:
            document: its rows.
            gold: the same document with its right answer; where the task needs it, the prediction then has a `loss`.
        """
        prepared, task, readout = document.prepared, self.task, self.model.readout
        scores = document_scores(self.model, document, self.placement.device)
        loss = None
        if gold is not None and task.keeps_loss:
            target = task.target(gold, self.labels, prepared.tokens, readout)
            with torch.inference_mode():
                loss = float(task.loss(readout, classes=readout.classes)(scores, [target])[0])
        if prepared.word_scores is not None and self.settings.linear is not None:
            scores = torch.from_numpy(self.settings.linear.mix(scores.cpu().numpy(), prepared.word_scores))
        if not bool(torch.isfinite(scores).all()):
            return prepared_failure(prepared, "non_finite_output", "merge")
        found = task.answer(
            scores.float().cpu().numpy(), self.labels, self.settings.decisions, prepared.tokens, readout
        )
        return DocumentPrediction(
            id=prepared.id,
            n_tokens=prepared.n_tokens,
            n_chunks=prepared.n_chunks,
            tokens_read=prepared.tokens_read,
            unknown_share=prepared.unknown_share,
            loss=loss,
            **found | {name: with_pages(found[name], prepared.meta) for name in ("spans", "answers") if name in found},
        )

    def predict(
        self, documents: Iterable[str | Document | DocumentFailure] | ArrowTable, text_column: str | None = None
    ) -> list[DocumentResult]:
        """All answers as a list, in input order. Arguments and errors as those of `stream`."""
        return list(self.stream(documents, text_column))

    def __call__(
        self,
        texts: str | Document | Mapping[str, str] | Iterable[str | Document | Mapping[str, str]] | None = None,
        top_k: int | None = 1,
        *,
        question: str | Sequence[str] | None = None,
        context: str | Sequence[str] | None = None,
    ) -> Any:
        """Shaped as the pipeline of `transformers` for such a task: for labels and numbers that of text-classification,
        for spans that of token-classification with aggregation, for questions that of question-answering.

        Args:
            texts: one text or document, or a list of them, of any length; with a question, as a document or as
                `{"question": ..., "context": ...}`, where that is the task.
            top_k: 1 gives the best label (answer) of each text; None all, best first; k the best k.
            question, context: instead of `texts`: a question and a text, or lists of them; one text may be asked
                several questions.

        Returns:
            A list of `{"label": ..., "score": ...}`; with `top_k` other than 1 and a list of texts, a list of such
            lists. Where the model abstains, `"abstained": True` stands beside them. For spans and answers see
            `Spans.show` and `QuestionAnswering.show`.

        Raises:
            UsageError: a text has no answer; the message names its number and the reason. Or `top_k` is less than 1.
        """
        if top_k is not None and (isinstance(top_k, bool) or not isinstance(top_k, int) or top_k < 1):
            raise UsageError("`top_k` must be at least 1, or None for all labels, but is not.")
        items = self.task.asked(texts, question, context)
        single = isinstance(items, str | Document)
        asked: list[str] = []

        def noted(items: Iterator[Document | DocumentFailure]) -> Iterator[Document | DocumentFailure]:
            for item in items:
                asked.append(item.text if isinstance(item, Document) else "")
                yield item

        given = as_documents([items] if single else items)
        answers: list[DocumentPrediction] = []
        for number, result in enumerate(self.stream(noted(given))):
            if isinstance(result, DocumentFailure):
                raise UsageError(
                    f"text {number} has no answer: {result.reason}. Use `predict`, which reports failures in place."
                )
            answers.append(result)
        return self.task.show(answers, single, top_k, self.labels, asked)

    def check_explained(self) -> None:
        """Refuse to give evidence where there is none, before a document is read.

        Raises:
            UsageError: the model adds scores of words.
        """
        if self.settings.linear is not None:
            raise UsageError(
                "a model that adds scores of words has no evidence: they are not those of passages. Explain the model "
                "that it was made from."
            )

    def explain(self, document: str | Document, occlude: bool = True) -> DocumentResult:
        """A prediction with evidence: passages and what each adds to the score, in logit space.

        Args:
            occlude: take the strongest passage of each score away, and say what became of the score
                (`EvidencePassage.occlusion`). The chunks that show it are read once more.
        """
        self.check_explained()
        (item,) = as_documents([document])
        if isinstance(item, DocumentFailure):
            return item
        result = self.predict([item])[0]
        if isinstance(result, DocumentFailure):
            return result
        evidence = explain_document(
            item,
            result,
            self.model,
            self.settings,
            self.tokenizer,
            self.chunker,
            self.prediction.batching,
            self.placement,
            occlude,
        )
        return replace(result, evidence=with_pages(evidence, item.meta))

    def stream_with_evidence(self, documents: Iterable[str | Document | DocumentFailure]) -> Iterator[DocumentResult]:
        """As `stream`, each answer with its evidence, unchecked. Documents are computed one by one, each twice."""
        given = as_documents(documents)
        return (item if isinstance(item, DocumentFailure) else self.explain(item, occlude=False) for item in given)

    def embed(
        self,
        documents: Iterable[str | Document | DocumentFailure],
        chunks: bool = False,
        spans: Iterable[Sequence[tuple[int, int]]] | None = None,
        *,
        passages: bool = False,
        settings: EmbeddingConfig | None = None,
    ) -> list[DocumentEmbedding | DocumentFailure]:
        """Vectors of documents, by this model's encoder and the pooling of its readout; see `Embedder`.

        For the vectors of a checkpoint that was trained to make them, see `longdoc.embedding.open_embedder`.

        Args:
            documents: texts or documents; texts are called `0`, `1`, ... by their place.
            chunks: give each chunk a vector too, pooled over the tokens that it answers for.
            spans: for each document ranges of its characters that get a vector each ("late chunking").
            passages: give passages a vector each; they end where sentences do.
            settings: pooling, normalisation, prompt.

        Raises:
            UsageError: `documents` is one text or no iterable, `spans` does not go with it, or more than one of
                `chunks`, `spans` and `passages` is asked for.
        """
        if is_spread(self.model):
            raise UsageError(
                "a model of which layers lie elsewhere (`prediction.device_map`) can only predict. Load it without, to "
                "embed."
            )
        if sum((chunks, passages, spans is not None)) > 1:
            raise UsageError("`chunks`, `passages` and `spans` must not be asked for at once. Call `embed` for each.")
        settings = settings or EmbeddingConfig()
        embedder = Embedder(
            self.model.encoder,
            self.tokenizer,
            self.settings.chunking,
            recipe_of_readout(self.settings.readout, settings),
            settings,
            self.prediction.batching,
            max_unknown_share=self.prediction.max_unknown_share,
            placement=self.placement,
        )
        return list(embedder.stream(documents, "chunks" if chunks else "passages" if passages else None, spans))

    # -- inside

    def prepare(self, documents: Sequence[Document]) -> list[PreparedDocument | DocumentFailure]:
        """Tokens and chunks of documents, failures in their places."""
        prepared = self.task.prepare(documents, self.tokenizer, self.chunker)
        if self.linear is None:
            return prepared
        return [
            replace(item, word_scores=self.word_scores(document.text)) if isinstance(item, PreparedDocument) else item
            for item, document in zip(prepared, documents, strict=True)
        ]

    def word_scores(self, text: str) -> NDArray[np.float64]:
        """(C,): what the linear classifier that the model carries makes of a text, as scores of the task."""
        settings, task = self.settings.linear, self.task
        assert self.linear is not None
        assert settings is not None
        assert isinstance(task, LabelTask)
        return task.scores_of(self.linear.probabilities(text), settings.least_probability)


def chunking_for(encoder: Encoder, chunking: ChunkingConfig) -> ChunkingConfig:
    """The chunking with what an encoder's position encoding wants to know of each token.

    Raises:
        ConfigurationError: chunks are longer than the encoder reads.
        UsageError: the axes that are named are too few.
    """
    chunking, limit = _with_axes(chunking, encoder.position), encoder.max_tokens
    if limit is not None and chunking.size > limit:
        raise ConfigurationError(
            f"`chunking.size` must be at most {limit}, the positions that this encoder knows, but is {chunking.size} "
            "instead. Lower it, or choose a position encoding that extends."
        )
    return chunking


def _with_axes(chunking: ChunkingConfig, position: PositionEncoding) -> ChunkingConfig:
    """The chunking with the axes that a position encoding reads beside the order, where it does not name its own."""
    names = position.further_axes
    if not names:
        return chunking
    last = max(names)
    if not chunking.axes:
        if unnamed := [str(axis) for axis in range(1, last) if axis not in names]:
            raise UsageError(
                f"`chunking.axes` must say what axes 1 to {last} of the positions are, since the position encoding "
                f"reads axis {last} and not {', '.join(unnamed)}, but names none. Name {last} of {', '.join(AXES)}."
            )
        chunking = chunking.model_copy(update={"axes": tuple(names[axis] for axis in range(1, last + 1))})
    elif len(chunking.axes) < last:
        raise UsageError(
            f"`chunking.axes` must name at least {last} axes, since the position encoding reads axis {last}, but names "
            f"{len(chunking.axes)} instead. Add to them, or leave them out: they are then what the encoding asks for."
        )
    return chunking.model_copy(update={"languages": position.languages or chunking.languages})
