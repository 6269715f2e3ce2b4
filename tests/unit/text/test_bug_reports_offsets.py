"""Public bug reports about where things stand in the text, with the values that are right."""

from __future__ import annotations

import json

import pytest

from longdoc.errors import UsageError
from longdoc.text.chunking import ChunkingConfig
from longdoc.types import Document, LabelledSpan, TokenizedDocument
from tokenizer_kit import KINDS, toy, wrapped

SETTINGS = ChunkingConfig(size=16, overlap=4)
WORDS_100 = "  ".join(f"w{number:03}" for number in range(100))  # two spaces apart


def tokens(kind: str, text: str) -> list[tuple[int, int]]:
    return [tuple(offset) for offset in wrapped(kind).tokenize(Document("d", text)).offsets.tolist()]


def covered(kind: str, text: str, start: int, end: int) -> tuple[int, int]:
    """What the tokens that touch `text[start:end]` cover together."""
    touching = [(first, last) for first, last in tokens(kind, text) if first < end and last > start]
    return min(first for first, _ in touching), max(last for _, last in touching)


def chunk_ranges(tokenized: TokenizedDocument) -> list[tuple[int, int]]:
    """The characters that each chunk holds."""
    return [
        (int(tokenized.offsets[chunk.span.start, 0]), int(tokenized.offsets[chunk.span.end - 1, 1]))
        for chunk in SETTINGS.build(toy()).chunks(tokenized)
    ]


def test_b016_all_pieces_of_a_character_stand_where_the_character_stands() -> None:
    assert tokens("byte_level_no_merges", "q→z") == [(0, 1), (1, 2), (1, 2), (1, 2), (2, 3)]
    assert tokens("byte_level_no_merges", "x 😀 y") == [(0, 1), (1, 2), *[(2, 3)] * 4, (3, 4), (4, 5)]
    assert tokens("byte_level_prefix_no_merges", "x 😀 y")[-7:] == [(1, 2), *[(2, 3)] * 4, (3, 4), (4, 5)]


@pytest.mark.parametrize("kind", ["word_level_nfc", "word_level_nfkc", "unigram_nfkc", "unigram_nfc_first"])
def test_b017_a_composed_syllable_covers_all_that_it_was_composed_of(kind: str) -> None:
    text = "\u1112\u1161\u11ab \u1100\u1173\u11af x"
    assert covered(kind, text, 0, 1) == (0, 3)
    assert covered(kind, text, 4, 5) == (4, 7)
    assert tokens(kind, text)[-1] == (8, 9)
    if kind.startswith("word"):
        spans = tokens(kind, text)
        assert spans == [(0, 3), (4, 7), (8, 9)]
        gaps = zip([0, *(end for _, end in spans)], [*(start for start, _ in spans), len(text)], strict=True)
        pieces = [text[start:end] for pair in zip(gaps, [*spans, (9, 9)], strict=True) for start, end in pair]
        assert "".join(pieces) == text


def test_b021_chunks_of_words_with_two_spaces_between_do_not_drift() -> None:
    tokenized = toy().tokenize(Document("d", WORDS_100))
    assert tokenized.offsets.tolist() == [[6 * number, 6 * number + 4] for number in range(100)]
    ranges = chunk_ranges(tokenized)
    assert len(ranges) == 10
    assert ranges[3] == (180, 262)
    assert ranges[-1] == (540, 598)
    assert [WORDS_100[start:end].split()[0] for start, end in ranges] == [f"w{10 * k:03}" for k in range(10)]


@pytest.mark.parametrize("group", [1, 2, 7, 8])
def test_b023_a_document_in_a_batch_has_the_offsets_it_has_alone(group: int) -> None:
    documents = [
        Document(f"d{count}", "  ".join(f"w{number:03}" for number in range(count)))
        for count in (1, 5, 900, 100, 30, 64, 13, 400)
    ]
    expected = chunk_ranges(toy().tokenize(documents[3]))
    assert expected[-1][1] == 598
    found = {}
    for first in range(0, len(documents), group):
        for tokenized in toy().tokenize_many(documents[first : first + group]):
            found[tokenized.id] = tokenized
    assert chunk_ranges(found["d100"]) == expected
    assert found["d100"].offsets.tolist() == toy().tokenize(documents[3]).offsets.tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_b024_positions_are_code_points(kind: str) -> None:
    text = json.loads(json.dumps("😀😀 Ada"))
    assert covered(kind, text, 3, 6) == (3, 6)


