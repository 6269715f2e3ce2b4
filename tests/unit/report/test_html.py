"""The explanation page: the text stays the text, hostile content stays inert, passages are shaded where they are."""

from __future__ import annotations

import base64
import hashlib
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longdoc.report.html import ExplainedDocument, explanation_page, shade
from longdoc.types import DocumentFailure, DocumentPrediction, EvidencePassage, LabelScore

SCRIPT = "<script>alert(1)</script>"
IMAGE = '"><img src=x onerror=1>'


class Page(HTMLParser):
    """What a browser would see: elements with their attributes, the text of each `.text` block, marked passages."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.marks: list[tuple[str, str, str]] = []
        self.visible = ""
        self._open: list[tuple[str, bool]] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.elements.append((tag, attributes))
        if tag in ("meta", "link", "img"):
            return
        is_text = tag == "div" and attributes.get("class") == "text"
        self._open.append((tag, is_text))
        if is_text:
            self.texts.append("")
        if tag == "mark" and self.texts and any(text for _, text in self._open):
            self.marks.append((attributes["class"] or "", attributes["title"] or "", ""))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop()[0] == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        self.visible += data
        if any(text for _, text in self._open):
            self.texts[-1] += data
            if self._open[-1][0] == "mark":
                style, title, before = self.marks[-1]
                self.marks[-1] = (style, title, before + data)

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def prediction(text: str, *passages: tuple[int, int, float], label: str = "lease", **fields) -> ExplainedDocument:
    evidence = tuple(EvidencePassage(start, end, label, weight) for start, end, weight in passages)
    known = {
        "label": label,
        "score": 0.9,
        "labels": (LabelScore(label, 0.9), LabelScore("other", 0.1)),
        "n_tokens": 700,
        "n_chunks": 2,
        "tokens_read": 700,
    }
    return ExplainedDocument(DocumentPrediction(id="a.txt", evidence=evidence, **(known | fields)), text)


class TestHostileContent:
    def test_a_document_that_is_a_script_stays_text(self):
        page = Page(explanation_page([prediction(SCRIPT, (0, 8, 1.0))]))

        assert page.texts == [SCRIPT]
        assert page.named("script") == []

    def test_a_label_and_an_id_with_markup_stay_text_in_every_place(self):
        item = prediction("some text", (0, 4, 1.0), label=IMAGE)
        failed = ExplainedDocument(DocumentFailure(id=SCRIPT, reason="empty", detail=IMAGE), SCRIPT)
        source = explanation_page([item, failed])
        page = Page(source)

        assert page.named("img") == page.named("script") == []
        assert page.visible.count(IMAGE) == 5  # summary row, heading, score table, evidence line, failure's detail
        assert page.marks[0][1] == f"{IMAGE}: +1.000"
        allowed = {
            "charset",
            "http-equiv",
            "content",
            "name",
            "lang",
            "id",
            "class",
            "title",
            "href",
            "dir",
            "open",
            "value",
        }
        assert {name for _, attributes in page.elements for name in attributes} <= allowed

    def test_the_page_asks_for_nothing_from_elsewhere_and_forbids_it(self):
        source = explanation_page([prediction("see https://example.org", (0, 3, 1.0))])
        page = Page(source)
        style = source.partition("<style>")[2].partition("</style>")[0]
        digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()

        (policy,) = [meta["content"] for meta in page.named("meta") if meta.get("http-equiv")]
        assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
        assert all(link["href"].startswith("#document-") for link in page.named("a"))
        assert "url(" not in style
        assert "@import" not in style
        assert not {"script", "link", "iframe", "object", "base", "form"} & {name for name, _ in page.elements}


TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=60)


@settings(deadline=None, max_examples=60)
@given(TEXTS, st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60), st.sampled_from([-1.5, 0.0, 0.25, 3.0]))))
def test_the_text_of_the_page_is_the_text_of_the_document(text, ranges):
    passages = [(start, end, weight) for start, end, weight in ranges if start < end <= len(text)]
    page = Page(explanation_page([prediction(text, *passages)]))

    assert page.texts == [text]


def test_line_ends_and_leading_lines_survive():
    text = "\n\r\n a\rb \t\n"

    assert Page(explanation_page([prediction(text, (0, 4, 1.0))])).texts == [text]


def test_characters_that_html_cannot_hold_are_shown_as_replaced():
    page = explanation_page([prediction("a\0b\ud800c")])

    assert Page(page).texts == ["a\ufffdb\ufffdc"]
    assert page.encode("utf-8")


class TestShading:
    def test_adjacent_passages_stay_apart(self):
        pieces = shade("aabbcc", [EvidencePassage(0, 2, "x", 1.0), EvidencePassage(2, 4, "x", -0.5)])

        assert [(piece.text, piece.weight, piece.level) for piece in pieces] == [
            ("aa", 1.0, 5),
            ("bb", -0.5, 3),
            ("cc", None, 0),
        ]
        assert [piece.style for piece in pieces[:2]] == ["for level-5", "against level-3"]

    def test_weights_add_up_where_passages_overlap(self):
        pieces = shade("aabbcc", [EvidencePassage(2, 6, "x", -0.5), EvidencePassage(0, 4, "x", 2.0)])

        assert [(piece.text, piece.weight) for piece in pieces] == [("aa", 2.0), ("bb", 1.5), ("cc", -0.5)]

    @settings(deadline=None, max_examples=60)
    @given(st.lists(st.tuples(st.integers(0, 11), st.integers(1, 12), st.integers(-3, 3)), max_size=6))
    def test_every_character_has_the_sum_of_the_passages_over_it(self, ranges):
        text = "abcdefghijkl"
        passages = [EvidencePassage(start, end, "x", weight) for start, end, weight in ranges if start < end]
        pieces = shade(text, passages)

        assert "".join(piece.text for piece in pieces) == text
        shaded = [piece.weight for piece in pieces for _ in piece.text]
        for place, weight in enumerate(shaded):
            over = [passage.weight for passage in passages if passage.start <= place < passage.end]
            assert weight == (sum(over) if over else None)

    def test_marks_carry_weight_and_direction(self):
        page = Page(explanation_page([prediction("for it. against it. ", (0, 7, 2.0), (8, 19, -1.0))]))

        assert page.marks == [
            ("for level-5", "lease: +2.000", "for it."),
            ("against level-3", "lease: -1.000", "against it."),
        ]


class TestWhatThePageTells:
    def test_what_was_read(self):
        page = Page(explanation_page([prediction("text", (0, 4, 1.0), tokens_read=510, unknown_share=0.025)]))

        assert "read 510 of 700 tokens in 2 chunks;\n2.5 % of the characters" in page.visible
        assert "evidence for lease, +1.00 in all" in page.visible

    def test_each_chosen_label_has_a_view_the_best_one_open(self):
        evidence = (EvidencePassage(0, 3, "b", 1.0), EvidencePassage(4, 7, "a", 2.0))
        labels = (LabelScore("a", 0.9, True), LabelScore("b", 0.8, True), LabelScore("c", 0.1, False))
        item = prediction("one two", label="a").result
        result = DocumentPrediction(id=item.id, labels=labels, evidence=evidence)
        page = Page(explanation_page([ExplainedDocument(result, "one two")]))

        assert page.texts == ["one two", "one two"]
        assert [(title, text) for _, title, text in page.marks] == [("a: +2.000", "two"), ("b: +1.000", "one")]
        assert ["open" in attributes for attributes in page.named("details")] == [True, False]
        assert "a, b" in page.visible

    def test_an_answer_that_is_not_given_is_said_to_be_undecided(self):
        open_labels = (LabelScore("lease", 0.5), LabelScore("other", 0.5))
        item = prediction("text", label=None, score=None, labels=open_labels, abstained=True)

        assert "undecided" in Page(explanation_page([item])).visible

    def test_a_number_is_an_answer(self):
        result = DocumentPrediction(id="x", value=3.5)
        page = Page(explanation_page([ExplainedDocument(result, "text")]))

        assert "3.5" in page.visible
        assert page.texts == ["text"]

    def test_nothing_shows_text_in_a_log(self):
        assert "private" not in repr([prediction("private"), *shade("private", [])])

    def test_failures_are_listed_without_their_text(self):
        failed = ExplainedDocument(
            DocumentFailure("scan.pdf", "encrypted", "read", detail="needs a password"), "secret"
        )
        page = Page(explanation_page([failed]))

        assert "0 documents with an answer, 1 without" in page.visible
        for shown in ("scan.pdf", "encrypted", "needs a password"):
            assert shown in page.visible
        assert "secret" not in page.visible

    def test_direction_follows_the_text(self):
        page = Page(explanation_page([prediction("نص عربي", (0, 2, 1.0))]))

        assert [attributes["dir"] for attributes in page.named("div")] == ["auto"]


@pytest.mark.parametrize("items", [[], [prediction("")]])
def test_an_empty_page_is_whole(items):
    page = Page(explanation_page(items))

    assert page._open == []
