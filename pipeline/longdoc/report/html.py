"""One page that shows what answers rest on: a file without scripts, links or anything from elsewhere.

Texts and label names are hostile until proven otherwise. They are escaped where they stand (autoescape), and a content
security policy forbids the page everything but its own style sheet, which is named by its hash.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from longdoc.pages import page_numbers
from longdoc.readers.parsed import PageSpan
from longdoc.report.spans import FoundSpan, SpanRun, found_spans, page_starts, span_runs
from longdoc.types import DocumentFailure, DocumentPrediction, EvidencePassage

__all__ = ["ExplainedDocument", "Piece", "explanation_page", "shade"]

LEVELS = 5
"""Steps of shading; the style sheet has one class for each."""


_NOT_IN_HTML = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True, repr=False)
class ExplainedDocument:
    """A result and the text it is about. The text of a failure is not shown.

    `chunks` says in which chunk each span of the result begins, from 1; `pages` where the pages of the text are.
    """

    result: DocumentPrediction | DocumentFailure
    text: str
    chunks: tuple[int, ...] = ()
    pages: tuple[PageSpan, ...] = ()


@dataclass(frozen=True, repr=False)
class Piece:
    """A run of text under the same passages.

    Attributes:
        text: the pieces of a document, joined, are its text.
        weight: what the passages over it add to the score, in logit space; None = under no passage.
        level: 1 (weak) to 5 (the strongest of the document), 0 for no contribution.
        page: number of the page that it lies on; None without pages.
        begins_page: whether it is the first of its page.
    """

    text: str
    weight: float | None
    level: int
    page: int | None = None
    begins_page: bool = False

    @property
    def style(self) -> str:
        """Class of the style sheet: for and against differ in colour and in the line below."""
        return f"{'for' if (self.weight or 0) > 0 else 'against'} level-{self.level}"


@dataclass(frozen=True, repr=False)
class _View:
    """The text of a document, shaded for one label."""

    label: str
    total: float
    pieces: list[Piece]


def explanation_page(items: Sequence[ExplainedDocument], title: str = "What the answers rest on") -> str:
    """A complete HTML document, to be written as UTF-8.

    For every label that has evidence the text is shown in full, passages shaded by what they add to the label's score
    or take from it. Spans, which may overlap, are drawn into the text and listed with their
    places. Two characters cannot stand in HTML, NUL and lone surrogates; they are shown as U+FFFD.
    """
    style = _style()
    fingerprint = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    answered = [
        (
            item.result,
            _answer(item.result),
            _views(item.result, item),
            _spans(item.result, item),
            shade(item.text, (), item.pages),
        )
        for item in items
        if isinstance(item.result, DocumentPrediction)
    ]
    return (
        _environment()
        .get_template("explanation.html.j2")
        .render(
            title=title,
            style=Markup(style),  # ours, from the package; the policy's hash is over these very characters
            policy=f"default-src 'none'; style-src 'sha256-{fingerprint}'; base-uri 'none'; form-action 'none'",
            answered=answered,
            failed=[item.result for item in items if isinstance(item.result, DocumentFailure)],
        )
    )


def shade(text: str, passages: Iterable[EvidencePassage], pages: Sequence[PageSpan] = ()) -> list[Piece]:
    """Cut a text at the ends of all passages and where its pages begin; where passages overlap, their weights add up.

    Args:
        text: the document's.
        passages: of one label, in any order; code points of `text`.
        pages: of the document.
    """
    starts: dict[int, list[float]] = {}
    ends: dict[int, list[float]] = {}
    for passage in passages:
        starts.setdefault(passage.start, []).append(passage.weight)
        ends.setdefault(passage.end, []).append(passage.weight)
    begins = page_starts(pages)
    cuts = sorted({0, len(text), *starts, *ends, *begins})
    runs: list[tuple[int, str, float | None]] = []
    over: list[float] = []
    for start, end in itertools.pairwise(cuts):
        for weight in ends.get(start, ()):
            over.remove(weight)
        over += starts.get(start, ())
        runs.append((start, text[start:end], math.fsum(over) if over else None))
    strongest = max((abs(weight) for _, _, weight in runs if weight is not None), default=0.0)
    return [
        Piece(
            run,
            weight,
            math.ceil(LEVELS * abs(weight) / strongest) if weight and strongest else 0,
            page_numbers(pages, start, start)[0],
            start in begins,
        )
        for start, run, weight in runs
    ]


def _spans(result: DocumentPrediction, item: ExplainedDocument) -> tuple[list[FoundSpan], list[SpanRun]]:
    """The spans as a table and in the text."""
    return found_spans(item.text, result.spans, item.chunks), span_runs(item.text, result.spans, item.pages)


def _views(result: DocumentPrediction, item: ExplainedDocument) -> list[_View]:
    """One view a label that has evidence, the best label first."""
    evidence: dict[str, list[EvidencePassage]] = {}
    for passage in result.evidence or ():
        evidence.setdefault(passage.label, []).append(passage)
    ranks = {each.label: rank for rank, each in enumerate(result.labels)}
    return [
        _View(
            label,
            math.fsum(passage.weight for passage in evidence[label]),
            shade(item.text, evidence[label], item.pages),
        )
        for label in sorted(evidence, key=lambda label: ranks.get(label, len(ranks)))
    ]


def _answer(result: DocumentPrediction) -> tuple[str, str]:
    """The answer and its score as words: to a question, of one label, of those chosen among many, or a number."""
    if result.question is not None:
        said = "not sure enough" if result.abstained else "no answer" if result.answer is None else result.answer
        return said, "" if result.score is None else f"{result.score:.3f}"
    if result.value is not None:
        return f"{result.value:.4g}", ""
    chosen = [item for item in result.labels if item.chosen]
    if chosen:
        return ", ".join(item.label for item in chosen), ", ".join(f"{item.score:.3f}" for item in chosen)
    if result.spans:
        counts = Counter(span.label for span in result.spans)
        return ", ".join(f"{label} ({count})" for label, count in sorted(counts.items())), ""
    if result.label is None:
        return "undecided" if result.abstained else "no label", ""
    return result.label, "" if result.score is None else f"{result.score:.3f}"


def _exact(text: str) -> Markup:
    """Escaped so that a browser's text is the document's: a parser would turn carriage returns into line feeds."""
    return escape(_NOT_IN_HTML.sub("\ufffd", text)).replace("\r", Markup("&#13;"))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("longdoc.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["exact"] = _exact
    return environment


@cache
def _style() -> str:
    return resources.files("longdoc.report").joinpath("templates/explanation.css").read_text("utf-8")
