"""The yardstick for spans: it learns words, reads all of a text, and depends on nothing but the training documents."""

from __future__ import annotations

import random

import pytest

from longdoc.study.word_tagger import WordTagger
from longdoc.types import Document, LabelledSpan

NAMES, CITIES = ("Anna Stone", "Bela Rivers", "Carl Hill"), ("Paris", "Rome", "Lima")
FILL = "the patient came to see us and was sent home after a short talk".split()


def spans_corpus(count: int, seed: int, words: int = 60, gap: str = " ") -> list[Document]:
    """Names and cities in running text, each word of every kind seen often."""
    draw, made = random.Random(seed), []
    for number in range(count):
        text, spans = "", []
        for _ in range(words):
            kind = draw.random()
            word = draw.choice(NAMES if kind < 0.1 else CITIES if kind < 0.2 else FILL)
            if kind < 0.2:
                spans.append(LabelledSpan(len(text), len(text) + len(word), "NAME" if kind < 0.1 else "CITY"))
            text += word + gap
        made.append(Document(id=f"{seed}-{number}", text=text, spans=tuple(spans)))
    return made


@pytest.mark.parametrize("overlapping", [False, True])
def test_words_that_were_seen_are_found_wherever_they_stand(overlapping: bool) -> None:
    tagger = WordTagger(spans_corpus(12, 1), ("CITY", "NAME"), overlapping)
    for document in spans_corpus(3, 2, words=900):
        found = tagger.predict(document).spans
        assert [(s.start, s.end, s.label) for s in found] == [tuple(span) for span in document.spans or ()]


def test_the_same_seed_learns_the_same() -> None:
    train, asked = spans_corpus(4, 1), spans_corpus(1, 2)[0]
    first, second = (WordTagger(train, ("CITY", "NAME"), False).predict(asked).spans for _ in range(2))
    assert first == second


def test_a_text_without_a_word_has_no_spans_and_labels_may_be_unheard_of() -> None:
    train = [*spans_corpus(4, 1), Document(id="e", text=" \n", spans=())]
    tagger = WordTagger(train, ("CITY", "DATE", "NAME"), False)
    assert tagger.predict(Document(id="a", text="")).spans == ()
    assert tagger.predict(Document(id="b", text=" \t ")).spans == ()
    assert {span.label for span in tagger.predict(spans_corpus(1, 3)[0]).spans} <= {"CITY", "NAME"}
