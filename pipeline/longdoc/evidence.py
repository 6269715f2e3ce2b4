"""Which passages made the score: contributions of tokens, gathered into passages that people can read.

With mean or max pooling and a linear head, a document's logit is a sum over its tokens, each counted in the one chunk
where its context is widest. The passages' weights therefore add up to the logit itself (the head's bias is spread
evenly over the tokens read). Where a chunk's row is no sum over tokens (`cls` pooling, a pooler with tanh), each
chunk's core is one passage; the sum is exact in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from longdoc.checkpoints.native import ModelSettings
from longdoc.model import LongDocModel
from longdoc.precision import Placement
from longdoc.text.batching import BatchingConfig, plan_batches
from longdoc.text.batching import collate as collate_chunks
from longdoc.text.chunking import Chunker
from longdoc.text.tokenizing import DocumentTokenizer
from longdoc.types import Chunk, ChunkBatch, Document, DocumentPrediction, EvidencePassage, Span

__all__ = ["explain_document", "split_passages"]

_SENTENCE_ENDS = frozenset(".!?;:。！？；؟؛।")


def split_passages(
    text: str, offsets: NDArray[np.int32], shortest: int = 16, longest: int = 96
) -> list[tuple[int, int]]:
    """Token ranges that end at a sentence or line end where one comes in time.

    Args:
        text: the document's.
        offsets: int32 (T, 2), code points.
        shortest, longest: tokens of a passage; the last one may be shorter.

    Returns:
        Half-open token ranges that partition `[0, T)`.
    """
    ranges: list[tuple[int, int]] = []
    start, count = 0, len(offsets)
    for token in range(count):
        length = token + 1 - start
        end = int(offsets[token, 1])
        following = int(offsets[token + 1, 0]) if token + 1 < count else len(text)
        at_break = (text[end - 1 : end] in _SENTENCE_ENDS and following > end) or "\n" in text[end:following]
        if length >= longest or (length >= shortest and at_break):
            ranges.append((start, token + 1))
            start = token + 1
    if start < count:
        ranges.append((start, count))
    return ranges


def explain_document(
    document: Document,
    prediction: DocumentPrediction,
    model: LongDocModel,
    settings: ModelSettings,
    tokenizer: DocumentTokenizer,
    chunker: Chunker,
    batching: BatchingConfig,
    placement: Placement,
) -> tuple[EvidencePassage, ...]:
    """Passages of the document with what each adds to the logit of every label that the prediction names.

    Args:
        document, prediction: the document and its answer by the same model.
        model, settings, tokenizer, chunker, batching, placement: of the pipeline that gave the answer.

    Returns:
        Passages in text order, label by label: the best label (single label), the chosen ones or the best one
        (multi label), or the value (regression). The weights of one label add up to its logit within round-off.
    """
    tokenized = tokenizer.tokenize(document)
    chunks = chunker.chunks(tokenized)
    names = _labels_to_explain(prediction, settings)
    columns = [settings.labels.index(name) for name in names]

    rows = torch.zeros(len(chunks), model.readout.row_width)
    for members, batch, hidden in _encoded(model, chunks, tokenizer.pad_id, settings, batching, placement):
        rows[members] = model.readout.rows(hidden, batch)[: len(members)].float().cpu()
    owner = torch.zeros(len(chunks), dtype=torch.int64)
    weights = torch.tensor([float(c.core.end - c.core.start) for c in chunks])
    device = placement.device
    with torch.inference_mode():
        arguments = (rows.to(device), owner.to(device), weights.to(device), 1)
        gains = model.readout.gains(*arguments).float().cpu()
        by_chunk = model.readout.chunk_contributions(*arguments).double().cpu().numpy()[:, columns]
    bias = model.readout.bias.detach().double().cpu().numpy()[columns]

    by_token = np.zeros((len(tokenized), len(columns)))
    divisible = True
    for members, batch, hidden in _encoded(model, chunks, tokenizer.pad_id, settings, batching, placement):
        padded = torch.zeros(hidden.shape[0], gains.shape[1])
        padded[: len(members)] = gains[members]
        with torch.inference_mode():
            parts = model.readout.token_contributions(hidden, batch, padded.to(device))
        if parts is None:
            divisible = False
            break
        values = parts.double().cpu().numpy()[:, :, columns]
        for row, member in enumerate(members):
            chunk = chunks[member]
            first = chunk.lead + chunk.core.start - chunk.span.start
            last = chunk.lead + chunk.core.end - chunk.span.start
            by_token[chunk.core.start : chunk.core.end] = values[row, first:last]

    ranges: Sequence[tuple[int, int]]
    if divisible:
        ranges = _passages_inside(split_passages(document.text, tokenized.offsets), [c.core for c in chunks])
        sums = [by_token[start:end].sum(axis=0) for start, end in ranges]
    else:
        ranges = [(chunk.core.start, chunk.core.end) for chunk in chunks]
        sums = list(by_chunk)
    read = sum(end - start for start, end in ranges)
    passages = []
    for column, name in enumerate(names):
        for (start, end), values_here in zip(ranges, sums, strict=True):
            share = bias[column] * (end - start) / read
            left, right = int(tokenized.offsets[start, 0]), int(tokenized.offsets[end - 1, 1])
            passages.append(EvidencePassage(left, right, name, float(values_here[column] + share)))
    return tuple(passages)


def _labels_to_explain(prediction: DocumentPrediction, settings: ModelSettings) -> list[str]:
    if settings.task == "regression":
        return [settings.labels[0]]
    chosen = [item.label for item in prediction.labels if item.chosen]
    return chosen or [prediction.labels[0].label]


def _encoded(
    model: LongDocModel,
    chunks: Sequence[Chunk],
    pad_id: int,
    settings: ModelSettings,
    batching: BatchingConfig,
    placement: Placement,
) -> Iterator[tuple[list[int], ChunkBatch, torch.Tensor]]:
    """Batches of the same shapes as in prediction, hence the same bits: chunk numbers, batch, hidden states."""
    for planned in plan_batches(enumerate(chunks), settings.chunking.size, batching):
        count = len(planned.chunks)
        batch = collate_chunks(
            planned.chunks, range(count), count, pad_id, rows=planned.rows, length=planned.length
        ).to(placement.device)
        with placement.inference():
            hidden = model.encoder(batch.token_ids, batch.valid, batch.positions, batch.segments)
        yield list(planned.owners), batch, hidden


def _passages_inside(ranges: Sequence[tuple[int, int]], cores: Sequence[Span]) -> list[tuple[int, int]]:
    """The parts of the passages that were read: chunks left out by `keep` leave no passage behind."""
    merged: list[list[int]] = []
    for core in cores:
        if merged and merged[-1][1] == core.start:
            merged[-1][1] = core.end
        else:
            merged.append([core.start, core.end])
    parts = []
    position = 0
    for start, end in ranges:
        while position < len(merged) and merged[position][1] <= start:
            position += 1
        at = position
        while at < len(merged) and merged[at][0] < end:
            left, right = max(start, merged[at][0]), min(end, merged[at][1])
            if left < right:
                parts.append((left, right))
            at += 1
    return parts
