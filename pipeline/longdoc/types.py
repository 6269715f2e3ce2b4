"""What travels between the rooms: documents, their tokens, chunks, batches and results.

All values are frozen. Constructors check shapes once; afterwards nobody checks again. No `repr` shows text or an
id, since both may be private: they print a short digest and lengths.

Shape letters: N chunks in a batch, L padded length, T tokens of a document, B documents.
Offsets are half-open and count Unicode code points of the document's text: `text[start:end]` is the span.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from longdoc.errors import FAILURE_REASONS, FailureReason, UsageError

if TYPE_CHECKING:  # torch takes two seconds to import, and readers, plans and `--help` do without it
    import torch

    from longdoc.packing import Packing

__all__ = [
    "AnswerSpan",
    "Chunk",
    "ChunkBatch",
    "Document",
    "DocumentEmbedding",
    "DocumentFailure",
    "DocumentPrediction",
    "DocumentResult",
    "EmbeddedPart",
    "EvidencePassage",
    "LabelScore",
    "LabelledSpan",
    "Occlusion",
    "Place",
    "Record",
    "ScoredSpan",
    "Span",
    "TokenizedDocument",
    "short_digest",
]


def short_digest(text: str) -> str:
    """Twelve hexadecimal digits that stand for an id or a text where the real one must not be shown."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


class Span(NamedTuple):
    """A half-open range `[start, end)`: of code points in a text, or of tokens in a document."""

    start: int
    end: int


class LabelledSpan(NamedTuple):
    """A range of code points with its label, as given in training data."""

    start: int
    end: int
    label: str


class ScoredSpan(NamedTuple):
    """A predicted range of code points with its label and probability.

    `page` is that of its first character, `last_page` that of its last one if it is another; None without pages.
    """

    start: int
    end: int
    label: str
    score: float
    page: int | None = None
    last_page: int | None = None


class AnswerSpan(NamedTuple):
    """A place in the text that may answer a question: `text == document[start:end]`.

    Attributes:
        score: the probability that just this is the answer, among all places and that there is none.
        chunk: number of the chunk that it was found in, from 1.
        page, last_page: as of a `ScoredSpan`.
    """

    start: int
    end: int
    text: str
    score: float
    chunk: int
    page: int | None = None
    last_page: int | None = None

    def __repr__(self) -> str:
        return f"AnswerSpan(start={self.start}, end={self.end}, score={self.score}, chunk={self.chunk})"


class LabelScore(NamedTuple):
    """One label of a prediction.

    `chosen` is True for a label that is given, False for one that is refused, and None where that is undecided; in
    single-label tasks without abstention it is None for all.
    """

    label: str
    score: float
    chosen: bool | None = None


class Occlusion(NamedTuple):
    """What became of a score when a passage was taken away, in logit space.

    Attributes:
        claimed: by how much the score should fall: what the passage adds, less its share of what no passage says.
        measured: by how much it falls.
        held: whether that is the same, within the tolerance that `longdoc.occlusion` states.
    """

    claimed: float
    measured: float
    held: bool


class EvidencePassage(NamedTuple):
    """A passage and what it adds to the score of `label`, in logit space; pages as of a `ScoredSpan`.

    The passage of a label that adds or takes the most says what became of the score without it, where that was asked.

    Attributes:
        weight: with a share of what stands in no passage (the base of the score), so that all of them add up to it.
        own: without that share; None = not known.
    """

    start: int
    end: int
    label: str
    weight: float
    page: int | None = None
    last_page: int | None = None
    occlusion: Occlusion | None = None
    own: float | None = None

    @property
    def says(self) -> float:
        """What the passage speaks for or against, and how much: `own`, or `weight` where that is not known."""
        return self.weight if self.own is None else self.own


class Place(NamedTuple):
    """Where a document came from, for people: a path relative to the input root and a 1-based line or row number.

    `line` is 0 where the whole file is one document.
    """

    path: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.path}:{self.line}" if self.line else self.path


