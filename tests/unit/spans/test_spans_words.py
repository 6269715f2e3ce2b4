"""Words, and spans of characters that become spans of words and come back."""

from __future__ import annotations

from functools import cache

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from longdoc.spans.alignment import Alignment, align, trimmed, word_spans
from longdoc.spans.tags import tags_of
from longdoc.spans.words import Words, find_words
from longdoc.text.tokenizing import DocumentTokenizer
from longdoc.types import Document, LabelledSpan
from tokenizer_kit import NAMES, byte_level, minilm_folder

LABELS = ("X", "Y")


def words_of(
    text: str, offsets: list[tuple[int, int]], subwords: str = "first", numbers: list[int] | None = None
) -> Words:
    places = np.array(offsets, dtype=np.int32).reshape(-1, 2)
    order = np.arange(len(places)) if numbers is None else np.array(numbers)
    return find_words(text, places, order.astype(np.int32), subwords)


def ranges(words: Words) -> list[tuple[int, int]]:
    return list(zip(words.start.tolist(), words.end.tolist(), strict=True))


def minilm_words(text: str) -> list[str]:
    tokenizer = DocumentTokenizer.from_folder(minilm_folder())
    tokens = tokenizer.tokenize(Document("d", text))
    words = find_words(text, tokens.offsets, np.arange(len(tokens), dtype=np.int32), "first")
    return [text[start:end] for start, end in ranges(words)]


def test_a_word_is_a_run_of_letters_and_digits() -> None:
    text = "see Schiphol, 5mg now"
    offsets = [(0, 3), (4, 8), (8, 10), (10, 12), (12, 13), (14, 15), (15, 17), (18, 21)]
    assert ranges(words_of(text, offsets)) == [(0, 3), (4, 12), (12, 13), (14, 17), (18, 21)]
    assert ranges(words_of(text, offsets, "split")) == offsets


def test_punctuation_ends_a_word_but_what_the_tokenizer_deletes_does_not() -> None:
    assert minilm_words("John's O-ring") == ["John", "'", "s", "O", "-", "ring"]
    assert minilm_words("end\x0cstart") == ["end", "start"], "a page break"
    assert minilm_words("ab\x00c d") == ["ab\x00c", "d"]
    assert minilm_words("Größe naïve unbelievablyx") == ["Größe", "naïve", "unbelievablyx"]


def test_scripts_without_spaces_have_words_of_one_token() -> None:
    assert minilm_words("东京abc") == ["东", "京", "abc"]


def test_tokens_that_share_a_character_are_one_word_even_when_words_fall_apart() -> None:
    text = "q→z 😀"
    offsets = [(0, 1), (1, 2), (1, 2), (1, 2), (2, 3), (4, 5), (4, 5), (4, 5), (4, 5)]
    for subwords in ("first", "split"):
        assert ranges(words_of(text, offsets, subwords)) == [(0, 1), (1, 2), (2, 3), (4, 5)]


def test_reading_that_was_interrupted_ends_a_word() -> None:
    words = words_of("abcd", [(0, 1), (1, 2), (3, 4)], numbers=[0, 1, 3])
    assert ranges(words) == [(0, 2), (3, 4)]
    assert words.runs == ((0, 1), (1, 2))
    assert words_of("", []).runs == ()


def alignment(text: str, offsets: list[tuple[int, int]], spans: list[tuple[int, int, str]], **options: object) -> tuple:
    layout = tags_of(2, options.pop("scheme", "bio"), bool(options.pop("overlapping", False)))
    words = words_of(text, offsets, **options)
    tags, counts = align(text, words, [LabelledSpan(*span) for span in spans], LABELS, layout)
    back = []
    for start, end in words.runs:
        for _, label, first, last in word_spans(tags[start:end], layout):
            back.append(
                (*trimmed(text, int(words.start[start + first]), int(words.end[start + last - 1])), LABELS[label])
            )
    return sorted(back), counts


def test_a_span_inside_a_word_grows_to_it_and_is_counted() -> None:
    found, counts = alignment("NewYork office", [(0, 3), (3, 7), (8, 14)], [(0, 3, "X")])
    assert found == [(0, 7, "X")]
    assert counts == Alignment(spans=1, moved=1)
    found, counts = alignment("NewYork office", [(0, 3), (3, 7), (8, 14)], [(0, 3, "X")], subwords="split")
    assert (found, counts) == ([(0, 3, "X")], Alignment(spans=1))


