"""Vectors of documents of any length, and of their chunks, passages or given spans.

A part's vector is made of token states that have seen the text around them ("late chunking", Guenther et al. 2024,
arXiv 2409.04701): the encoder reads overlapping chunks, each token's state is taken from the chunk where its context
is widest, and only then are the states of a part pooled. Nothing here is trained: what the task `embedding` or other
tools have trained is read as it is.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field, model_validator

from longdoc.checkpoints import open_checkpoint, resolve_checkpoint
from longdoc.checkpoints.native import load_model, model_fingerprint
from longdoc.checkpoints.sentence_transformers import SentenceSettings, read_sentence_settings
from longdoc.checkpoints.vocabulary import check_vocabulary, read_tokenizer
from longdoc.errors import ConfigurationError, DocumentError, UsageError
from longdoc.model import hidden_states
from longdoc.nn import Encoder
from longdoc.nn.exact import exact
from longdoc.nn.readout import ReadoutConfig
from longdoc.nn.readout.embedding import ChunkWeights, EmbeddingPooling, EmbeddingReadout, EmbeddingReadoutConfig
from longdoc.passages import passages_read, split_passages
from longdoc.precision import Placement, PrecisionConfig, choose_placement
from longdoc.repeats import ChunkMemory, RepeatCount
from longdoc.schema import Config
from longdoc.streaming import DocumentRows, RowStream, as_documents, prepared_failure
from longdoc.text.batching import BatchingConfig
from longdoc.text.chunking import ChunkingConfig, PreparedDocument, chunk_body, prepare_many, prepare_tokenized
from longdoc.text.tokenizing import DocumentTokenizer
from longdoc.types import (
    Chunk,
    ChunkBatch,
    Document,
    DocumentEmbedding,
    DocumentFailure,
    EmbeddedPart,
    LabelledSpan,
    TokenizedDocument,
)
from longdoc.version import __version__

__all__ = ["Embedder", "EmbeddingConfig", "PartKind", "VectorRecipe", "open_embedder", "recipe_of_readout"]

PartKind = Literal["none", "chunks", "passages", "spans"]
"""Which parts of a document have vectors of their own."""

Spans = Iterable[Sequence[tuple[int, int]]]


class EmbeddingConfig(Config):
    """How vectors are made. What is left out is as the checkpoint says."""

    pooling: EmbeddingPooling | None = None
    """How states become a vector: `mean`, `max` or `cls`; null: as the checkpoint says, else `mean`."""
    normalize: bool | None = None
    """Whether vectors have length 1; null: as the checkpoint says, else not."""
    prompt: str | None = None
    """Text before every chunk, such as "query: "; null: the checkpoint's default prompt, if it has one."""
    prompt_name: str | None = None
    """The name of one of the checkpoint's prompts, instead of the text."""
    weights: ChunkWeights = "tokens"
    """What counts once in the vector of a document: each of its `tokens`, or each of its `chunks`."""
    parts: PartKind = "none"
    """Parts with vectors of their own: `chunks`, `passages` that end where sentences do, or the `spans` of the data."""
    shortest_passage: int = Field(default=16, ge=1)
    """Tokens that a passage has at least; the last one may be shorter."""
    longest_passage: int = Field(default=96, ge=1)
    """Tokens that a passage has at most."""
    dtype: Literal["float32", "float16"] = "float32"
    """Numbers in the files of a job."""

    @model_validator(mode="after")
    def _check(self) -> EmbeddingConfig:
        if self.longest_passage < self.shortest_passage:
            raise ValueError(
                f"`longest_passage` must be at least `shortest_passage` ({self.shortest_passage}), but is "
                f"{self.longest_passage} instead. Raise it."
            )
        if self.prompt is not None and self.prompt_name is not None:
            raise ValueError("`prompt_name` must be null where `prompt` is given, but is not. Leave one of them out.")
        return self


@dataclass(frozen=True)
class VectorRecipe:
    """Everything that decides a vector beside the model and the chunks.

    Attributes:
        pooling, weights: see `EmbeddingReadout`.
        lead, trail: whether special tokens before and behind the document are pooled as well.
        normalize: whether vectors have length 1.
        prompt: text before every chunk.
    """

    pooling: EmbeddingPooling = "mean"
    lead: bool = False
    trail: bool = False
    normalize: bool = False
    prompt: str = ""
    weights: ChunkWeights = "tokens"


