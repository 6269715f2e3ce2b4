"""From a document to the chunks that the encoder sees.

A chunk of `size` tokens has room for a `body` of document tokens between the special ones. Neighbouring bodies share
`overlap` tokens. Each token is answered for by one chunk alone, the one whose `core` it lies in.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator

from longdoc.errors import DocumentError, UsageError, counted
from longdoc.languages import COMMON_LANGUAGES
from longdoc.schema import Config
from longdoc.text.axes import Axis, DocumentAxes
from longdoc.text.borders import BordersConfig, bordered_spans
from longdoc.text.pairs import PairTemplate, TokenTypes
from longdoc.text.planning import STARTS, Keep, chunk_body, count_chunks, plan_chunks, plan_cores, spans, with_cores
from longdoc.text.structure import BorderRanks
from longdoc.text.tokenizing import DocumentTokenizer, IdSegment
from longdoc.text.tokens_read import TokensRead
from longdoc.types import Chunk, Document, DocumentFailure, Span, TokenizedDocument, short_digest

__all__ = [
    "Chunker",
    "ChunkingConfig",
    "Keep",
    "PreparedDocument",
    "chunk_body",
    "keeping_tokens",
    "plan_chunks",
    "plan_cores",
    "prepare",
    "prepare_many",
    "prepare_tokenized",
    "prepare_with_tokens",
]

Ranks = NDArray[np.int8]

LAZY_ABOVE = 1_000_000
"""Characters of a text above which its chunks are made one by one in a second pass."""

_NO_SPACE = re.compile(r"\S")
_INVISIBLE = frozenset({"Cc", "Cf", "Mn", "Mc", "Me", "Zs", "Zl", "Zp"})  # general categories of Unicode


class ChunkingConfig(Config):
    """How documents become chunks."""

    size: int = 512
    """Tokens of a chunk, special tokens included."""
    overlap: int = 128
    """Document tokens that neighbouring chunks share."""
    keep: Keep = "all"
    """What is read: `all` chunks, only the first (`head`), the last tokens, as many as one chunk holds (`tail`), or the
    first and the last chunk (`head_tail`)."""
    axes: tuple[Axis, ...] = ()
    """What tokens know beside their order, for position encodings that read it: axis 1 of the positions is the first
    of these. None: what the position encoding asks for."""
    languages: tuple[str, ...] = ()
    """For the axis `language`: number n is the n-th of these, 0 is unknown. None: those of the position encoding."""
    borders: BordersConfig | None = None
    """Move the borders of chunks to where a section, a paragraph or a sentence begins. None: chunks are cut at their
    size."""

    @model_validator(mode="after")
    def _check(self) -> ChunkingConfig:
        chunk_body(self.size, 2, self.overlap)  # two special tokens, as nearly every encoder has; `build` knows better
        return self

    def build(self, tokenizer: DocumentTokenizer) -> Chunker:
        """The chunker for this tokenizer. Raises UsageError where its special tokens leave too little room."""
        lead, trail = tokenizer.lead, tokenizer.trail
        return Chunker(self.size, self.overlap, lead, trail, self.keep, self.axes, self.languages, borders=self.borders)


class Chunker:
    """Cuts token ids into chunks with special tokens around them.

    Args:
        size: tokens of a chunk, special tokens included.
        overlap: document tokens that neighbouring chunks share.
        lead, trail: ids of the special tokens before and after the body.
        keep: which chunks are read.
        axes, languages: what tokens know beside their order, see `DocumentAxes`.
        prefix: ids of further tokens that every chunk begins with, behind `lead`: a prompt, a question.
        token_types: of all tokens of a chunk; None = all of one type.
        borders: where chunks would rather begin and end; None = they are cut at their size.

    Attributes:
        body: document tokens of a chunk.

    Raises:
        UsageError: the sizes do not fit together.
    """

    def __init__(
        self,
        size: int,
        overlap: int,
        lead: Sequence[int],
        trail: Sequence[int],
        keep: Keep = "all",
        axes: Sequence[Axis] = (),
        languages: Sequence[str] = (),
        prefix: Sequence[int] = (),
        token_types: TokenTypes | None = None,
        *,
        borders: BordersConfig | None = None,
    ) -> None:
        self.body = chunk_body(size, len(lead) + len(trail), overlap, len(prefix))
        self.size, self.overlap, self.keep = size, overlap, keep
        self.axes, self.languages = tuple(axes), tuple(languages) or COMMON_LANGUAGES
        self.borders = borders
        self._own = tuple(lead), tuple(trail)
        self._types = token_types
        self._lead = self._specials([*lead, *prefix])
        self._trail = self._specials(trail)

    def with_prefix(self, prefix: Sequence[int]) -> Chunker:
        """The same chunker for chunks that begin with these tokens, behind their special ones, and so hold fewer.

        Raises:
            UsageError: no room is left for the document, or not more than the overlap.
        """
        lead, trail = self._own
        settings = (self.keep, self.axes, self.languages)
        return Chunker(self.size, self.overlap, lead, trail, *settings, prefix, borders=self.borders)

    def with_question(self, pair: PairTemplate, question: Sequence[int]) -> Chunker:
        """The same chunker for chunks that are the second text of a pair, whose first one is a question.

        Args:
            pair: how the tokenizer puts two texts into one row.
            question: token ids of the question.

        Raises:
            UsageError: no room is left for the document, or not more than the overlap.
        """
        prefix, types = (*question, *pair.between), pair.types(len(question))
        settings = (self.keep, self.axes, self.languages)
        return Chunker(self.size, self.overlap, pair.lead, pair.trail, *settings, prefix, types, borders=self.borders)

    def count(self, n_tokens: int) -> int:
        """Chunks that a document of so many tokens has in the plain plan, whether they are kept or not."""
        return count_chunks(n_tokens, self.body, self.overlap)

    def kept(self, n_tokens: int, ranks: Ranks | None = None) -> int:
        """Chunks of it that are read; with `borders`, but without `ranks`, as many as without: nearly right."""
        if self.borders is None or ranks is None:
            return len(STARTS[self.keep](n_tokens, self.body, self.body - self.overlap))
        return sum(1 for _ in self.plan(n_tokens, ranks))

    def tokens_read(self, n_tokens: int, ranks: Ranks | None = None) -> int:
        """Distinct tokens in the chunks that are read."""
        return sum(core.end - core.start for _, core in self.plan(n_tokens, ranks))

    def plan(self, n_tokens: int, ranks: Ranks | None = None) -> Iterator[tuple[Span, Span]]:
        """Span and core of each chunk that is read, in tokens of the document, one by one.

        Args:
            n_tokens: tokens of the document.
            ranks: int8 (n_tokens,), how good it is to begin a chunk with each token; needed where there are `borders`.

        Raises:
            UsageError: they are needed, and not there.
        """
        if self.borders is None:
            return with_cores(spans(n_tokens, self.body, self.overlap, self.keep))
        if ranks is None or len(ranks) != n_tokens:
            raise UsageError(
                f"`ranks` must say of each of the {n_tokens} tokens how good a border it is, since `chunking.borders` "
                f"is set, but does so of {0 if ranks is None else len(ranks)}. Pass the document with its tokens."
            )
        return with_cores(bordered_spans(n_tokens, self.body, self.overlap, ranks, self.borders.tolerance, self.keep))

    def ranks(self, tokenized: TokenizedDocument, document: Document | None) -> Ranks | None:
        """How good it is to begin a chunk with each token, int8 (T,); None where there are no `borders`."""
        if self.borders is None or document is None:
            return None
        return BorderRanks(document, self.borders.prefer).of(tokenized.offsets)

    def chunks(self, tokenized: TokenizedDocument, document: Document | None = None) -> list[Chunk]:
        """The chunks of a document that are read, in text order. Axes and borders are those of `document`."""
        block = tokenized.token_ids
        if self.axes and document is not None:
            block = self.with_axes(DocumentAxes(document, self.axes, self.languages), block, tokenized.offsets)
        return list(self.stream(tokenized.id, len(tokenized), [block], self.ranks(tokenized, document)))

    def with_axes(
        self, axes: DocumentAxes, token_ids: NDArray[np.int32], offsets: NDArray[np.int32]
    ) -> NDArray[np.int32]:
        """A block for `stream`: ids and further axes of the same tokens, int32 (1 + axes, n)."""
        return np.concatenate([token_ids[None], axes.of(offsets)])

    def stream(
        self, doc_id: str, n_tokens: int, blocks: Iterable[NDArray[np.int32]], ranks: Ranks | None = None
    ) -> Iterator[Chunk]:
        """The same from ids that come block by block, holding no more than one block and one chunk.

        Args:
            doc_id: id of the document.
            n_tokens: number of all ids.
            blocks: int32[n] each, or (1 + axes, n) as `with_axes` makes them; read only as far as needed.
            ranks: as in `plan`.
        """
        total = self.kept(n_tokens, ranks)
        source = iter(blocks)
        held, first = np.empty((1 + len(self.axes), 0), dtype=np.int32), 0  # begins with token number `first`
        for ordinal, (span, core) in enumerate(self.plan(n_tokens, ranks)):
            while first + held.shape[1] < span.end:
                if span.start > first:
                    drop = min(span.start - first, held.shape[1])
                    held, first = held[:, drop:], first + drop
                held = np.concatenate([held, self._rows(next(source))], axis=1)
            body = held[:, span.start - first : span.end - first]
            rows = np.concatenate([self._lead, body, self._trail], axis=1)
            axes = rows[1:] if self.axes else None
            types = None if self._types is None else self._types_of(body.shape[1])
            yield Chunk(doc_id, ordinal, total, span, core, rows[0], self._lead.shape[1], axes, types)

    def _specials(self, ids: Sequence[int]) -> NDArray[np.int32]:
        return self._rows(np.array(ids, dtype=np.int32))

    def _rows(self, block: NDArray[np.int32]) -> NDArray[np.int32]:
        """(1 + axes, n); ids that came alone are at 0 of every further axis."""
        if block.ndim == 2:
            return block
        return np.concatenate([block[None], np.zeros((len(self.axes), len(block)), dtype=np.int32)])

    def _types_of(self, body: int) -> NDArray[np.int32]:
        """int32[n] of a chunk with so many document tokens."""
        assert self._types is not None
        return np.array([*self._types.lead, *[self._types.body] * body, *self._types.trail], dtype=np.int32)


@dataclass(frozen=True, slots=True, repr=False)
class PreparedDocument:
    """What is known of a document before the encoder sees it, and its chunks.

    Attributes:
        id: the document's.
        n_tokens: all its tokens.
        n_chunks: chunks that are made of it and kept.
        tokens_read: distinct tokens in those.
        unknown_share: share of its characters under unknown tokens.
        characters: length of the text in code points.
        chunks: in text order; may be iterated once.
        tokens: those that are read, with their places in the text, where they were asked for.
        word_scores: (C,), what a linear classifier makes of the text, where the model carries one.
        meta: the document's, for answers that say where in it they stand (pages).
    """

    id: str
    n_tokens: int
    n_chunks: int
    tokens_read: int
    unknown_share: float
    characters: int
    chunks: Iterable[Chunk]
    tokens: TokensRead | None = None
    word_scores: NDArray[np.float64] | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"PreparedDocument(id=#{short_digest(self.id)}, tokens={self.n_tokens}, chunks={self.n_chunks})"


def prepare(
    document: Document, tokenizer: DocumentTokenizer, chunker: Chunker, lazy_above: int = LAZY_ABOVE
) -> PreparedDocument:
    """Tokenize and cut one document.

    A text of more than `lazy_above` characters, or whose tokens have further axes, is read twice: once to count its
    tokens, once to make its chunks while they are iterated. Memory then holds a few pieces of the text and never all
    of its tokens; with borders, one byte a token.

    Raises:
        DocumentError: `empty`, where the text has no tokens, or nothing but white space, marks and invisible characters
            (for which some tokenizers do have tokens); `too_large` and `unreadable` as in
            `DocumentTokenizer.segments`.
    """
    if len(document.text) <= lazy_above and chunker.borders is not None:
        return prepare_tokenized(document, tokenizer.tokenize(document), chunker)
    if len(document.text) <= lazy_above and not chunker.axes:
        return _from_segments(document, list(tokenizer.id_segments(document.text)), chunker)
    n_tokens, unknown, ranks = _counted(document, tokenizer, chunker)
    chunks = chunker.stream(document.id, n_tokens, _blocks(document, tokenizer, chunker), ranks)
    kept, read = chunker.kept(n_tokens, ranks), chunker.tokens_read(n_tokens, ranks)
    return _prepared(document, n_tokens, unknown, kept, read, chunks)


def prepare_tokenized(document: Document, tokenized: TokenizedDocument, chunker: Chunker) -> PreparedDocument:
    """As `prepare`, for a document whose tokens are known: `tokenized` has those of its text.

    Raises:
        DocumentError: `empty`, as in `prepare`.
    """
    chunks = chunker.chunks(tokenized, document)
    return _in_memory(document, len(tokenized), tokenized.unknown_characters, chunks)


def prepare_with_tokens(document: Document, tokenizer: DocumentTokenizer, chunker: Chunker) -> PreparedDocument:
    """Tokenize and cut one document, and keep where its tokens stand. Memory holds all of them.

    Raises: as `prepare`.
    """
    return keeping_tokens(document, tokenizer.tokenize(document), chunker)


def keeping_tokens(document: Document, tokenized: TokenizedDocument, chunker: Chunker) -> PreparedDocument:
    """As `prepare_with_tokens`, for a document whose tokens are known.

    Raises:
        DocumentError: `empty`, as in `prepare`.
    """
    prepared = prepare_tokenized(document, tokenized, chunker)
    chunks = tuple(prepared.chunks)
    read = np.zeros(len(tokenized), dtype=bool)
    for chunk in chunks:
        read[chunk.core.start : chunk.core.end] = True
    numbers = np.flatnonzero(read).astype(np.int32)
    places = tuple((chunk.span, chunk.core) for chunk in chunks)
    tokens = TokensRead(document.text, tokenized.offsets[numbers], numbers, places, document.question or "")
    return replace(prepared, chunks=chunks, tokens=tokens)


def prepare_many(
    documents: Sequence[Document], tokenizer: DocumentTokenizer, chunker: Chunker, keep_tokens: bool = False
) -> list[PreparedDocument | DocumentFailure]:
    """As `prepare` for each document, all but long ones side by side on all cores, with failures in their places.

    Args:
        keep_tokens: as in `prepare_with_tokens`, text by text.
    """
    together = [place for place, document in enumerate(documents) if len(document.text) <= LAZY_ABOVE]
    if chunker.axes or keep_tokens:
        together = []  # axes need offsets, which are made text by text
    group = [documents[place] for place in together]
    found: dict[int, list[IdSegment] | TokenizedDocument]
    try:
        if chunker.borders is None:
            found = dict(zip(together, tokenizer.ids_of_many([document.text for document in group]), strict=True))
        else:
            found = dict(zip(together, tokenizer.tokenize_many(group), strict=True))
    except DocumentError:
        found = {}  # one of them fails: each is tried alone

    def prepared(place: int, document: Document) -> PreparedDocument | DocumentFailure:
        try:
            tokens = found.get(place)
            if isinstance(tokens, TokenizedDocument):
                return prepare_tokenized(document, tokens, chunker)
            if tokens is not None:
                return _from_segments(document, tokens, chunker)
            return (prepare_with_tokens if keep_tokens else prepare)(document, tokenizer, chunker)
        except DocumentError as error:
            return DocumentFailure(document.id, error.reason, error.stage, type(error).__name__, str(error))

    return [prepared(place, document) for place, document in enumerate(documents)]


def _blocks(document: Document, tokenizer: DocumentTokenizer, chunker: Chunker) -> Iterator[NDArray[np.int32]]:
    """The document's tokens piece by piece, with their further axes where the chunker wants them."""
    if not chunker.axes:
        yield from (segment.token_ids for segment in tokenizer.id_segments(document.text))
        return
    axes = DocumentAxes(document, chunker.axes, chunker.languages)
    for segment in tokenizer.segments(document.text):
        yield chunker.with_axes(axes, segment.token_ids, segment.offsets)