@pytest.mark.parametrize("bad", [(5, 5), (3, 2), (0, 999)])
def test_b025_empty_reversed_and_outlying_spans_are_refused_with_their_numbers(bad: tuple[int, int]) -> None:
    message = rf"^`spans\[0\]` of document [0-9a-f]{{12}} must satisfy .* but is \({bad[0]}, {bad[1]}\) instead\.$"
    with pytest.raises(UsageError, match=message):
        Document("d", "NewYork office", spans=(LabelledSpan(*bad, "X"),))


def test_b025_the_token_that_holds_a_span_inside_a_word_is_found() -> None:
    assert covered("word_level", "NewYork office", 0, 3) == (0, 7)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("before", "between"), [("  ", "   "), ("\t\t", "\t \t"), ("\u00a0\u00a0", "\u00a0" * 3), ("\r\n", " \r\n")]
)
def test_b026_white_space_is_not_collapsed(kind: str, before: str, between: str) -> None:
    text = f"dose{before}of{between}aspirin"
    assert text[11:18] == "aspirin"
    assert covered(kind, text, 11, 18) == (11, 18)
    assert covered(kind, text, 6, 8) == (6, 8)


@pytest.mark.parametrize("kind", ["word_level_nfkc", "unigram_nfkc"])
def test_b027_an_expanding_character_at_the_end_ends_with_the_text(kind: str) -> None:
    assert tokens(kind, "vial 5 ﬃ")[-1] == (7, 8)
    assert tokens(kind, "dose ㎎")[-1] == (5, 6)


@pytest.mark.parametrize("kind", ["word_level_lowercase", "wordpiece"])
def test_b027_a_capital_that_becomes_two_letters_shifts_nothing(kind: str) -> None:
    assert tokens(kind, "İstanbul x") == [(0, 8), (9, 10)]


@pytest.mark.parametrize("kind", KINDS)
def test_b028_a_page_break_separates_words(kind: str) -> None:
    text = "end\x0cstart"
    assert covered(kind, text, 0, 3) == (0, 3)
    assert covered(kind, text, 4, 9) == (4, 9)
    assert all(end <= 3 or start >= 3 for start, end in tokens(kind, text))


@pytest.mark.parametrize("kind", ["wordpiece", "word_level"])
@pytest.mark.parametrize(
    ("text", "word"),
    [("a\u00adb", (0, 3)), ("ab\x00c d", (0, 4)), ("ab\ufffdc d", (0, 4)), ("ab\u200bc d", (0, 4))],
)
def test_b028_a_character_inside_a_word_stays_inside(kind: str, text: str, word: tuple[int, int]) -> None:
    found = tokens(kind, text)
    assert covered(kind, text, 0, 1)[0] == 0
    assert covered(kind, text, word[1] - 1, word[1])[1] == word[1]
    inside = [offset for offset in found if offset[0] < word[1]]
    assert (inside[0][0], inside[-1][1]) == word
    if text.endswith("d"):
        assert found[-1] == (5, 6)


def test_b075_a_lone_surrogate_is_one_character_of_a_word() -> None:
    assert tokens("word_level", "a\ud83d b") == [(0, 2), (3, 4)]
    assert tokens("byte_level_no_merges", "a\ud83d b") == [(0, 1), *[(1, 2)] * 3, (2, 3), (3, 4)]


def test_b084_chunks_start_on_the_pages_that_their_words_stand_on() -> None:
    text = "\f".join(" ".join(f"w{page}{word}" for word in range(10)) for page in range(4))
    tokenized = toy().tokenize(Document("d", text))
    chunks = SETTINGS.build(toy()).chunks(tokenized)
    assert [chunk.span for chunk in chunks] == [(0, 14), (10, 24), (20, 34), (30, 40)]
    pages = [1 + text.count("\f", 0, int(start)) for start in tokenized.offsets[:, 0]]
    assert pages == [page for page in (1, 2, 3, 4) for _ in range(10)]
    assert [pages[chunk.span.start] for chunk in chunks] == [1, 2, 3, 4]