@dataclass(frozen=True, slots=True, repr=False)
class _Prepared(PreparedDocument):
    """A document whose parts have vectors; `ranges` int64 (P, 2) of tokens, `places` of characters."""

    ranges: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int64))
    places: Sequence[tuple[int, int]] = ()
    prompt_tokens: int = 0
    pieces: dict[int, tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]] = field(default_factory=dict)
    """By the chunk's number: parts that its core meets, their states pooled there, float64 (p, D), and how many."""


class _Rows:
    """The first half: rows of the readout and, where parts are wanted, the states they are made of behind them."""

    def __init__(self, encoder: Encoder, readout: EmbeddingReadout, with_states: bool) -> None:
        self.encoder, self.readout, self.with_states = encoder, readout, with_states

    def chunk_rows(self, batch: ChunkBatch) -> torch.Tensor:
        hidden = hidden_states(self.encoder, batch)
        rows = self.readout.rows(hidden, batch)
        return torch.cat([rows, exact(hidden).flatten(1)], dim=1) if self.with_states else rows


class Embedder:
    """Makes vectors of documents.

    A document of one chunk gets the vector that sentence-transformers gives it (for a checkpoint of that library:
    pooling over all tokens, special ones included). The vector of a longer document is the mean over all its tokens,
    each counted once, with its state from the chunk where its context is widest, and the special tokens at its two
    ends; `weights: chunks` gives each chunk the same weight instead. `max` and `cls`: see `EmbeddingReadout`.
    A part's vector is pooled over its own tokens, which all count once: with `max` their largest, else their mean.

    With deterministic batching the vectors are the same bits alone, in any batch and in any order.

    Args:
        encoder, tokenizer, chunking: of the checkpoint.
        recipe: how states become vectors.
        settings: which parts have vectors unless a call says otherwise.
        batching, precision, max_unknown_share: as in `PredictionConfig`.
        source: digest of the model's files.
        placement: where to compute; None = decided by `precision`.

    Raises:
        ConfigurationError: chunks are longer than the encoder reads, or the prompt leaves no room in them.
    """

    def __init__(
        self,
        encoder: Encoder,
        tokenizer: DocumentTokenizer,
        chunking: ChunkingConfig,
        recipe: VectorRecipe,
        settings: EmbeddingConfig | None = None,
        batching: BatchingConfig | None = None,
        precision: PrecisionConfig | None = None,
        max_unknown_share: float = 0.9,
        source: str = "",
        placement: Placement | None = None,
    ) -> None:
        check_vocabulary(tokenizer, encoder.config)
        self.tokenizer, self.chunking, self.recipe = tokenizer, chunking, recipe
        self.settings = settings or EmbeddingConfig()
        self.batching = batching or BatchingConfig()
        self.placement = choose_placement(precision) if placement is None else placement
        self.encoder = encoder.to(self.placement.device).eval()
        self.width = encoder.config.width
        limit = encoder.max_tokens
        if limit is not None and chunking.size > limit:
            raise ConfigurationError(
                f"`chunking.size` must be at most {limit}, the positions that this encoder knows, but is "
                f"{chunking.size} instead. Lower it."
            )
        self._chunker = chunking.build(tokenizer)
        self._prompt = tokenizer.tokenize(Document(id="prompt", text=recipe.prompt))
        try:
            chunk_body(chunking.size, tokenizer.specials, chunking.overlap, len(self._prompt))
        except UsageError as error:
            raise ConfigurationError(f"the prompt does not fit: {error}") from None
        self._readout = EmbeddingReadout(self.width, recipe.pooling, recipe.lead, recipe.trail, recipe.weights)
        self.repeats = RepeatCount()
        """Chunks that all calls so far have asked for, and those among them that were not encoded again."""
        self._max_unknown_share = max_unknown_share
        self._source = source

    @property
    def prompt_tokens(self) -> int:
        """Tokens of the prompt before every chunk."""
        return len(self._prompt)

    @property
    def fingerprint(self) -> str:
        """Digest of everything that decides a vector on this machine."""
        parts = {
            "model": self._source,
            "recipe": vars(self.recipe),
            "settings": self.settings.model_dump(mode="json", exclude={"dtype"}),
            "chunking": self.chunking.model_dump(mode="json"),
            "batching": self.batching.model_dump(mode="json"),
            "max_unknown_share": self._max_unknown_share,
            "placement": self.placement.name,
            "longdoc": __version__,
            "torch": torch.__version__,
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def stream(
        self,
        documents: Iterable[str | Document | DocumentFailure],
        parts: PartKind | None = None,
        spans: Spans | None = None,
    ) -> Iterator[DocumentEmbedding | DocumentFailure]:
        """Vectors one document after the other, lazily, in input order, failures in their places.

        Memory: as `Pipeline.stream`, with D floats a chunk; where parts are wanted, also 12 bytes a token and two
        vectors of D float64 a part of the documents that are not finished.

        Args:
            documents: texts or documents; texts are called `0`, `1`, ... by their place.
            parts: which parts have vectors of their own; None = as `settings.parts` says.
            spans: instead of the documents' own `spans`: for each document ranges of its characters.

        Raises:
            UsageError: `documents` is one text or no iterable; `spans` does not go with it, or lies outside a text.
        """
        kind: PartKind = "spans" if spans is not None else self.settings.parts if parts is None else parts
        given = as_documents(documents)
        if spans is not None:
            given = _with_spans(given, iter(spans))
        rows = self._stream(kind).rows(given)
        return (item if isinstance(item, DocumentFailure) else self._embedding(item) for item in rows)

    def _stream(self, kind: PartKind) -> RowStream:
        return RowStream(
            model=_Rows(self.encoder, self._readout, with_states=kind != "none"),
            prepare=lambda documents: (
                [self._prepare(*pair, kind) for pair in self._tokenized(documents)]
                if kind != "none" or self.recipe.prompt
                else prepare_many(documents, self.tokenizer, self._chunker)
            ),
            size=self.chunking.size,
            pad_id=self.tokenizer.pad_id,
            batching=self.batching,
            placement=self.placement,
            max_unknown_share=self._max_unknown_share,
            keep=self._keep if kind != "none" else None,
            memory=self._memory(),
        )

    def _memory(self) -> ChunkMemory | None:
        reuses = self.batching.deterministic and self.batching.reuse_repeats
        return ChunkMemory(by_place=True, total=self.repeats) if reuses else None

    # -- from documents to chunks

    def _tokenized(self, documents: Sequence[Document]) -> Iterator[tuple[Document, TokenizedDocument | DocumentError]]:
        """The tokens of prompt and text together, as sentence-transformers has them: a space between may be one's."""
        shown = [replace(d, text=self.recipe.prompt + d.text, spans=None, answers=None) for d in documents]
        try:
            yield from zip(documents, self.tokenizer.tokenize_many(shown), strict=True)
        except DocumentError:  # one of them fails: each is tried alone
            for document, whole in zip(documents, shown, strict=True):
                try:
                    yield document, self.tokenizer.tokenize(whole)
                except DocumentError as error:
                    yield document, error

    def _prepare(
        self, document: Document, found: TokenizedDocument | DocumentError, kind: PartKind
    ) -> PreparedDocument | DocumentFailure:
        try:
            if isinstance(found, DocumentError):
                raise found
            prefix, own = self._split(document, found)
            prepared = prepare_tokenized(document, own, self._chunker.with_prefix(prefix))
        except DocumentError as error:
            return DocumentFailure(document.id, error.reason, error.stage, type(error).__name__, str(error))
        chunks = list(prepared.chunks)
        ranges, places = self._parts(document, own.offsets, chunks, kind)
        known = {name: getattr(prepared, name) for name in PreparedDocument.__dataclass_fields__ if name != "chunks"}
        return _Prepared(**known, chunks=chunks, ranges=ranges, places=places, prompt_tokens=len(prefix))

    def _split(self, document: Document, whole: TokenizedDocument) -> tuple[list[int], TokenizedDocument]:
        """The ids of the prompt, and the document's own tokens; a token of both is the document's."""
        length = len(self.recipe.prompt)
        first = int(np.searchsorted(whole.offsets[:, 1], length, side="right")) if length else 0
        own = TokenizedDocument(
            id=document.id,
            token_ids=whole.token_ids[first:],
            offsets=np.maximum(whole.offsets[first:] - np.int32(length), 0),
            characters=len(document.text),
            unknown_characters=max(0, whole.unknown_characters - self._prompt.unknown_characters),
        )
        return whole.token_ids[:first].tolist(), own

    def _parts(
        self, document: Document, offsets: NDArray[np.int32], chunks: Sequence[Chunk], kind: PartKind
    ) -> tuple[NDArray[np.int64], list[tuple[int, int]]]:
        """Token ranges (P, 2) of a document's parts, and the characters that they stand for."""
        if kind == "spans":
            places = [(span.start, span.end) for span in document.spans or ()]
            bounds = np.array(places, dtype=np.int64).reshape(-1, 2)
            reached = np.maximum.accumulate(offsets[:, 1]) if len(offsets) else offsets[:, 1]
            first = np.searchsorted(reached, bounds[:, 0], side="right")
            last = np.searchsorted(offsets[:, 0], bounds[:, 1], side="left")
            return np.stack([first, np.maximum(first, last)], axis=1), places
        ranges = [(chunk.core.start, chunk.core.end) for chunk in chunks]
        if kind == "passages":
            short, long = self.settings.shortest_passage, self.settings.longest_passage
            ranges = passages_read(
                split_passages(document.text, offsets, short, long, document.language), [c.core for c in chunks]
            )
        if kind == "none":
            ranges = []
        places = [(int(offsets[start, 0]), int(offsets[end - 1, 1])) for start, end in ranges]
        return np.array(ranges, dtype=np.int64).reshape(-1, 2), places

    # -- from states to vectors

    def _keep(self, prepared: PreparedDocument, chunk: Chunk, row: torch.Tensor) -> torch.Tensor:
        """Pool the states of a chunk's core into its pieces of the document's parts; they are not needed again."""
        width = self._readout.row_width
        if isinstance(prepared, _Prepared):
            states = row[width:].numpy().reshape(-1, self.width)
            first, last = prepared.ranges[:, 0], prepared.ranges[:, 1]
            core = chunk.core
            met = np.flatnonzero((first < last) & (first < core.end) & (last > core.start))
            left, right = np.maximum(first[met], core.start), np.minimum(last[met], core.end)
            shift = chunk.lead - chunk.span.start
            pooled = np.zeros((len(met), self.width))
            for piece, (start, end) in enumerate(zip(left + shift, right + shift, strict=True)):
                pooled[piece] = self._pool(states[start:end])
            prepared.pieces[chunk.ordinal] = met, pooled, right - left
        return row[:width]

    def _pool(self, states: NDArray[np.float32]) -> NDArray[np.float64]:
        pooled: NDArray[np.float64] = (
            states.max(axis=0).astype(np.float64)
            if self.recipe.pooling == "max"
            else states.sum(axis=0, dtype=np.float64)
        )
        return pooled

    def _embedding(self, document: DocumentRows) -> DocumentEmbedding | DocumentFailure:
        prepared, device = document.prepared, self.placement.device
        with torch.inference_mode():
            owner = torch.zeros(len(document.rows), dtype=torch.int64, device=device)
            found = self._readout.documents(document.rows.to(device), owner, document.weights.to(device), 1)[0]
            vector = self._finished(found.double().cpu().numpy())
        if not np.isfinite(vector).all():
            return prepared_failure(prepared, "non_finite_output", "merge")
        return DocumentEmbedding(
            id=prepared.id,
            vector=vector,
            parts=self._finished_parts(prepared) if isinstance(prepared, _Prepared) else (),
            n_tokens=prepared.n_tokens,
            n_chunks=prepared.n_chunks,
            tokens_read=prepared.tokens_read,
            unknown_share=prepared.unknown_share,
            prompt_tokens=prepared.prompt_tokens if isinstance(prepared, _Prepared) else 0,
        )

    def _finished_parts(self, prepared: _Prepared) -> tuple[EmbeddedPart, ...]:
        largest = self.recipe.pooling == "max"
        totals = np.full((len(prepared.ranges), self.width), -np.inf if largest else 0.0)
        counts = np.zeros(len(prepared.ranges), dtype=np.int64)
        for ordinal in sorted(prepared.pieces):
            met, pooled, tokens = prepared.pieces[ordinal]
            totals[met] = np.maximum(totals[met], pooled) if largest else totals[met] + pooled
            counts[met] += tokens
        return tuple(
            EmbeddedPart(start, end, int(count), self._finished(total if largest else total / count) if count else None)
            for (start, end), total, count in zip(prepared.places, totals, counts, strict=True)
        )

    def _finished(self, vector: NDArray[np.float64]) -> NDArray[np.float32]:
        if self.recipe.normalize:
            vector = vector / max(float(np.linalg.norm(vector)), 1e-12)
        return vector.astype(np.float32)


def open_embedder(
    model: str | Path,
    settings: EmbeddingConfig | None = None,
    chunking: ChunkingConfig | None = None,
    batching: BatchingConfig | None = None,
    precision: PrecisionConfig | None = None,
    max_unknown_share: float = 0.9,
) -> Embedder:
    """The embedder of a checkpoint: an encoder of a known family, with what sentence-transformers says of it, or a
    model folder of ours, whose encoder is read as it was trained.

    Args:
        model: a folder, `default` (the embedded all-MiniLM-L6-v2) or a hub id.
        settings: how vectors are made.
        chunking: how documents become chunks. Where `size` is not given, chunks are as long as the checkpoint says
            that texts may be, and share a quarter. A model folder has its own, and this is not looked at.

    Raises:
        CheckpointError: no such checkpoint, a damaged one, or one whose vectors cannot be made here.
        ConfigurationError: settings that do not go with the checkpoint.
    """
    settings = settings or EmbeddingConfig()
    folder = resolve_checkpoint(model)
    if (folder / "longdoc.json").is_file():
        trained, own, tokenizer = load_model(folder)
        encoder, chunking = trained.encoder, own.chunking
        recipe = recipe_of_readout(own.readout, settings)
    else:
        encoder = open_checkpoint(folder).encoder
        tokenizer = read_tokenizer(folder, encoder.config)
        said = read_sentence_settings(folder)
        chunking = _chunking(chunking or ChunkingConfig(), said, tokenizer, encoder)
        recipe = _recipe(said, settings)
    return Embedder(
        encoder,
        tokenizer,
        chunking,
        recipe,
        settings,
        batching,
        precision,
        max_unknown_share,
        source=model_fingerprint(folder),
    )


def recipe_of_readout(readout: ReadoutConfig, settings: EmbeddingConfig) -> VectorRecipe:
    """How a model of ours makes vectors: as it was trained to, of length 1; one that was trained for something else as
    its readout pools chunks, else by the mean over core tokens.

    Raises:
        ConfigurationError: a prompt is asked for by name, and the model has none.
    """
    if isinstance(readout, EmbeddingReadoutConfig):
        return _recipe(SentenceSettings(pooling=readout.pooling or "mean", normalize=True), settings)
    named = str(getattr(readout, "pooling", "mean"))
    pooling: EmbeddingPooling = "cls" if named == "cls" else "max" if named == "max" else "mean"
    return _recipe(SentenceSettings(pooling=pooling), settings, specials=named == "mean_with_specials")


def _recipe(said: SentenceSettings, settings: EmbeddingConfig, specials: bool = True) -> VectorRecipe:
    prompt = settings.prompt
    name = settings.prompt_name if prompt is None else None
    if prompt is None and name is None:
        name = said.default_prompt
    if name is not None:
        if name not in said.prompts:
            known = f"one of {', '.join(sorted(said.prompts))}" if said.prompts else "null: this model names no prompts"
            raise ConfigurationError(
                f"`embedding.prompt_name` must be {known}, but is {name} instead. Give the text itself as "
                "`embedding.prompt`."
            )
        prompt = said.prompts[name]
    return VectorRecipe(
        pooling=said.pooling if settings.pooling is None else settings.pooling,
        lead=specials and (said.pools_prompt or not prompt),
        trail=specials,
        normalize=said.normalize if settings.normalize is None else settings.normalize,
        prompt=prompt or "",
        weights=settings.weights,
    )


def _chunking(
    chunking: ChunkingConfig, said: SentenceSettings, tokenizer: DocumentTokenizer, encoder: Encoder
) -> ChunkingConfig:
    update: dict[str, Any] = {}
    if "size" not in chunking.model_fields_set:
        limits = (said.max_tokens, tokenizer.model_max_length, encoder.max_tokens, encoder.config.max_len)
        update["size"] = min(limit for limit in limits if limit is not None)
    if "overlap" not in chunking.model_fields_set:
        update["overlap"] = update.get("size", chunking.size) // 4
    return chunking.model_copy(update=update)


def _with_spans(
    documents: Iterable[Document | DocumentFailure], spans: Iterator[Sequence[tuple[int, int]]]
) -> Iterator[Document | DocumentFailure]:
    for number, document in enumerate(documents):
        given = next(spans, None)
        if given is None:
            raise UsageError(f"`spans` must have one entry a document, but ends after {number}.")
        if isinstance(document, Document):
            document = replace(document, spans=tuple(LabelledSpan(int(s), int(e), "") for s, e in given))
        yield document
