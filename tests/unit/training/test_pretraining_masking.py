"""What is hidden: how much of it, of what, and that it is a function of its place alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from longdoc.errors import CheckpointError
from longdoc.text.chunking import Chunker
from longdoc.text.words import first_of_word
from longdoc.training.pretraining_masking import IGNORED, MaskedChunk, Masking
from longdoc.training.pretraining_settings import PretrainingConfig
from longdoc.types import Chunk, Document, TokenizedDocument
from tokenizer_kit import minilm_folder, toy, wrapped

VOCABULARY = 30522
BERT = {"cls": 101, "sep": 102, "mask": 103, "unk": 100, "pad": 0}


def masking(**changes: object) -> Masking:
    return Masking(PretrainingConfig(**changes), wrapped_minilm(), VOCABULARY)


def wrapped_minilm() -> object:
    from longdoc.text.tokenizing import DocumentTokenizer

    return _once(lambda: DocumentTokenizer.from_folder(minilm_folder()))


_KEPT: list[object] = []


def _once(make: object) -> object:
    if not _KEPT:
        _KEPT.append(make())  # type: ignore[operator]
    return _KEPT[0]


def chunks_of(ids: np.ndarray, size: int = 66, overlap: int = 16) -> list[Chunk]:
    chunker = Chunker(size, overlap, (BERT["cls"],), (BERT["sep"],))
    offsets = np.zeros((len(ids), 2), dtype=np.int32)
    return chunker.chunks(TokenizedDocument("d", ids.astype(np.int32), offsets, len(ids)))


def random_ids(tokens: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(1000, VOCABULARY, tokens)


def body(masked: MaskedChunk) -> slice:
    return slice(masked.chunk.lead, masked.chunk.lead + masked.chunk.span.end - masked.chunk.span.start)


def test_the_shares_are_those_that_were_asked_for() -> None:
    ids = random_ids(200_000)
    hide = masking()
    chosen = as_mask = as_other = kept = 0
    for chunk in chunks_of(ids, size=512, overlap=0):
        masked = hide.train(chunk, 0, 0)
        asked = masked.targets != IGNORED
        true, seen = chunk.token_ids[asked], masked.chunk.token_ids[asked]
        chosen += int(asked.sum())
        as_mask += int((seen == BERT["mask"]).sum())
        kept += int((seen == true).sum())
        as_other += int(((seen != true) & (seen != BERT["mask"])).sum())
    # four standard deviations of a binomial count
    assert abs(chosen - 0.15 * 200_000) < 4 * (200_000 * 0.15 * 0.85) ** 0.5
    assert abs(as_mask - 0.8 * chosen) < 4 * (chosen * 0.8 * 0.2) ** 0.5
    assert abs(as_other - 0.1 * chosen) < 4 * (chosen * 0.1 * 0.9) ** 0.5
    assert abs(kept - 0.1 * chosen) < 4 * (chosen * 0.1 * 0.9) ** 0.5


@settings(max_examples=40, deadline=None)
@given(
    tokens=st.integers(1, 400),
    overlap=st.integers(0, 40),
    share=st.sampled_from([0.02, 0.15, 0.6, 0.97]),
    document=st.integers(0, 10**6),
    epoch=st.integers(0, 50),
    seed=st.integers(0, 2**31 - 1),
)
def test_each_token_is_asked_for_in_one_chunk_at_most_and_never_shown_by_a_neighbour(
    tokens: int, overlap: int, share: float, document: int, epoch: int, seed: int
) -> None:
    ids = random_ids(tokens, seed % 97)
    ids[::7] = BERT["unk"]
    hide = masking(mask_share=share, mask_token_share=1.0, random_token_share=0.0, seed=seed)
    asked_in = np.zeros(tokens, dtype=int)
    shown = {}
    for chunk in chunks_of(ids, overlap=overlap):
        masked = hide.train(chunk, document, epoch)
        targets, seen = masked.targets[body(masked)], masked.chunk.token_ids[body(masked)]
        places = np.arange(chunk.span.start, chunk.span.end)
        asked = targets != IGNORED
        assert (targets[asked] == ids[places[asked]]).all()
        assert ((places[asked] >= chunk.core.start) & (places[asked] < chunk.core.end)).all()
        assert not (ids[places[asked]] == BERT["unk"]).any(), "special tokens are never asked for"
        assert (seen[~asked & (places >= chunk.core.start) & (places < chunk.core.end)] != BERT["mask"]).all()
        asked_in[places[asked]] += 1
        for place, token in zip(places, seen, strict=True):
            assert shown.setdefault(int(place), int(token)) == token, "what two chunks share looks the same in both"
        # nothing but the body changes, and nothing outside it is asked for
        assert masked.chunk.token_ids[0] == BERT["cls"]
        assert masked.chunk.token_ids[-1] == BERT["sep"]
        assert masked.targets[0] == masked.targets[-1] == IGNORED
        assert masked.hidden == asked.sum()
    assert asked_in.max(initial=0) <= 1


def test_random_tokens_are_never_special_ones_and_reach_the_whole_vocabulary() -> None:
    hide = masking(mask_share=0.99, mask_token_share=0.0, random_token_share=1.0)
    specials = set(wrapped_minilm().special_ids)  # type: ignore[attr-defined]
    assert specials >= set(BERT.values())
    drawn: list[int] = []
    for chunk in chunks_of(random_ids(60_000), size=512, overlap=0):
        masked = hide.train(chunk, 3, 1)
        drawn += masked.chunk.token_ids[masked.targets != IGNORED].tolist()
    assert not specials & set(drawn)
    assert min(drawn) < 200
    assert max(drawn) > VOCABULARY - 200
    assert max(drawn) < VOCABULARY


@pytest.mark.parametrize("kind", ["wordpiece", "byte_level", "unigram_nfkc"])
def test_whole_words_are_hidden_whole_or_not_at_all(kind: str) -> None:
    tokenizer = wrapped(kind)
    text = "incomprehensibilities jump over thequickbrownfox naïve Zażółć it's 42 中文 of " * 30
    tokenized = tokenizer.tokenize(Document(id="1", text=text))
    words = first_of_word(text, tokenized.offsets)
    chunker = Chunker(64, 16, tokenizer.lead, tokenizer.trail)
    if kind == "wordpiece":  # the fixture names no control tokens for it
        tokenizer = wrapped_minilm()  # type: ignore[assignment]
    hide = Masking(PretrainingConfig(mask_share=0.4, mask_token_share=1.0, random_token_share=0.0, whole_words=True),
                   tokenizer, 1 << 20)  # fmt: skip
    hidden = np.zeros(len(tokenized), dtype=bool)
    for chunk in chunker.chunks(tokenized):
        masked = hide.train(chunk, 0, 0, words)
        places = np.arange(chunk.span.start, chunk.span.end)
        hidden[places[masked.chunk.token_ids[body(masked)] == tokenizer.mask_id]] = True
    ordinary = ~np.isin(tokenized.token_ids, list(tokenizer.special_ids))
    states = [{bool(h) for h in hidden[(words == number) & ordinary]} for number in np.unique(words)]
    assert all(len(state) <= 1 for state in states)
    assert {True} in states
    assert {False} in states
    assert len(states) < len(tokenized), "some words have several tokens"


def test_an_epoch_hides_other_tokens_and_a_place_always_the_same() -> None:
    (chunk,) = chunks_of(random_ids(64))
    hide = masking(mask_share=0.5)

    def hidden(document: int, epoch: int, **changes: object) -> tuple[int, ...]:
        found = (masking(mask_share=0.5, **changes) if changes else hide).train(chunk, document, epoch)
        return tuple(np.flatnonzero(found.targets != IGNORED))

    assert hidden(0, 0) == hidden(0, 0)
    assert len({hidden(0, 0), hidden(0, 1), hidden(1, 0), hidden(0, 0, seed=1)}) == 4


def test_validation_hides_the_same_whatever_the_seed_of_training() -> None:
    (chunk,) = chunks_of(random_ids(64))
    one = masking(mask_share=0.5, seed=1).validation(chunk, 5)
    two = masking(mask_share=0.5, seed=2).validation(chunk, 5)
    other = masking(mask_share=0.5, seed=1, validation_seed=9).validation(chunk, 5)
    train = masking(mask_share=0.5, seed=0).train(chunk, 5, 0)
    assert (one.targets == two.targets).all()
    assert (one.chunk.token_ids == two.chunk.token_ids).all()
    assert (one.targets != other.targets).any()
    assert (one.targets != train.targets).any()


def test_a_tokenizer_without_a_mask_token_is_refused() -> None:
    with pytest.raises(CheckpointError) as caught:
        Masking(PretrainingConfig(), toy(), 100)
    assert str(caught.value) == (
        "the tokenizer must have a mask token for `longdoc train --pretrain`, but has none that the encoder knows. "
        "Name one as `mask_token` in its `tokenizer_config.json`, or take another checkpoint."
    )


def test_shares_that_make_more_than_everything_are_refused() -> None:
    with pytest.raises(ValidationError) as caught:
        PretrainingConfig(mask_token_share=0.9, random_token_share=0.2)
    assert (
        "`mask_token_share` and `random_token_share` must add up to at most 1, but make 1.1 instead. Lower one of them."
    ) in str(caught.value)
