"""The report of an evaluation in a real browser: inert and readable, in light and dark, on paper and on a phone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from browser_kit import Shown, chromium, serious
from longdoc.decide import Decisions
from longdoc.report.evaluation_page import evaluation_page
from longdoc.report.findings import evaluation_findings
from longdoc.tasks import task_named
from longdoc.types import Document, DocumentPrediction, EvidencePassage

LABELS = ("lease", '"><img src=x onerror=alert(1)>', "إيجار")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as started:
        yield started


def report() -> str:
    """Thirty documents, of which some are explained and some are answered wrongly."""
    task, random = task_named("single_label"), np.random.default_rng(1)
    documents, results, explained = [], [], []
    for number in range(30):
        document = Document(id=f"<script>{number}</script>", text="x" * 100, label=LABELS[number % 3])
        answer = task.answer(random.normal(size=3) * 2, LABELS, Decisions())
        passages = tuple(
            EvidencePassage(10 * n, 10 * n + 10, answer["label"], float(random.normal())) for n in range(9)
        )
        documents.append(document)
        results.append(DocumentPrediction(id=document.id, n_tokens=number + 1, tokens_read=number + 1, **answer))
        explained.append((number, DocumentPrediction(id=document.id, n_tokens=number + 1, evidence=passages, **answer)))
    findings = evaluation_findings(task, documents, results, LABELS, explained)
    metrics = task.metrics(documents, results, LABELS, Decisions(), resamples=50)
    links = [f"errors/{n + 1:02d}.html" for n in range(len(findings.surprises))]
    return evaluation_page(metrics | {"tokens": 465, "tokens_read": 465}, findings, task.outcome_name, links=links)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_inert_and_nothing_serious_stands_in_the_way_of_anybody(
    browser: Any, tmp_path: Path, scheme: str
) -> None:
    with Shown(browser, tmp_path / "report.html", report(), color_scheme=scheme) as shown:
        assert shown.requests == [shown.address]
        assert shown.complaints == []
        assert shown.page.locator("table.confusion th", has_text="onerror").count() == 2
        assert shown.page.locator("a", has_text="<script>").first.get_attribute("href") == "errors/01.html"
        for summary in shown.page.locator("summary").all():
            summary.click()
        assert serious(shown.page) == []
        assert shown.style("body", "color") == shown.style("h1", "color")
        dark = shown.page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        assert dark == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(22, 24, 27)")


@pytest.mark.slow
def test_on_a_phone_tables_scroll_and_the_page_does_not(browser: Any, tmp_path: Path) -> None:
    with Shown(browser, tmp_path / "report.html", report(), viewport={"width": 390, "height": 800}) as shown:
        assert shown.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        widths = shown.page.locator(".measures .meaning").evaluate_all("all => all.map(each => each.clientWidth)")
        assert min(widths) > 300, "what a measure is stands below it, not in a column of five letters"
        shown.page.emulate_media(media="print")
        assert shown.page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(255, 255, 255)"
