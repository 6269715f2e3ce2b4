"""A long text cut into pieces has the tokens of the whole, and every token stands where its offsets say."""

from __future__ import annotations

import itertools
import random
import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from longdoc.text.tokenizing import DocumentTokenizer
from longdoc.types import Document, TokenizedDocument
from tokenizer_kit import CORPUS, KINDS, odd_texts, raw, shown_differently, wrapped


def whole(tokenizer: DocumentTokenizer, text: str) -> TokenizedDocument:
    """Encoded in one piece: none of the texts here is as long as that."""
    assert len(text) < 16_000
    return tokenizer.tokenize(Document("d", text))


def check_cut_equals_whole(kind: str, text: str, piece: int) -> int:
    """The number of pieces."""
    tokenizer = wrapped(kind)
    expected = whole(tokenizer, text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("longdoc.text.tokenizing.PIECE_CHARACTERS", piece)
        patch.setattr("longdoc.text.tokenizing.BATCH_CHARACTERS", 3 * piece)
        segments = list(tokenizer.segments(text))
        ids_alone = list(tokenizer.id_segments(text))
    ids = np.concatenate([segment.token_ids for segment in segments])
    assert ids.tolist() == expected.token_ids.tolist()
    assert np.concatenate([segment.offsets for segment in segments]).tolist() == expected.offsets.tolist()
    assert np.concatenate([segment.token_ids for segment in ids_alone]).tolist() == ids.tolist()
    unknown = expected.unknown_characters
    assert sum(segment.unknown_characters for segment in segments) == unknown
    assert sum(segment.unknown_characters for segment in ids_alone) == unknown
    if not shown_differently(kind, text):
        assert ids.tolist() == raw(kind).encode(text, add_special_tokens=False).ids
    return len(segments)


@pytest.mark.parametrize("kind", KINDS)
def test_pieces_of_odd_texts_equal_the_whole(kind: str) -> None:
    pieces = [check_cut_equals_whole(kind, text, 1 + n % 9) for n, text in enumerate(odd_texts(300, seed=11))]
    assert sum(pieces) > 900  # something was cut


@pytest.mark.parametrize("kind", KINDS)
@given(
    words=st.lists(st.one_of(st.text(max_size=5), st.sampled_from(" ".join(CORPUS).split())), max_size=30),
    separator=st.sampled_from([" ", "\n", "\r\n", "  ", "\x0c", ""]),
    piece=st.integers(1, 40),
)
@settings(deadline=None, max_examples=60)
def test_pieces_of_any_text_equal_the_whole(kind: str, words: list[str], separator: str, piece: int) -> None:
    check_cut_equals_whole(kind, separator.join(words), piece)


@pytest.mark.parametrize("kind", KINDS)
def test_pieces_of_real_length_equal_the_whole(kind: str) -> None:
    text = " ".join(CORPUS * 100)[:15_999]
    assert check_cut_equals_whole(kind, text, 1000) > 5


def phrases(split: bool, texts: list[str], normalizer: normalizers.Normalizer, scheme: str) -> DocumentTokenizer:
    """A Unigram tokenizer that may hold several words, or several ideographs, in one token."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(split=split, prepend_scheme=scheme)
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    trainer = trainers.UnigramTrainer(
        vocab_size=700,
        special_tokens=specials,
        unk_token="[UNK]",
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[(name, tokenizer.token_to_id(name)) for name in specials[2:]]
    )
    tokenizer.decoder = decoders.Metaspace(split=split, prepend_scheme=scheme)
    given = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    return DocumentTokenizer(tokenizer.to_str(), given)


LEGAL = "the agreement party licence shall grant use software and of to in court judge law patent notice this may copy"


def legal_texts() -> list[str]:
    generator = random.Random(0)
    mixed = "Die Straße im Café, 中文文本测试 العربية, New York city and New York, the end of the agreement; 3.5 %"
    return [" ".join(generator.choices(LEGAL.split(), k=300)) for _ in range(20)] + [mixed] * 30


def check_pieces(tokenizer: DocumentTokenizer, text: str) -> None:
    expected = whole(tokenizer, text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("longdoc.text.tokenizing.PIECE_CHARACTERS", 64)
        found = np.concatenate([segment.token_ids for segment in tokenizer.segments(text)])
    assert found.tolist() == expected.token_ids.tolist()


def test_a_vocabulary_of_phrases_is_never_cut_between_their_words() -> None:
    """Unigram weighs a whole text: whether it takes a token across a space depends on the words around it."""
    tokenizer = phrases(False, legal_texts(), normalizers.NFKC(), "always")
    assert not tokenizer.segmented
    check_pieces(tokenizer, " ".join(random.Random(5).choices(LEGAL.split(), k=2500)))


def test_several_unknown_ideographs_that_are_one_token_are_never_cut_apart() -> None:
    tokenizer = phrases(True, legal_texts(), normalizers.NFD(), "never")
    assert tokenizer.segmented
    check_pieces(tokenizer, "中文测试、日本語の漢字" * 800)


def check_offsets(kind: str, text: str) -> None:
    """The bounds, the order, and that nothing lies between two tokens but white space and what was dropped."""
    tokenizer = wrapped(kind)
    offsets = whole(tokenizer, text).offsets.tolist()
    assert all(0 <= start <= end <= len(text) for start, end in offsets)
    assert all(left[0] <= right[0] and left[1] <= right[1] for left, right in itertools.pairwise(offsets))
    reached = 0
    for start, end in [*offsets, [len(text), len(text)]]:
        for place in range(reached, start):
            character = text[place]
            if character.isspace() or unicodedata.normalize("NFKD", character).startswith(" "):
                continue
            assert len(whole(tokenizer, character)) == 0, (place, hex(ord(character)))
        reached = max(reached, end)
    for start, end in offsets:
        token = text[start:end]
        assert token == token.strip() or token.isspace()


@pytest.mark.parametrize("kind", KINDS)
def test_offsets_of_odd_texts(kind: str) -> None:
    for text in odd_texts(300, seed=12):
        check_offsets(kind, text)


@pytest.mark.parametrize("kind", KINDS)
@given(text=st.text(max_size=60))
@settings(deadline=None, max_examples=60)
def test_offsets_of_any_text(kind: str, text: str) -> None:
    check_offsets(kind, text)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("expanding", ["ﬃ", "ﷺ", "İ", "½", "㎎", "ß", "Ⅷ", "…"])
def test_characters_that_expand_do_not_shift_what_follows(kind: str, expanding: str) -> None:
    text = f"It's {expanding} the lazy dog{expanding}"
    plain = f"It's x the lazy dog{expanding}"
    after = [offset for offset in whole(wrapped(kind), text).offsets.tolist() if 7 <= offset[0] < 19]
    assert after == [offset for offset in whole(wrapped(kind), plain).offsets.tolist() if 7 <= offset[0] < 19]
    assert whole(wrapped(kind), text).offsets.tolist()[-1][1] == len(text)
