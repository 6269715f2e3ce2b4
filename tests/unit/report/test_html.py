"""The explanation page: the text stays the text, hostile content stays inert, passages are shaded where they are."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longdoc.readers.parsed import PageSpan
from longdoc.report.html import ExplainedDocument, explanation_page
from longdoc.report.reading import ReadingMap
from longdoc.types import DocumentFailure, DocumentPrediction, EvidencePassage, LabelScore, Occlusion

SCRIPT = "<script>alert(1)</script>"
IMAGE = '"><img src=x onerror=1>'


class Page(HTMLParser):
    """What a browser would see: elements with their attributes, the text of each `.text` block, marked passages."""

    EMPTY = ("meta", "link", "img", "input")

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
        if tag in self.EMPTY:
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
        if self._open and self._open[-1][0] in ("script", "style"):
            return
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
        assert page.named("script") == [{}], "our own"

    def test_a_label_and_an_id_with_markup_stay_text_in_every_place(self):
        item = prediction("some text", (0, 4, 1.0), label=IMAGE)
        failed = ExplainedDocument(DocumentFailure(id=SCRIPT, reason="empty", detail=IMAGE), SCRIPT)
        source = explanation_page([item, failed])
        page = Page(source)

        assert page.named("img") == []
        assert page.named("script") == [{}], "our own"
        assert page.visible.count(IMAGE) == 4  # answer, table of labels, list of passages, failure's detail
        assert page.marks[0][1] == f"{IMAGE}: +1.000"
        allowed = {"charset", "http-equiv", "content", "name", "lang", "id", "class", "title", "href", "dir", "value",
                   "type", "hidden", "role", "tabindex", "scope", "viewbox", "preserveaspectratio", "focusable",
                   "width", "height", "x", "y"}  # fmt: skip
        names = {name for _, attributes in page.elements for name in attributes}
        assert {name for name in names if not name.startswith(("aria-", "data-"))} <= allowed

    def test_the_page_asks_for_nothing_from_elsewhere_and_forbids_it(self):
        source = explanation_page([prediction("see https://example.org", (0, 3, 1.0))])
        page = Page(source)
        parts = [source.partition(f"<{name}>")[2].partition(f"</{name}>")[0] for name in ("style", "script")]
        hashes = [base64.b64encode(hashlib.sha256(part.encode()).digest()).decode() for part in parts]

        (policy,) = [meta["content"] for meta in page.named("meta") if meta.get("http-equiv")]
        assert policy == (
            f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'; base-uri 'none'; "
            "form-action 'none'"
        )
        assert all(link["href"].startswith("#") for link in page.named("a"))
        assert not any(word in parts[0] for word in ("url(", "@import"))
        assert not any(word in parts[1] for word in ("innerHTML", "eval(", "fetch(", "XMLHttp", "import("))
        assert not {"link", "iframe", "object", "base", "form"} & {name for name, _ in page.elements}
        assert not any(name.startswith("on") or name == "style" for _, each in page.elements for name in each)


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


def test_marks_carry_weight_and_direction():
    page = Page(explanation_page([prediction("for it. against it. ", (0, 7, 2.0), (8, 19, -1.0))]))

    assert page.marks == [
        ("passage for level-5", "lease: +2.000", "for it."),
        ("passage against level-3", "lease: -1.000", "against it."),
    ]


class TestWhatThePageTells:
    def test_what_was_read_and_what_not(self):
        item = prediction("text that is read not read", (0, 12, 1.0), tokens_read=510, unknown_share=0.025)
        item = replace(item, reading=ReadingMap(((0, 17),), (1,), ((18, 26),)))
        page = Page(explanation_page([item]))

        assert (
            "Only 72.9\u00a0% of the document was read: 510 of 700 tokens, in 2 chunks. The model is set to leave the "
            "rest out. 2.5\u00a0% of the characters are unknown to the tokenizer. What was not read is grey and dotted "
            "in the text."
        ) in page.visible
        assert [each.get("title") for each in page.named("span") if each.get("class") == "unread"] == [None, "not read"]
        assert page.texts == [item.text]

    def test_pages_without_text_are_named(self):
        item = replace(prediction("one\f \fthree"), pages=(PageSpan(0, 3, 1), PageSpan(4, 5, 2), PageSpan(6, 11, 3)))
        said = (
            "Page 2 was not read: it has no text (a scan, a picture, or an empty page). The text of the other pages was"
        )
        assert said in Page(explanation_page([item])).visible

    def test_each_given_label_can_be_chosen_the_best_one_first(self):
        evidence = (EvidencePassage(0, 3, "b", 1.0), EvidencePassage(4, 7, "a", 2.0))
        labels = (LabelScore("a", 0.9, True), LabelScore("b", 0.8, True), LabelScore("c", 0.1, False))
        result = DocumentPrediction(id="x", labels=labels, evidence=evidence)
        page = Page(explanation_page([ExplainedDocument(result, "one two")]))

        assert page.texts == ["one two"]
        assert [(title, text) for _, title, text in page.marks] == [("a: no evidence", "one"), ("a: +2.000", "two")]
        assert [each["value"] for each in page.named("data")] == [",2", "1,"]
        assert ["checked" in each for each in page.named("input")] == [True, False]
        assert "2 of 3 labels are given: a, b." in page.visible

    def test_the_strongest_passages_are_listed_with_their_places(self):
        text = "aa. bb. cc. dd."
        places = [(0, 3, 0.5), (4, 7, 2.0), (8, 11, -1.0), (12, 15, 0.01)]
        item = replace(prediction(text, *places), reading=ReadingMap(((0, 7), (7, 15)), (1, 2)))
        page = Page(explanation_page([item]))

        assert [link["href"] for link in page.named("a")] == ["#d1p2", "#d1p1", "#d1p3"]
        assert {each.get("id") for each in page.named("mark")} == {"d1p1", "d1p2", "d1p3", "d1p4"}
        assert [shown in page.visible for shown in ("+2.000chunk 1", "-1.000chunk 2", "+0.010")] == [True, True, False]
        assert "The weights of all 4 passages add up to +1.510, the logit." in page.visible

    def test_a_number_is_an_answer(self):
        result = DocumentPrediction(id="x", value=3.5)
        page = Page(explanation_page([ExplainedDocument(result, "text")]))

        assert "3.5" in page.visible
        assert page.texts == ["text"]

    def test_nothing_shows_text_in_a_log(self):
        assert "private" not in repr([prediction("private")])

    @pytest.mark.parametrize(
        ("check", "words"),
        [
            (
                Occlusion(0.5, 0.49, True),
                "Checked. Without passage 1 the logit should move by -0.500; it was taken away, and the logit moved by "
                "-0.490.",
            ),
            (
                Occlusion(0.5, -0.25, False),
                "Read with care. Without passage 1 the logit should move by -0.500; it was taken away, and the logit "
                "moved by +0.250. These weights do not explain the score.",
            ),
        ],
    )
    def test_what_became_of_the_score_without_the_strongest_passage(self, check, words):
        item = prediction("some text", (0, 9, 0.5))
        (passage,) = item.result.evidence
        checked = replace(item.result, evidence=(passage._replace(occlusion=check),))

        page = Page(explanation_page([replace(item, result=checked)]))
        assert words in page.visible
        assert "Its weight above" not in page.visible, "all of it is its own"
        assert "should move" not in Page(explanation_page([item])).visible

    def test_passages_are_shaded_by_what_they_say_and_not_by_their_share_of_what_stands_in_none(self):
        """With noisy-or all 30 passages spoke for a label, and all were orange: each had a share of a base of -1.2."""
        item = prediction("aa. bb. cc.", (0, 3, -0.017), (4, 7, -0.2), (8, 11, 0.5))
        own = (0.383, 0.2, 0.9)
        evidence = tuple(each._replace(own=said) for each, said in zip(item.result.evidence, own, strict=True))
        evidence = (*evidence[:2], evidence[2]._replace(occlusion=Occlusion(0.9, 0.9, True)))
        html = explanation_page([replace(item, result=replace(item.result, evidence=evidence))])
        page = Page(html)

        assert "Strongest against" not in page.visible
        assert [each.get("class") for each in page.named("mark")] == [
            "passage for level-3", "passage for level-2", "passage for level-5",
        ]  # fmt: skip
        assert (
            "The weights of all 3 passages add up to +1.483. Where nothing is said, the logit is -1.200; together that "
            "is +0.283, the logit of this document."
        ) in page.visible
        assert "Without passage 1 the logit should move by -0.900; it was taken away" in page.visible
        assert "+0.900" in page.visible
        assert 'value="0.383,0.2,0.9"' in html

    def test_where_nothing_speaks_strongly_the_page_says_so_and_stays_pale(self):
        """Ten hundredths of a logit in all, and the page was dark blue."""
        item = prediction("aa. bb. cc.", (0, 3, 0.08), (4, 7, 0.05), (8, 11, -0.03))
        page = Page(explanation_page([item]))
        assert (
            "Nothing in the text speaks strongly for or against lease: all passages together move its score by +0.100 "
            "logit only, the strongest by +0.080."
        ) in page.visible
        assert [style for style, _, _ in page.marks] == ["passage for level-1"] * 2 + ["passage against level-1"]
        loud = Page(explanation_page([prediction("aa. bb.", (0, 3, 0.7), (4, 7, -0.7))]))
        assert "Nothing in the text" not in loud.visible, "the two sides cancel, but each is loud"
        number = explanation_page([prediction("aa.", (0, 3, 0.01), label="size", labels=(), value=0.01)])
        assert "Nothing in the text" not in Page(number).visible, "nobody knows what is much of a number"
        assert [style for style, _, _ in Page(number).marks] == ["passage for level-5"]

    def test_the_check_calls_a_passage_as_the_list_does_and_keeps_its_digits(self):
        """Passage 26 was called 1 by list and badge, and it "should move by -0.01"."""
        item = prediction("aa. bb. cc.", (0, 3, 0.001), (4, 7, 0.0098), (8, 11, 0.005))
        passages = list(item.result.evidence)
        passages[1] = passages[1]._replace(occlusion=Occlusion(0.0098, 0.00003, False))
        page = Page(explanation_page([replace(item, result=replace(item.result, evidence=tuple(passages)))]))
        assert (
            "Without passage 1 the logit should move by -0.010; it was taken away, and the logit moved by -3e-05."
            in (page.visible)
        )
        passages[1] = passages[1]._replace(weight=-0.0098)
        page = Page(explanation_page([replace(item, result=replace(item.result, evidence=tuple(passages)))]))
        assert "Without passage 1 against the logit" in page.visible

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

        assert [each["dir"] for each in page.named("div") if "dir" in each] == ["auto"]

    @pytest.mark.parametrize(
        ("given", "shown"), [("ar", "ar"), ("pt_BR", "pt-BR"), ("nobody knows", None), (None, None)]
    )
    def test_the_language_is_said_where_it_is_one(self, given, shown):
        page = Page(explanation_page([replace(prediction("text", (0, 4, 1.0)), language=given)]))

        assert [each.get("lang") for each in page.named("div") if each.get("class") == "text"] == [shown]


@pytest.mark.parametrize("items", [[], [prediction("")]])
def test_an_empty_page_is_whole(items):
    page = Page(explanation_page(items))

    assert page._open == []