@dataclass(frozen=True, slots=True, repr=False)
class Document:
    """One text to read, with what is known about it.

    Attributes:
        id: unique in a job.
        text: as the reader hands it out; all offsets refer to it.
        label: the one right label (single-label tasks).
        labels: all right labels (multi-label tasks).
        target: the right number (regression).
        spans: the right spans, code points of `text`.
        question: what is asked of the text (question answering).
        answers: the right answers to it, code points of `text`, any of which will do; empty = the text has none.
        place: where a labelled document was read, for messages; no part of what it is.
        language: a language code, where an explicit column gives one; never guessed.
        meta: every other field of the record, carried along.
    """

    id: str
    text: str
    label: str | None = None
    labels: tuple[str, ...] | None = None
    target: float | None = None
    spans: tuple[LabelledSpan, ...] | None = None
    language: str | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    question: str | None = None
    answers: tuple[Span, ...] | None = None
    place: Place | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not self.id:
            raise UsageError("`id` of a document must be a string that is not empty, but is not.")
        if not isinstance(self.text, str):
            raise UsageError(f"`text` of a document must be a string, but is {type(self.text).__name__} instead.")
        if self.question is not None and not isinstance(self.question, str):
            kind = type(self.question).__name__
            raise UsageError(f"`question` of a document must be a string or None, but is {kind} instead.")
        places = [("spans", n, s.start, s.end) for n, s in enumerate(self.spans or ())]
        places += [("answers", n, start, end) for n, (start, end) in enumerate(self.answers or ())]
        for name, number, start, end in places:
            if not 0 <= start < end <= len(self.text):
                raise UsageError(
                    f"`{name}[{number}]` of document {short_digest(self.id)} must satisfy 0 <= start < end <= "
                    f"{len(self.text)}, but is ({start}, {end}) instead."
                )

    def __repr__(self) -> str:
        return f"Document(id=#{short_digest(self.id)}, characters={len(self.text)})"


@dataclass(frozen=True, slots=True, repr=False)
class TokenizedDocument:
    """All tokens of a document, without special tokens, never truncated.

    Attributes:
        id: the document's.
        token_ids: int32[T].
        offsets: int32[T, 2], code points, half open.
        characters: length of the text in code points.
        unknown_characters: how many of them lie under unknown tokens.
    """

    id: str
    token_ids: NDArray[np.int32]
    offsets: NDArray[np.int32]
    characters: int
    unknown_characters: int = 0

    def __post_init__(self) -> None:
        if self.token_ids.ndim != 1 or self.token_ids.dtype != np.int32:
            raise UsageError(f"`token_ids` must be int32[T], but is {self.token_ids.dtype}{self.token_ids.shape}.")
        if self.offsets.shape != (len(self.token_ids), 2) or self.offsets.dtype != np.int32:
            raise UsageError(
                f"`offsets` must be int32[{len(self.token_ids)}, 2], but is {self.offsets.dtype}{self.offsets.shape}."
            )

    def __len__(self) -> int:
        return len(self.token_ids)

    @property
    def unknown_share(self) -> float:
        """Share of the text's characters that lie under unknown tokens, 0.0 for an empty text."""
        return self.unknown_characters / self.characters if self.characters else 0.0

    def __repr__(self) -> str:
        return f"TokenizedDocument(id=#{short_digest(self.id)}, tokens={len(self)})"


@dataclass(frozen=True, slots=True, repr=False)
class Chunk:
    """A run of consecutive document tokens that the encoder sees at once.

    Attributes:
        doc_id: whose chunk this is.
        ordinal: number of the chunk in its document, from 0.
        total: number of chunks kept of the document, at least 1.
        span: document tokens shown to the encoder.
        core: document tokens that this chunk answers for. The cores of all planned chunks partition the document.
        token_ids: int32[n] with special tokens, n <= size.
        lead: number of special tokens before the body: the body is `[lead, lead + len(span))`.
        axes: int32 (A, n), what the tokens know beside their order (`text/axes.py`); 0 for special tokens.
        token_types: int32[n], which of the two texts of a pair each token belongs to; None = all to one.
    """

    doc_id: str
    ordinal: int
    total: int
    span: Span
    core: Span
    token_ids: NDArray[np.int32]
    lead: int
    axes: NDArray[np.int32] | None = None
    token_types: NDArray[np.int32] | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.ordinal < self.total:
            raise UsageError(f"`ordinal` must be in [0, {self.total}), but is {self.ordinal} instead.")
        if not self.span.start <= self.core.start <= self.core.end <= self.span.end:
            raise UsageError(f"`core` {tuple(self.core)} must lie inside `span` {tuple(self.span)}.")
        if len(self.token_ids) < self.lead + self.span.end - self.span.start:
            raise UsageError(
                f"`token_ids` must hold the specials and the {self.span.end - self.span.start} tokens of `span`, "
                f"but has {len(self.token_ids)} instead."
            )

    def __len__(self) -> int:
        return len(self.token_ids)

    def __repr__(self) -> str:
        return (
            f"Chunk(doc_id=#{short_digest(self.doc_id)}, {self.ordinal} of {self.total}, span={tuple(self.span)}, "
            f"core={tuple(self.core)})"
        )


