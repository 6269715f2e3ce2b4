"""The page that lists the reports of many documents: what was said of each, and which have no answer, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from longdoc.errors import counted
from longdoc.report.conclusion import answer_words
from longdoc.report.failures import failure_words
from longdoc.report.inert import inert_page
from longdoc.types import DocumentPrediction, DocumentResult

__all__ = ["IndexRow", "index_page", "index_row", "left_out_words"]


@dataclass(frozen=True, repr=False)
class IndexRow:
    """One document of the list. Nothing of its text is in it, but an answer that is a part of it.

    Attributes:
        id: the document's.
        page: address of its report; None where it has none.
        answer, score: in words, as in a table.
        labels: the labels that are given, or marked.
        status: `answered`, `undecided` or `failed`.
        reason: why it failed, in words; and `detail` what was found.
        tokens_read, n_tokens, n_chunks: as of a prediction.
    """

    id: str
    page: str | None
    answer: str
    score: str
    labels: tuple[str, ...]
    status: str
    reason: str = ""
    detail: str = ""
    tokens_read: int = 0
    n_tokens: int = 0
    n_chunks: int = 0


def index_row(result: DocumentResult, page: str | None) -> IndexRow:
    """The row of one result; `page` is where its report is."""
    if not isinstance(result, DocumentPrediction):
        told = failure_words(result)
        return IndexRow(
            result.id, None, "", "", (), "failed", told.reason, told.detail, 0, result.n_tokens, result.n_chunks
        )
    answer, score = answer_words(result)
    given = [item.label for item in result.labels if item.chosen] or ([result.label] if result.label else [])
    labels = given or sorted({span.label for span in result.spans})
    status = "undecided" if result.abstained else "answered"
    reading = result.tokens_read, result.n_tokens, result.n_chunks
    return IndexRow(result.id, page, answer, score, tuple(labels), status, "", "", *reading)


def left_out_words(left_out: int) -> str:
    """What is said of documents that a limit left out; nothing where there are none."""
    return f"{counted(left_out, 'more document')} left out by the limit." if left_out else ""


def index_page(rows: Sequence[IndexRow], title: str = "What the answers rest on", left_out: int = 0) -> str:
    """A complete HTML document, to be written as UTF-8: it can be sorted, and filtered by label, status and id.

    Args:
        left_out: documents that have no row, since fewer were asked for.
    """
    labels = sorted({label for row in rows for label in row.labels})
    numbers = {label: number for number, label in enumerate(labels)}
    failures = Counter(row.reason for row in rows if row.status == "failed")
    statuses = Counter(row.status for row in rows)
    summary = [counted(len(rows), "document")]
    summary += [f"{statuses[status]} {status}" for status in ("answered", "undecided", "failed") if statuses[status]]
    return inert_page(
        "index.html.j2",
        ("base.css", "index.css"),
        ("index.js",),
        title=title,
        rows=[(row, " ".join(str(numbers[label]) for label in row.labels)) for row in rows],
        labels=[(label, sum(label in row.labels for row in rows)) for label in labels],
        summary=", ".join(summary),
        left_out=left_out_words(left_out),
        statuses=[status for status in ("answered", "undecided", "failed") if statuses[status]],
        failures=failures.most_common(),
        scored=any(row.score for row in rows),
        partly=sum(row.tokens_read < row.n_tokens for row in rows if row.status != "failed"),
    )
