"""Answers in words: each kind of answer, and how sure it is."""

from __future__ import annotations

from typing import Any

import pytest

from longdoc.report.conclusion import Rule, answer_words, conclusion_of, percent, reading_words
from longdoc.types import AnswerSpan, DocumentPrediction, LabelScore, ScoredSpan


def said(rule: Rule | None = None, **fields: Any) -> tuple[str, ...]:
    """The sentence with its names in brackets, and the notes."""
    found = conclusion_of(DocumentPrediction(id="d", **fields), rule)
    names = ", ".join(f"[{name}]" for name in found.names)
    return (f"{found.before} {names}{found.after}" if names else found.before + found.after, *found.notes)


def place(score: float) -> AnswerSpan:
    return AnswerSpan(0, 1, "x", score, 1)


ONE = (LabelScore("lease", 0.91), LabelScore("loan", 0.09))
OPEN = (LabelScore("lease", 0.55, None), LabelScore("loan", 0.44, None), LabelScore("sale", 0.01, False))
MANY = (
    LabelScore("a", 0.9, True),
    LabelScore("b", 0.45, True),
    LabelScore("c", 0.4, None),
    LabelScore("d", 0.1, False),
)
EACH = Rule({"a": 0.5, "b": 0.25, "c": 0.5, "d": 0.5})


def test_one_label_and_its_probability() -> None:
    assert said(label="lease", score=0.91, labels=ONE) == (
        "The answer is [lease], with a probability of 91\u00a0%.",
        "It is the most probable of 2 labels.",
    )


def test_where_a_rule_leaves_one_label_it_says_what_the_rule_keeps() -> None:
    assert said(Rule(coverage=0.8), label="lease", score=0.91, labels=ONE)[2] == (
        "All other labels can be excluded, by a rule that keeps the right one for 80\u00a0% of documents like those of "
        "the validation."
    )


def test_a_model_that_abstains_says_so_and_how_many_labels_remain() -> None:
    assert said(Rule(coverage=0.9), labels=OPEN, abstained=True) == (
        "The model does not decide. Most probable is [lease], with a probability of 55\u00a0%, which is not sure "
        "enough.",
        "2 labels remain possible; the right one is among those that remain for 90\u00a0% of documents like those of "
        "the validation.",
    )
    assert said(labels=OPEN, abstained=True)[1:] == ()


def test_many_labels_their_thresholds_and_those_left_open() -> None:
    assert said(EACH, labels=MANY, abstained=True) == (
        "2 of 4 labels are given: [a], [b].",
        "Labels are decided one by one: depending on the label, it is given from a probability of 25\u00a0% to "
        "50\u00a0% on.",
        "1 label can neither be given nor excluded.",
    )
    none = (LabelScore("a", 0.2, False),)
    assert said(Rule({"a": 0.5}), labels=none) == (
        "None of 1 label is given.",
        "Labels are decided one by one: each label is given from a probability of 50\u00a0% on.",
    )
    assert said(Rule({"a": 0.5}, 0.95), labels=MANY)[1:] == (
        "1 label can neither be given nor excluded at the 95\u00a0% that was asked for.",
    )


def test_numbers_and_spans() -> None:
    assert said(value=3.14159) == ("The value is [3.142].",)
    spans = (ScoredSpan(0, 2, "CITY", 0.5), ScoredSpan(3, 5, "CITY", 0.5))
    assert said(Rule(min_score=0.25), spans=spans) == (
        "2 places are marked: [CITY].",
        "Places below a probability of 25\u00a0% are held back.",
    )
    assert said() == ("No place was found in this document.",)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (
            {"answer": "in May", "score": 0.8},
            (
                "The answer is [in May], with a probability of 80\u00a0%.",
                "That is the probability of just this place, among all places and that there is no answer.",
            ),
        ),
        (
            {"score": 0.7},
            ("The text does not answer the question.", "That there is no answer has a probability of 70\u00a0%."),
        ),
        (
            {"score": 0.0041, "answers": (place(0.0032), place(0.001))},
            (
                "The text does not answer the question.",
                "That there is no answer has a probability of 0.4\u00a0%, more than any single place in the text has: "
                "the most probable place has 0.3\u00a0%.",
            ),
        ),
        (
            {"score": 0.00333, "answers": (place(0.00339),)},
            (
                "The text does not answer the question.",
                "That there is no answer has a probability of 0.33\u00a0%, the most probable place in the text "
                "0.34\u00a0%: too little more, by the model's rule, to be an answer.",
            ),
        ),
        ({}, ("The text does not answer the question.",)),
        (
            {"score": 0.2, "abstained": True},
            (
                "The model is not sure enough to answer.",
                "The best place that was found has a probability of 20\u00a0%; answers below 40\u00a0% are held back.",
            ),
        ),
    ],
)
def test_questions(fields: dict[str, Any], words: tuple[str, ...]) -> None:
    assert said(Rule(min_score=0.4), question="When?", **fields) == words


def test_probabilities_are_never_rounded_to_certainty() -> None:
    assert [percent(each) for each in (0.0, 0.0004, 0.001, 0.5, 0.9126, 0.999, 0.99999, 1.0)] == [
        "0\u00a0%", "less than 0.1\u00a0%", "0.1\u00a0%", "50\u00a0%", "91.3\u00a0%", "99.9\u00a0%",
        "more than 99.9\u00a0%", "100\u00a0%",
    ]  # fmt: skip


def test_what_was_read() -> None:
    whole = DocumentPrediction(id="d", n_tokens=12000, tokens_read=12000, n_chunks=31)
    assert reading_words(whole) == "The whole document was read: 12,000 tokens in 31 chunks."
    part = DocumentPrediction(id="d", n_tokens=1000, tokens_read=1, n_chunks=1, unknown_share=0.0001)
    assert reading_words(part) == (
        "Only 0.1\u00a0% of the document was read: 1 of 1,000 tokens, in 1 chunk. The model is set to leave the rest "
        "out. Less than 0.1\u00a0% of the characters are unknown to the tokenizer."
    )

    assert reading_words(whole, [3]) == (
        "Page 3 was not read: it has no text (a scan, a picture, or an empty page). "
        "The text of the other pages was read: 12,000 tokens in 31 chunks."
    )
    for pages, named in (((2, 5), "2 and 5"), (range(1, 14), "1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 3 more")):
        assert reading_words(part, pages).startswith(
            f"Pages {named} were not read: they have no text (scans, pictures, or empty pages). Only 0.1\u00a0% of the"
        )


def test_answers_in_a_table() -> None:
    spans = (ScoredSpan(0, 2, "CITY", 0.5), ScoredSpan(3, 5, "A", 0.5), ScoredSpan(6, 7, "CITY", 0.5))
    cases = [
        ({"label": "lease", "score": 0.91, "labels": ONE}, ("lease", "0.910")),
        ({"labels": MANY}, ("a, b", "0.900, 0.450")),
        ({"labels": OPEN, "abstained": True}, ("undecided", "")),
        ({"labels": ()}, ("no place", "")),
        ({"labels": MANY[3:]}, ("no label", "")),
        ({"spans": spans}, ("A (1), CITY (2)", "")),
        ({"value": 2.5}, ("2.5", "")),
        ({"question": "?", "score": 0.25}, ("no answer", "0.250")),
        ({"question": "?", "abstained": True}, ("not sure enough", "")),
        ({"question": "?", "answer": "in May", "score": 0.5}, ("in May", "0.500")),
    ]
    assert [answer_words(DocumentPrediction(id="d", **fields)) for fields, _ in cases] == [words for _, words in cases]