def _counted(document: Document, tokenizer: DocumentTokenizer, chunker: Chunker) -> tuple[int, int, Ranks | None]:
    """Tokens of a text, its characters under unknown ones, and, where there are borders, how good they are."""
    n_tokens = unknown = 0
    if chunker.borders is None:
        for segment in tokenizer.id_segments(document.text):
            n_tokens += len(segment.token_ids)
            unknown += segment.unknown_characters
        return n_tokens, unknown, None
    finder, ranks = BorderRanks(document, chunker.borders.prefer), [np.zeros(0, dtype=np.int8)]
    for placed in tokenizer.segments(document.text):
        n_tokens += len(placed.token_ids)
        unknown += placed.unknown_characters
        ranks.append(finder.of(placed.offsets))
    return n_tokens, unknown, np.concatenate(ranks)


def _has_something_to_read(text: str) -> bool:
    return any(unicodedata.category(found[0]) not in _INVISIBLE for found in _NO_SPACE.finditer(text))


def _from_segments(document: Document, segments: Sequence[IdSegment], chunker: Chunker) -> PreparedDocument:
    n_tokens = sum(len(segment.token_ids) for segment in segments)
    unknown = sum(segment.unknown_characters for segment in segments)
    chunks = chunker.stream(document.id, n_tokens, [segment.token_ids for segment in segments])
    return _in_memory(document, n_tokens, unknown, list(chunks))


def _in_memory(document: Document, n_tokens: int, unknown: int, chunks: Sequence[Chunk]) -> PreparedDocument:
    read = sum(chunk.core.end - chunk.core.start for chunk in chunks)
    return _prepared(document, n_tokens, unknown, len(chunks), read, chunks)


def _prepared(
    document: Document, n_tokens: int, unknown: int, n_chunks: int, tokens_read: int, chunks: Iterable[Chunk]
) -> PreparedDocument:
    if not n_tokens or not _has_something_to_read(document.text):
        characters = counted(len(document.text), "character")
        found = f"has {characters}, white space or invisible" if document.text else "is empty"
        raise DocumentError(
            "empty",
            f"The text must have something to read, but {found}. Leave the document out, or look at how it was read.",
            stage="tokenize",
        )
    return PreparedDocument(
        id=document.id,
        n_tokens=n_tokens,
        n_chunks=n_chunks,
        tokens_read=tokens_read,
        unknown_share=unknown / len(document.text),
        characters=len(document.text),
        chunks=chunks,
        meta=document.meta,
    )
