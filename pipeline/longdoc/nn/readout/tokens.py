"""Scores of tokens: every token of a document is scored once, in the chunk where its context is widest.

A row holds what a chunk's core tokens say, left-aligned, padded with zeros to the longest core there can be; the
weight of the chunk says how many are real. The second half strings them together in the order of the text, so nothing
that is decided afterwards knows where a chunk ended.

What stands in a row is the scores (C numbers a token), which are few; or, while an encoder that does not learn is
read once for many epochs, the states (D numbers), so that the head can learn from them without the encoder.

Shape letters: N chunks, L length, D width, C scores, T core tokens of all documents, F width of a row.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from pydantic import Field, field_validator
from torch import Tensor, nn

from longdoc.errors import UsageError
from longdoc.nn.exact import exact
from longdoc.nn.heads import HeadConfig, LinearHead, LinearHeadConfig
from longdoc.nn.readout.base import ReadoutSettings, ordinals_of
from longdoc.nn.readout.kept_states import KeptStates
from longdoc.nn.readout.transitions import Transitions
from longdoc.spans.tags import Scheme, TagLayout, read_tags, tags_of
from longdoc.spans.words import Subwords
from longdoc.types import ChunkBatch

__all__ = ["TokensReadout", "TokensReadoutConfig", "core_rows", "strung_together"]


def core_rows(values: Tensor, batch: ChunkBatch, body: int) -> Tensor:
    """What the core tokens of each chunk say, as rows.

    Args:
        values: (N, L, W), float32 or finer.
        batch: whose cores they are; a core is one run of tokens.
        body: the most core tokens that a chunk can have.

    Returns:
        (N, 1 + body * W): the number of the chunk in its document, then its core tokens in order, then zeros.
    """
    count, length, width = values.shape
    most = min(body, length)
    first = batch.core.to(torch.int8).argmax(1)
    sizes = batch.core.sum(1)
    places = torch.arange(most, device=values.device)
    index = (first[:, None] + places).clamp(max=length - 1)
    taken = values.gather(1, index[..., None].expand(-1, -1, width))
    taken = taken.masked_fill((places >= sizes[:, None])[..., None], 0.0)
    flat = nn.functional.pad(taken.reshape(count, most * width), (0, (body - most) * width))
    return torch.cat([ordinals_of(batch).to(flat.dtype)[:, None], flat], dim=1)


def strung_together(rows: Tensor, owner: Tensor, weights: Tensor, width: int) -> Tensor:
    """Rows of `core_rows`, in any order -> (T, W): the tokens of document 0 in the order of its text, then of 1 ..."""
    numbers = rows[:, 0].detach().round().to(torch.int64)
    order = torch.argsort(owner * (int(numbers.max()) + 1 if len(numbers) else 1) + numbers, stable=True)
    tokens = rows[order, 1:].reshape(len(rows), -1, width)
    real = torch.arange(tokens.shape[1], device=rows.device) < weights[order, None]
    return tokens[real]


class TokensReadout(KeptStates):
    """A head on each token; the scores are those of tags.

    Args:
        head: scores each token, C numbers.
        layout: which tags these are.
        crf: whether scores between neighbouring tags are learned, beside those of the tags.
        subwords: what a word of several tokens is judged by.

    Attributes:
        transitions: the learned scores between neighbours, or None.
    """

    head: LinearHead

    def __init__(self, head: LinearHead, layout: TagLayout, crf: bool = False, subwords: Subwords = "first") -> None:
        super().__init__()
        self.head = head
        self.layout = layout
        self.subwords: Subwords = subwords
        self.classes = head.output.out_features
        self.transitions = Transitions(layout) if crf else None

    @property
    def row_width(self) -> int:  # type: ignore[override]
        """F, which depends on how long chunks are and on what is kept of a token."""
        return 1 + self.body * (self.head.output.in_features if self.keeps_states else self.classes)

    def rows(self, hidden: Tensor, batch: ChunkBatch) -> Tensor:
        states = exact(hidden)
        return core_rows(states if self.keeps_states else self._scores(states), batch, self.body)

    def documents(self, rows: Tensor, owner: Tensor, weights: Tensor, documents: int) -> Tensor:
        """(T, C), the core tokens of all documents."""
        if self.keeps_states:
            return self._scores(strung_together(rows, owner, weights, self.head.output.in_features))
        return strung_together(rows, owner, weights, self.classes)

    def _scores(self, states: Tensor) -> Tensor:
        return self.head.classify(self.head.transform(states))


class TokensReadoutConfig(ReadoutSettings):
    """Tags on the words of the whole document, decoded once, so that no span is cut where a chunk ends."""

    scored: ClassVar[Literal["documents", "tokens", "nothing"]] = "tokens"
    token_model: ClassVar[Literal["tagger", "answerer"] | None] = "tagger"

    kind: Literal["tokens"] = "tokens"
    head: HeadConfig = LinearHeadConfig()
    """What scores each token, by its `kind`."""
    scheme: Scheme = "bio"
    """How spans are written as tags: `bio` (begin, inside, outside) or `bioes` (also end and single)."""
    overlapping: bool | None = None
    """Whether spans of different labels may overlap: there is then one sequence of tags for each label. Null: as the
    training data have it."""
    decoder: Literal["constrained", "crf"] = "constrained"
    """The best sequence of tags that spells spans: by the scores of words alone (`constrained`), or also by learned
    scores between neighbours (`crf`)."""
    subwords: Subwords = "first"
    """What a word of several tokens is judged by: its `first` token, the `mean` of all; or `split`: every token is a
    word, and spans may begin and end inside words."""
    tags: tuple[str, ...] | None = Field(default=None, min_length=1)
    """The names of the scores of a checkpoint from elsewhere, in their order; null = those of the scheme. Any tag may
    follow any then."""

    @field_validator("tags")
    @classmethod
    def _tags_name_labels(cls, tags: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if tags is not None:
            read_tags(tags)
        return tags

    def score_names(self, labels: tuple[str, ...]) -> tuple[str, ...] | None:
        """The names of the tags (`O`, `B-LOC` ...); None where there is a sequence of them for each label."""
        if self.tags is not None:
            return self.tags
        layers = self.layout(len(labels)).layers
        if self.overlapping or len(layers) > 1:
            return None
        return tuple("O" if tag.role == "O" else f"{tag.role}-{labels[tag.label]}" for tag in layers[0])

    def layout(self, labels: int) -> TagLayout:
        """The tags of so many labels."""
        return tags_of(labels, self.scheme, bool(self.overlapping)) if self.tags is None else read_tags(self.tags)[1]

    def build(self, width: int, classes: int) -> TokensReadout:
        """The readout for an encoder of `width` and `classes` scores of tags.

        Raises:
            UsageError: no number of labels has so many tags.
        """
        a_label = {"bio": 2, "bioes": 4}[self.scheme]
        labels = classes // (a_label + 1) if self.overlapping else (classes - 1) // a_label
        layout = self.layout(labels)
        layers, tags = layout.shape
        if layers * tags != classes:
            raise UsageError(
                f"`classes` must be the number of tags of some labels, but no number of labels has {classes} tags in "
                f"the scheme {self.scheme}. Count them with `layout`."
            )
        return TokensReadout(self.head.build(width, classes), layout, self.decoder == "crf", self.subwords)
