"""One page that shows what answers rest on: a file that fetches nothing and runs nothing but its own script.

Without the script (some hospitals and mail programs allow none) the page still shows the text, shaded for the first
label, with its numbers; with it, labels are chosen, passages are pointed at, and a strip shows the whole document.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from longdoc.readers.parsed import PageSpan, pages_without_text
from longdoc.report.conclusion import Conclusion, Rule, answer_words, conclusion_of, reading_words
from longdoc.report.failures import failure_words
from longdoc.report.index import left_out_words
from longdoc.report.inert import inert_page
from longdoc.report.marked import MarkedText, Piece, marked_text, shade_level
from longdoc.report.ranking import LabelView, evidence_by_label, label_view
from longdoc.report.reading import ReadingMap
from longdoc.report.spans import FoundSpan, LabelColour, found_spans, label_colours
from longdoc.types import AnswerSpan, DocumentFailure, DocumentPrediction, LabelScore

__all__ = ["ExplainedDocument", "explanation_page"]

_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")


@dataclass(frozen=True, repr=False)
class ExplainedDocument:
    """A result and the text it is about. The text of a failure is not shown.

    Attributes:
        result: the answer, with evidence where there is any.
        text: of the document.
        chunks: in which chunk each span of the result begins, from 1; empty = nobody says.
        pages: where the pages of the text are.
        language: its code, where it is known.
        reading: which chunk answers for which part of the text; None = nobody says.
        rule: how scores became the answer.
    """

    result: DocumentPrediction | DocumentFailure
    text: str
    chunks: tuple[int, ...] = ()
    pages: tuple[PageSpan, ...] = ()
    language: str | None = None
    reading: ReadingMap | None = None
    rule: Rule | None = None


@dataclass(frozen=True, repr=False)
class _View:
    """A document as the template draws it."""

    number: int
    item: ExplainedDocument
    result: DocumentPrediction
    conclusion: Conclusion
    marked: MarkedText
    labels: list[LabelView]
    spans: list[FoundSpan]
    legend: list[LabelColour]

    @property
    def answer(self) -> tuple[str, str]:
        return answer_words(self.result)

    @property
    def score(self) -> str:
        return self.answer[1]

    @property
    def reading(self) -> str:
        return reading_words(self.result, pages_without_text(self.item.pages, self.item.text))

    @property
    def language(self) -> str:
        code = (self.item.language or "").replace("_", "-")
        return code if _LANGUAGE.fullmatch(code) else ""

    @property
    def partly_read(self) -> bool:
        return bool(self.item.reading and self.item.reading.unread)

    @property
    def chunks(self) -> str:
        """Those of all passages, for the script."""
        return ",".join(str(passage.chunk or "") for passage in self.marked.passages)

    @property
    def pages(self) -> str:
        """Those of all passages, for the script."""
        ends = ((passage.page, passage.last_page) for passage in self.marked.passages)
        return ",".join("" if page is None else f"{page}" if last is None else f"{page}-{last}" for page, last in ends)

    @property
    def considered(self) -> tuple[AnswerSpan, ...]:
        """The best places for an answer, but for the one that is given."""
        return self.result.answers[len(self.spans) :][:4]

    @property
    def grades(self) -> tuple[str, ...]:
        return self.item.rule.grades if self.item.rule else ()

    @property
    def chances(self) -> tuple[LabelScore, ...]:
        """Grades as they stand in their order, labels the most probable first."""
        labels, grades = self.result.labels, self.grades
        return tuple(sorted(labels, key=lambda each: grades.index(each.label))) if grades else labels

    def threshold(self, label: str) -> float | None:
        return self.item.rule.thresholds.get(label) if self.item.rule else None

    def style(self, piece: Piece) -> str:
        """Classes of a piece: for and against differ in colour and in the line below; spans in colour and name."""
        words = []
        if piece.spans:
            label = self.result.spans[piece.spans[0]].label
            colour = next(each.colour for each in self.legend if each.label == label)
            words += ["span", f"colour-{colour}"] + ["nested"] * (len(piece.spans) > 1)
        elif piece.passage is not None:
            words += ["passage"]
            weight = self.labels[0].weights[piece.passage]
            level = shade_level(weight, self.labels[0].strongest, self.labels[0].loud)
            words += ["for" if (weight or 0.0) > 0 else "against", f"level-{level}"] if level else []
        return " ".join(words)

    def note(self, piece: Piece) -> str:
        """What is said when one points at a piece, where no script says more."""
        if piece.spans:
            return "; ".join(self.spans[each].note for each in piece.spans)
        assert piece.passage is not None
        weight = self.labels[0].weights[piece.passage]
        said = "no evidence" if weight is None else f"{weight:+.3f}"
        where = self.marked.passages[piece.passage].where
        return f"{self.labels[0].words.name}: {said}" + (f", {where}" if where else "")


def explanation_page(
    items: Sequence[ExplainedDocument],
    title: str = "What the answers rest on",
    index: str | None = None,
    left_out: int = 0,
) -> str:
    """A complete HTML document, to be written as UTF-8.

    The text is shown in full, its passages shaded by what they add to a label's score or take from it; which label is
    the reader's choice. Spans, which may overlap, are drawn into the text and listed with their places. Two characters
    cannot stand in HTML, NUL and lone surrogates; they are shown as U+FFFD.

    Args:
        items: documents with their results.
        title: of the page.
        index: address of the page that lists this one among others.
        left_out: documents that are not shown, since fewer were asked for.
    """
    answered = [item for item in items if isinstance(item.result, DocumentPrediction)]
    return inert_page(
        "explanation.html.j2",
        ("base.css", "explanation.css"),
        ("strip.js", "explanation.js"),
        title=title,
        index=index,
        left_out=left_out_words(left_out),
        views=[_view(number, item) for number, item in enumerate(answered, 1)],
        failed=[failure_words(item.result) for item in items if isinstance(item.result, DocumentFailure)],
    )


def _view(number: int, item: ExplainedDocument) -> _View:
    result = item.result
    assert isinstance(result, DocumentPrediction)
    evidence = evidence_by_label(result)
    marked = marked_text(item.text, list(evidence.values()), result.spans, item.pages, item.reading)
    return _View(
        number,
        item,
        result,
        conclusion_of(result, item.rule),
        marked,
        [label_view(label, place, item.text, marked, result, item.rule) for place, label in enumerate(evidence)],
        found_spans(item.text, result.spans, item.chunks),
        label_colours(result.spans),
    )