def test_white_space_at_the_edges_does_not_count() -> None:
    found, counts = alignment("a  bc\td ", [(0, 1), (3, 5), (6, 7)], [(1, 6, "X"), (6, 8, "Y")])
    assert found == [(3, 5, "X"), (6, 7, "Y")]
    assert counts == Alignment(spans=2)


def test_what_no_token_stands_for_is_counted() -> None:
    text = "ab \ufffd  cd"
    found, counts = alignment(text, [(0, 2), (6, 8)], [(3, 4, "X"), (4, 6, "X"), (6, 8, "Y")])
    assert found == [(6, 8, "Y")]
    assert counts == Alignment(spans=3, unread=2)


def test_neighbours_of_one_label_stay_two() -> None:
    for scheme in ("bio", "bioes"):
        found, _ = alignment("a b c d", [(0, 1), (2, 3), (4, 5), (6, 7)], [(0, 3, "X"), (4, 7, "X")], scheme=scheme)
        assert found == [(0, 3, "X"), (4, 7, "X")]


def test_overlapping_spans_need_layers_and_are_counted_without() -> None:
    text, offsets = "a b c", [(0, 1), (2, 3), (4, 5)]
    spans = [(0, 5, "X"), (2, 3, "Y"), (2, 5, "X")]
    found, counts = alignment(text, offsets, spans, overlapping=True)
    assert found == [(0, 5, "X"), (2, 3, "Y")]
    assert counts == Alignment(spans=3, overlapping=1)
    found, counts = alignment(text, offsets, spans)
    assert found == [(0, 5, "X")]
    assert counts == Alignment(spans=3, overlapping=2)


def test_spans_over_a_part_that_is_not_read_are_counted() -> None:
    found, counts = alignment(
        "a b c d", [(0, 1), (2, 3), (6, 7)], [(2, 7, "X"), (4, 5, "X"), (6, 7, "Y")], numbers=[0, 1, 3]
    )
    assert found == [(6, 7, "Y")]
    assert counts == Alignment(spans=3, unread=2)


@cache
def _tokenizer(kind: str) -> DocumentTokenizer:
    return DocumentTokenizer(byte_level(False, 0 if kind == "bytes" else 600).to_str(), NAMES)


@settings(max_examples=60, deadline=None)
@given(
    data=st.data(),
    text=st.text(st.sampled_from("abÅß1 ,.\n中\u0301😀'"), min_size=1, max_size=40),
    scheme=st.sampled_from(["bio", "bioes"]),
    kind=st.sampled_from(["bytes", "merged"]),
)
def test_spans_of_whole_words_come_back_as_they_were(data: st.DataObject, text: str, scheme: str, kind: str) -> None:
    tokens = _tokenizer(kind).tokenize(Document("d", text))
    words = find_words(text, tokens.offsets, np.arange(len(tokens), dtype=np.int32), "first")
    assert (np.diff(words.start) >= 0).all()
    assert (words.end <= len(text)).all()
    solid = [n for n in range(len(words)) if text[words.start[n] : words.end[n]].strip()]
    spans, after = [], 0
    for _ in range(data.draw(st.integers(0, 4))):
        rest = [n for n in solid if n >= after]
        if not rest:
            break
        first = data.draw(st.sampled_from(rest))
        last = data.draw(st.sampled_from([n for n in rest if n >= first]))
        start, end = trimmed(text, int(words.start[first]), int(words.end[last]))
        spans.append(LabelledSpan(start, end, data.draw(st.sampled_from(LABELS))))
        after = last + 1
    layout = tags_of(2, scheme, overlapping=False)
    tags, counts = align(text, words, spans, LABELS, layout)
    found = [
        (*trimmed(text, int(words.start[first]), int(words.end[last - 1])), LABELS[label])
        for _, label, first, last in word_spans(tags, layout)
    ]
    assert sorted(found) == sorted(tuple(span) for span in spans)
    assert counts == Alignment(spans=len(spans))
