"""Debian's Chromium for tests, driven by playwright, and pages with something on them."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from longdoc.pages import with_pages
from longdoc.readers.parsed import told_pages
from longdoc.report.conclusion import Rule
from longdoc.report.html import ExplainedDocument
from longdoc.report.reading import ReadingMap
from longdoc.types import DocumentPrediction, EvidencePassage, LabelScore

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser with an empty profile of its own; the test skips where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("there is no chromium on this machine (Debian: apt install chromium)")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=program, headless=True, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


class Shown:
    """A page in a browser that notes what it asks for and what it complains of."""

    def __init__(self, browser: Any, file: Path, html: str, **context: Any) -> None:
        file.write_text(html, encoding="utf-8")
        self.context = browser.new_context(
            **({"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce"} | context)
        )
        self.page = self.context.new_page()
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(f"dialog {dialog.message}"))
        self.address = file.as_uri()
        self.page.goto(self.address)

    def __enter__(self) -> Shown:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()

    def style(self, selector: str, name: str) -> str:
        """The computed style of the first element."""
        script = "(element, name) => getComputedStyle(element)[name]"
        return str(self.page.locator(selector).first.evaluate(script, name))

    @property
    def tip(self) -> str:
        """What the page says about what is pointed at; empty where it says nothing."""
        tip = self.page.locator("#tip")
        return str(tip.inner_text()) if tip.is_visible() else ""


def serious(page: Any) -> list[str]:
    """Findings of axe-core that are serious or worse."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    found = axe.Axe().run(page).response["violations"]
    return [f"{each['id']}: {[node['html'][:120] for node in each['nodes'][:3]]}" for each in found
            if each["impact"] in ("serious", "critical")]  # fmt: skip


def sentences(text: str) -> list[tuple[int, int]]:
    """Places of the sentences of a text."""
    return [found.span() for found in re.finditer(r"\S.*?\.(?=\s|$)", text, re.DOTALL)]


def explained(
    text: str,
    weights: dict[str, list[float]],
    id: str = "letter.txt",
    pages: list[list[int]] | None = None,
    reading: ReadingMap | None = None,
    **fields: Any,
) -> ExplainedDocument:
    """A document whose sentences have these weights, label by label, of which all are given."""
    places = sentences(text)
    evidence = tuple(
        EvidencePassage(start, end, label, weight)
        for label, each in weights.items()
        for (start, end), weight in zip(places, each, strict=True)
    )
    labels = tuple(LabelScore(label, 0.9 - 0.1 * number, True) for number, label in enumerate(weights))
    result = DocumentPrediction(
        id=id,
        labels=(*labels, LabelScore("none of these", 0.05, False)),
        evidence=with_pages(evidence, {"pages": pages or []}),
        n_tokens=700,
        n_chunks=2,
        tokens_read=700,
    )
    rule = Rule(dict.fromkeys([*weights, "none of these"], 0.5))
    return ExplainedDocument(result, text, (), told_pages({"pages": pages}), reading=reading, rule=rule, **fields)