@dataclass(frozen=True, slots=True, repr=False)
class ChunkBatch:
    """Chunks side by side, padded to one length, with the owner of each.

    Attributes:
        token_ids: int64 (N, L).
        valid: bool (N, L), True = a real token; None when no row has padding (known from lengths, so that the
            fastest kernel is used without asking the device).
        body: bool (N, L), True = a token of the document (not special, not padding).
        core: bool (N, L), True = a token that this chunk answers for.
        owner: int64 (N,), which document of the batch a chunk belongs to, in [0, documents).
        weights: float32 (N,), number of core tokens of each chunk.
        documents: number of documents B that `owner` counts.
        positions: int64 (N, L), or (A, N, L) where tokens have more than their place in the reading order, which is
            axis 0 (rows and columns, steps in a tree, languages); None for 0, 1, 2 ...
        segments: int64 (N, L) for packed rows, else None.
        ordinals: int64 (N,), the number of each chunk in its document; None = rows stand in the order of the text.
        token_types: int64 (N, L), which of the two texts of a pair each token belongs to; None = all to one, 0.
        chunks: the chunks themselves; rows past `len(chunks)` are filler whose output is thrown away.
        packing: the same rows behind each other without a mask, for encoders and devices that take them so; None =
            rows as they are.
    """

    token_ids: torch.Tensor
    valid: torch.Tensor | None
    body: torch.Tensor
    core: torch.Tensor
    owner: torch.Tensor
    weights: torch.Tensor
    documents: int
    chunks: tuple[Chunk, ...]
    positions: torch.Tensor | None = None
    segments: torch.Tensor | None = None
    ordinals: torch.Tensor | None = None
    token_types: torch.Tensor | None = None
    packing: Packing | None = None

    def to(self, device: torch.device | str) -> ChunkBatch:
        """The same batch with every tensor on `device`. To a GPU without waiting: from memory that it reads itself."""
        from longdoc.packing import Packing, to_device

        found = {each.name: getattr(self, each.name) for each in fields(self)}
        moved: dict[str, Any] = {
            name: to_device(value, device) for name, value in found.items() if hasattr(value, "pin_memory")
        }
        packing = self.packing.to(device) if isinstance(self.packing, Packing) else None
        return replace(self, **moved, packing=packing)

    def __repr__(self) -> str:
        return (
            f"ChunkBatch(rows={self.token_ids.shape[0]}, length={self.token_ids.shape[1]}, documents={self.documents})"
        )


_UNTOLD = frozenset({"page", "last_page", "occlusion"})  # left out of a row where there is nothing to say


def _place(item: ScoredSpan | AnswerSpan | EvidencePassage) -> dict[str, Any]:
    shown = {name: value for name, value in item._asdict().items() if value is not None or name not in _UNTOLD}
    shown.pop("own", None)
    if isinstance(item, EvidencePassage) and item.occlusion is not None:
        shown["occlusion"] = item.occlusion._asdict()
    return shown


@dataclass(frozen=True, slots=True, repr=False)
class DocumentPrediction:
    """The answer for one document. `to_dict()` is the row that files hold.

    Attributes:
        id: the document's.
        label, score: the best label and its probability (single-label tasks).
        labels: all labels, best first.
        value: the number (regression).
        spans: predicted spans, sorted; of a question the answer that is given.
        question: what was asked of the document, where that is the task.
        answer: the text that answers it; None where it has none, or none that is sure enough (`abstained`).
        answers: the best answers with their places, best first, whatever is given.
        n_tokens, n_chunks: tokens of the document and chunks made of it.
        tokens_read: distinct document tokens that the encoder saw.
        unknown_share: share of characters under unknown tokens, or that are U+FFFD.
        evidence: passages and what each added to the score, or None when not asked for.
        logits: the raw scores, one a label, in the order of the model's labels.
        abstained: the model does not answer, or not for every label (`chosen` is None there); `label` and `score` are
            None then.
        loss: of the document's raw scores against its right answer, where a task can say it then only and was asked.
    """

    id: str
    label: str | None = None
    score: float | None = None
    labels: tuple[LabelScore, ...] = ()
    value: float | None = None
    spans: tuple[ScoredSpan, ...] = ()
    n_tokens: int = 0
    n_chunks: int = 0
    tokens_read: int = 0
    unknown_share: float = 0.0
    evidence: tuple[EvidencePassage, ...] | None = None
    logits: tuple[float, ...] = ()
    abstained: bool = False
    loss: float | None = None
    question: str | None = None
    answer: str | None = None
    answers: tuple[AnswerSpan, ...] = ()

    ok: ClassVar[Literal[True]] = True

    def to_dict(self) -> dict[str, Any]:
        """The row of the public contract: plain Python values, every key present; for a question its own keys too.

        Places have a `page` where the document has pages, and a `last_page` where they end on another.
        """
        row = {
            "id": self.id,
            "status": "ok",
            "reason": None,
            "label": self.label,
            "score": self.score,
            "labels": [
                {"label": item.label, "score": item.score}
                if item.chosen is None
                else {"label": item.label, "score": item.score, "chosen": item.chosen}
                for item in self.labels
            ],
            "value": self.value,
            "spans": [_place(span) for span in self.spans],
            "n_tokens": self.n_tokens,
            "n_chunks": self.n_chunks,
            "tokens_read": self.tokens_read,
            "unknown_share": self.unknown_share,
            "evidence": None if self.evidence is None else [_place(passage) for passage in self.evidence],
        }
        if self.question is None:
            return row
        asked = {"question": self.question, "answer": self.answer}
        return row | asked | {"answers": [_place(answer) for answer in self.answers]}

    def __repr__(self) -> str:
        return (
            f"DocumentPrediction(id=#{short_digest(self.id)}, label={self.label!r}, score={self.score}, "
            f"tokens_read={self.tokens_read}/{self.n_tokens})"
        )


