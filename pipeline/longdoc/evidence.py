"""Which passages made the score: contributions of tokens, gathered into passages that people can read.

A document's logit is its base (what it would score if no chunk said anything: the head's bias, and with `noisy_or` or
`hierarchical` what that becomes over so many chunks), and what each chunk gives. With mean or max pooling and a linear
head a chunk's part is a sum over its tokens, each counted in the one chunk where its context is widest; with `cls`
pooling or a pooler with tanh each chunk's core is one passage.

What chunks give adds up exactly with the mergers `mean`, `max`, `attention`, `gated_attention` and with label
attention. With `logsumexp`, `noisy_or` and `hierarchical` it is found by integrated gradients, whose points are
doubled until the remainder is below 1e-4 of the score; `ChunkEvidence.remainder` is what is left. Base and remainder
are spread evenly over the tokens read, so that the passages' weights add up to the logit itself; a passage also says
what it adds without that share, which is what it speaks for or against.

The strongest passage of each score is taken away to see what becomes of the score (`longdoc.occlusion`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from longdoc.checkpoints.native import ModelSettings
from longdoc.model import LongDocModel
from longdoc.nn.readout import DocumentReadout
from longdoc.occlusion import ChunkReader, occlusion_of, score_without
from longdoc.passages import passages_read, split_passages
from longdoc.precision import Placement
from longdoc.tasks import task_named
from longdoc.text.batching import BatchingConfig
from longdoc.text.chunking import Chunker
from longdoc.text.tokenizing import DocumentTokenizer
from longdoc.types import (
    ChunkBatch,
    Document,
    DocumentPrediction,
    DocumentResult,
    EvidencePassage,
    ScoredSpan,
    Span,
)

__all__ = ["ChunkEvidence", "chunk_evidence", "chunks_of_result", "chunks_of_spans", "explain_document"]


@dataclass(frozen=True)
class ChunkEvidence:
    """One label's score of one document, taken apart: base + sum of parts + remainder.

    Attributes:
        score: the logit.
        base: what a document of as many chunks scores when no chunk says anything.
        slopes: (N, F), factors of the rows.
        parts: float64 (N,), what each chunk gives: the sums of slopes * rows.
    """

    score: float
    base: float
    slopes: torch.Tensor
    parts: NDArray[np.float64]

    @property
    def remainder(self) -> float:
        """What the parts leave over: round-off, or the error of the quadrature."""
        return self.score - self.base - float(self.parts.sum())


def chunk_evidence(readout: DocumentReadout, rows: torch.Tensor, weights: torch.Tensor, label: int) -> ChunkEvidence:
    """What each chunk of one document gives to the score of a label.

    Args:
        readout: in evaluation mode.
        rows: (N, F), all rows of the document, in text order.
        weights: (N,), core tokens of each chunk.
        label: number of the label.
    """
    owner = torch.zeros(len(rows), dtype=torch.int64, device=rows.device)
    with torch.no_grad():
        score = float(readout.documents(rows, owner, weights, 1)[0, label])
        base = float(readout.base(rows, owner, weights, 1)[0, label])
    slopes = readout.slopes(rows, owner, weights, 1, label)
    parts = (slopes.cpu().double() * rows.cpu().double()).sum(1).numpy()
    return ChunkEvidence(score, base, slopes, parts)


def explain_document(
    document: Document,
    prediction: DocumentPrediction,
    model: LongDocModel,
    settings: ModelSettings,
    tokenizer: DocumentTokenizer,
    chunker: Chunker,
    batching: BatchingConfig,
    placement: Placement,
    occlude: bool = True,
) -> tuple[EvidencePassage, ...]:
    """Passages of the document with what each adds to the logit of every label that the prediction names.

    Args:
        document, prediction: the document and its answer by the same model.
        model, settings, tokenizer, chunker, batching, placement: of the pipeline that gave the answer.
        occlude: for each score, take its strongest passage away and say what became of the score.

    Returns:
        Passages in text order, score by score: those that the task says to explain, the best label, those that are
        given, or the number. The weights of one score add up to it within round-off. Nothing where the task has no
        such scores.
    """
    explained = task_named(settings.task).explained(prediction, settings.labels)
    readout = model.readout
    if not explained or not isinstance(readout, DocumentReadout):
        return ()  # the answer says itself where it stands in the text
    names, columns = [name for name, _ in explained], [column for _, column in explained]
    tokenized = tokenizer.tokenize(document)
    chunks = chunker.chunks(tokenized, document)
    reader = ChunkReader(model, chunks, settings.chunking.size, tokenizer.pad_id, batching, placement)

    numbers, made = reader.rows(readout)
    rows = torch.empty_like(made)
    rows[numbers] = made
    device = placement.device
    found = [chunk_evidence(readout, rows.to(device), reader.weights.to(device), column) for column in columns]

    by_token = _by_token(reader, readout, found, columns)
    ranges: Sequence[tuple[int, int]]
    if by_token is not None:
        whole = split_passages(document.text, tokenized.offsets, language=document.language)
        ranges = passages_read(whole, [chunk.core for chunk in chunks])
        sums = np.array([by_token[start:end].sum(axis=0) for start, end in ranges])
    else:
        ranges = [(chunk.core.start, chunk.core.end) for chunk in chunks]
        sums = np.stack([evidence.parts for evidence in found], axis=1)
    read = sum(end - start for start, end in ranges)
    passages = []
    for place, (name, evidence) in enumerate(zip(names, found, strict=True)):
        spread = (evidence.base + evidence.remainder) / read
        strongest = int(np.abs(sums[:, place]).argmax())
        for number, (start, end) in enumerate(ranges):
            left, right = int(tokenized.offsets[start, 0]), int(tokenized.offsets[end - 1, 1])
            claimed = float(sums[number, place])
            passage = EvidencePassage(left, right, name, claimed + spread * (end - start), own=claimed)
            if occlude and number == strongest:
                without = score_without(
                    reader, readout, rows, Span(start, end), columns[place], whole_chunks=by_token is None
                )
                passage = passage._replace(occlusion=occlusion_of(claimed, evidence.score - without))
            passages.append(passage)
    return tuple(passages)


def chunks_of_spans(
    document: Document, spans: Sequence[ScoredSpan], tokenizer: DocumentTokenizer, chunker: Chunker
) -> tuple[int, ...]:
    """For each span of a document the number, from 1, of the chunk that answers for its first token."""
    if not spans:
        return ()
    tokenized = tokenizer.tokenize(document)
    ends = [chunk.core.end for chunk in chunker.chunks(tokenized, document)]
    first = np.searchsorted(tokenized.offsets[:, 1], [span.start for span in spans], side="right")
    return tuple(int(number) + 1 for number in np.searchsorted(ends, first, side="right"))


def chunks_of_result(
    document: Document, result: DocumentResult, tokenizer: DocumentTokenizer, chunker: Chunker
) -> tuple[int, ...]:
    """As `chunks_of_spans` for the spans of a result; an answer says itself in which chunk it was found."""
    if not isinstance(result, DocumentPrediction):
        return ()
    if result.answers:
        found = {(answer.start, answer.end): answer.chunk for answer in result.answers}
        return tuple(found[span.start, span.end] for span in result.spans)
    return chunks_of_spans(document, result.spans, tokenizer, chunker)


def _by_token(
    reader: ChunkReader, readout: DocumentReadout, found: Sequence[ChunkEvidence], columns: Sequence[int]
) -> NDArray[np.float64] | None:
    """(T, labels): what each token of a document gives to each score; None where that is no sum over tokens."""
    by_token = np.zeros((max((chunk.core.end for chunk in reader.chunks), default=0), len(columns)))
    for members, batch, hidden in reader.batches():
        for place, (column, evidence) in enumerate(zip(columns, found, strict=True)):
            parts = _token_parts(readout, hidden, batch, evidence.slopes[members], column)
            if parts is None:
                return None
            for row, member in enumerate(members):
                chunk = reader.chunks[member]
                first = chunk.lead + chunk.core.start - chunk.span.start
                last = chunk.lead + chunk.core.end - chunk.span.start
                by_token[chunk.core.start : chunk.core.end, place] = parts[row, first:last]
    return by_token


def _token_parts(
    readout: DocumentReadout, hidden: torch.Tensor, batch: ChunkBatch, slopes: torch.Tensor, label: int
) -> NDArray[np.float64] | None:
    """What each token of a batch gives to a label, float64 (N, L); rows past the slopes are filler."""
    padded = torch.zeros(len(hidden), slopes.shape[1], dtype=slopes.dtype, device=hidden.device)
    padded[: len(slopes)] = slopes
    with torch.inference_mode():
        parts = readout.token_contributions(hidden, batch, padded, label)
    return None if parts is None else parts.cpu().double().numpy()
