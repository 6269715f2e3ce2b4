"""What is hidden from an encoder that learns to guess: a pure function of seed, epoch, document and token.

A whole document is masked, then looked at chunk by chunk: a token that two chunks share is hidden in both or in
neither, so that no overlap gives an answer away, and is to be guessed in one of them alone, the one whose core it is
in. The random numbers are hashes of a token's place (SplitMix64; Steele, Lea and Flood 2014), so that any chunk can be
masked by itself, in any order, on any process.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from longdoc.errors import CheckpointError
from longdoc.text.tokenizing import DocumentTokenizer
from longdoc.training.pretraining_settings import PretrainingConfig
from longdoc.types import Chunk

__all__ = ["IGNORED", "MaskedChunk", "Masking"]

IGNORED = -100
"""The target of a token that is not to be guessed, as in transformers."""

_TRAIN, _VALIDATION = 0, 1
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class MaskedChunk(NamedTuple):
    """A chunk as the encoder sees it, and int64[n] with the true id of each token to be guessed, else `IGNORED`."""

    chunk: Chunk
    targets: NDArray[np.int64]

    @property
    def hidden(self) -> int:
        """How many tokens are to be guessed."""
        return int((self.targets != IGNORED).sum())


@dataclass(frozen=True)
class _Keys:
    """Three independent sources of random numbers of one document."""

    chosen: np.uint64
    fate: np.uint64
    other: np.uint64


class Masking:
    """Hides tokens.

    Args:
        settings: shares and seeds.
        tokenizer: knows the mask token and the special ones.
        vocab_size: rows of the encoder's word table; ids from there on are never drawn.

    Raises:
        CheckpointError: the tokenizer has no mask token that the encoder knows.
    """

    def __init__(self, settings: PretrainingConfig, tokenizer: DocumentTokenizer, vocab_size: int) -> None:
        mask_id, specials = tokenizer.mask_id, tokenizer.special_ids
        if mask_id is None or mask_id >= vocab_size:
            raise CheckpointError(
                "the tokenizer must have a mask token for `longdoc train --pretrain`, but has none that the encoder "
                "knows. Name one as `mask_token` in its `tokenizer_config.json`, or take another checkpoint."
            )
        self._settings = settings
        self._mask_id = mask_id
        self._special = np.zeros(max(tokenizer.vocab_size, *specials, 0) + 1, dtype=np.bool_)
        self._special[list(specials)] = True
        known = min(tokenizer.vocab_size, vocab_size)
        self._others = np.flatnonzero(~self._special[:known]).astype(np.int32)

    def train(self, chunk: Chunk, document: int, epoch: int, words: NDArray[np.int32] | None = None) -> MaskedChunk:
        """A chunk of training document number `document` as epoch `epoch` shows it.

        Args:
            words: int32[T], for each token of the document the first token of its word; None = each is a word.
        """
        return self._mask(chunk, self._keys(self._settings.seed, _TRAIN, epoch, document), words)

    def validation(self, chunk: Chunk, document: int, words: NDArray[np.int32] | None = None) -> MaskedChunk:
        """A chunk of validation document number `document`, always the same."""
        return self._mask(chunk, self._keys(self._settings.validation_seed, _VALIDATION, 0, document), words)

    def _keys(self, *place: int) -> _Keys:
        return _Keys(*np.random.SeedSequence(place).generate_state(3, np.uint64))

    def _mask(self, chunk: Chunk, keys: _Keys, words: NDArray[np.int32] | None) -> MaskedChunk:
        settings = self._settings
        tokens = np.arange(chunk.span.start, chunk.span.end)
        body = slice(chunk.lead, chunk.lead + len(tokens))
        ids = chunk.token_ids[body]
        units = tokens if words is None else words[tokens]
        chosen = (_uniform(keys.chosen, units) < settings.mask_share) & ~self._special[ids]

        fate = _uniform(keys.fate, tokens)
        seen = np.where(chosen & (fate < settings.mask_token_share), np.int32(self._mask_id), ids)
        swapped = chosen & (fate >= settings.mask_token_share)
        swapped &= fate < settings.mask_token_share + settings.random_token_share
        if len(self._others):
            drawn = (_uniform(keys.other, tokens) * len(self._others)).astype(np.int64)
            seen = np.where(swapped, self._others[drawn], seen)

        shown = chunk.token_ids.copy()
        shown[body] = seen
        targets = np.full(len(chunk), IGNORED, dtype=np.int64)
        asked = chosen & (tokens >= chunk.core.start) & (tokens < chunk.core.end)
        targets[body] = np.where(asked, ids, IGNORED)
        return MaskedChunk(dataclasses.replace(chunk, token_ids=shown), targets)


def _uniform(key: np.uint64, places: NDArray[np.integer]) -> NDArray[np.float64]:
    """A number in [0, 1) for each place: SplitMix64 from the state `key`, stepped `places` times."""
    x = (places.astype(np.uint64) + np.uint64(1)) * _GOLDEN + key
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x = x ^ (x >> np.uint64(31))
    return (x >> np.uint64(11)).astype(np.float64) * 2.0**-53