@dataclass(frozen=True, slots=True, repr=False)
class DocumentFailure:
    """Why one document has no answer. It stands in the place of the prediction: rows out == documents in.

    Attributes:
        id: the document's, or its place where it had none.
        reason: one word of `FAILURE_REASONS`.
        stage: the room in which it happened.
        error: the class name of the exception, never its message.
        detail: our own sentence, built from numbers and places only.
    """

    id: str
    reason: FailureReason
    stage: str = "read"
    error: str = ""
    detail: str = ""
    n_tokens: int = 0
    n_chunks: int = 0
    unknown_share: float = 0.0

    ok: ClassVar[Literal[False]] = False

    def __post_init__(self) -> None:
        if self.reason not in FAILURE_REASONS:
            raise UsageError(f"`reason` must be one of {', '.join(FAILURE_REASONS)}, but is {self.reason!r} instead.")

    def to_dict(self) -> dict[str, Any]:
        """The row of the public contract: plain Python values, every key present."""
        return {
            "id": self.id,
            "status": "failed",
            "reason": self.reason,
            "label": None,
            "score": None,
            "labels": [],
            "value": None,
            "spans": [],
            "n_tokens": self.n_tokens,
            "n_chunks": self.n_chunks,
            "tokens_read": 0,
            "unknown_share": self.unknown_share,
            "evidence": None,
        }

    def __repr__(self) -> str:
        return f"DocumentFailure(id=#{short_digest(self.id)}, reason={self.reason!r}, stage={self.stage!r})"


DocumentResult = DocumentPrediction | DocumentFailure


class EmbeddedPart(NamedTuple):
    """A part of a document and its vector, float32 (D,); None where none of its tokens was read."""

    start: int
    end: int
    n_tokens: int
    vector: NDArray[np.float32] | None


@dataclass(frozen=True, slots=True, repr=False)
class DocumentEmbedding:
    """The vector of one document.

    Attributes:
        id: the document's.
        vector: float32 (D,).
        parts: chunks, passages or spans of it with vectors of their own, where asked for.
        n_tokens, n_chunks: tokens of the document and chunks made of it.
        tokens_read: distinct document tokens that the encoder saw.
        unknown_share: share of characters under unknown tokens, or that are U+FFFD.
        prompt_tokens: tokens of the prompt that stood before every chunk; they are no tokens of the document.
    """

    id: str
    vector: NDArray[np.float32]
    parts: tuple[EmbeddedPart, ...] = ()
    n_tokens: int = 0
    n_chunks: int = 0
    tokens_read: int = 0
    unknown_share: float = 0.0
    prompt_tokens: int = 0

    ok: ClassVar[Literal[True]] = True

    def __post_init__(self) -> None:
        if self.vector.ndim != 1 or self.vector.dtype != np.float32:
            raise UsageError(f"`vector` must be float32 (D,), but is {self.vector.dtype}{self.vector.shape} instead.")

    def __repr__(self) -> str:
        return (
            f"DocumentEmbedding(id=#{short_digest(self.id)}, width={len(self.vector)}, parts={len(self.parts)}, "
            f"tokens_read={self.tokens_read}/{self.n_tokens})"
        )


@dataclass(frozen=True, slots=True)
class Record:
    """What a reader yields: one document or the reason why there is none, and where it stands in its source.

    Attributes:
        document: the document, or the failure in its place.
        place: for people.
        cursor: for machines: `read(..., cursor=cursor)` starts with this very record.
        gold_fault: what is wrong with a label, number or span beside a text that can be read; the document has none
            then. Prediction does not need them, training and evaluation refuse the record.
        ends_early: reading ended with this failure before the end of the source, so nobody knows what documents follow.
    """

    document: Document | DocumentFailure
    place: Place
    cursor: int
    gold_fault: str = ""
    ends_early: bool = False


def spans_from_json(values: Sequence[Mapping[str, Any]]) -> tuple[LabelledSpan, ...]:
    """`[{"start": 0, "end": 3, "label": "x"}, ...]` as in data files -> spans."""
    return tuple(LabelledSpan(int(v["start"]), int(v["end"]), str(v["label"])) for v in values)
