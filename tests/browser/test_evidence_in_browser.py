"""Reports in a real browser: what can be pointed at, chosen and reached by keys, and that nothing foreign runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browser_kit import Shown, chromium, explained, sentences, serious
from longdoc.report.html import ExplainedDocument, explanation_page
from longdoc.report.index import index_page, index_row
from longdoc.report.marked import shade_level
from longdoc.report.reading import ReadingMap
from longdoc.types import DocumentFailure, DocumentPrediction, LabelScore, ScoredSpan

SCRIPT = "<script>document.title = 'owned'; alert(1)</script>"
IMAGE = '"><img src=x onerror=alert(1)>'
FIRST = "The tenant shall pay the rent. "
FILLER = "Nothing of any weight is said in this place, but it is said at length. " * 3 + "\n\n"
TEXT = FIRST + FILLER * 40 + f"He did not pay {SCRIPT} in May.\n\nقضت المحكمة بفسخ العقد. The end."
COUNT = 1 + 120 + 3


def weights(**heavy: float) -> list[float]:
    """Of each sentence: faint, but for those that are named by their number."""
    return [heavy.get(f"n{number}", 0.001) for number in range(COUNT)]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as started:
        yield started


def lease() -> ExplainedDocument:
    half = TEXT.index("He did not")
    return explained(
        TEXT,
        {IMAGE: weights(n0=2.0, n121=1.1, n60=-1.5), "loan": weights(n122=3.0)},
        id=f"{SCRIPT}.txt",
        pages=[[0, 4000, 1], [4000, len(TEXT), 2]],
        reading=ReadingMap(((0, half), (half, len(TEXT))), (1, 2)),
    )


def test_evidence_is_pointed_at_chosen_and_reached_and_nothing_foreign_runs(browser: Any, tmp_path: Path) -> None:
    with Shown(browser, tmp_path / "page.html", explanation_page([lease()])) as shown:
        page = shown.page
        assert page.locator(".text").evaluate("text => text.textContent") == TEXT
        assert page.locator(".text > div").evaluate_all("all => all.every(each => each.dir === 'auto')")

        page.locator("mark.passage").first.hover()
        assert shown.tip == f"+2.000 speaks for {IMAGE}\npart 1 of 124, strength 1 of 3 · chunk 1 · page 1"
        page.locator("mark.against").hover()
        assert shown.tip.startswith(f"−1.500 speaks against {IMAGE}\npart 61 of 124, strength 2 of 3")
        page.mouse.move(0, 0)
        assert shown.tip == ""

        bars = page.locator(".strip rect:not(.view)")
        assert bars.evaluate_all("all => all.map(bar => [bar.className.baseVal, bar.width.baseVal.value])") == [
            ["for", 45], ["for", 27], ["against", 36]]  # fmt: skip
        box = page.locator(".strip svg").bounding_box()
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] - 6)
        assert "speaks for" in shown.tip
        assert "part 122 of 124" in shown.tip
        assert page.locator("mark.current").first.bounding_box()["y"] < 800, "it was scrolled to"

        page.locator(".choice label").nth(1).click()
        assert page.locator("mark.for").evaluate_all("all => all.map(mark => mark.dataset.u)") == ["122"]
        assert page.locator(".ranking:visible h3").first.inner_text() == "Strongest for loan"
        assert bars.count() == 1
        assert page.locator(".strip svg").get_attribute("aria-label") == (
            "Where the evidence for loan sits: strongest at 100 % of the text"
        )

        page.get_by_text("Next strongest passage").click()
        assert page.evaluate("document.activeElement.dataset.u") == "122"
        page.keyboard.press("ArrowRight")
        assert "part 124 of 124, faint" in shown.tip
        assert page.evaluate("document.activeElement.getAttribute('aria-describedby')") == "tip"
        page.keyboard.press("Home")
        assert "part 1 of 124" in shown.tip
        page.keyboard.press("Escape")
        assert shown.tip == ""

        assert page.title() == "What the answers rest on"
        assert page.locator("img").count() == 0
        assert page.locator("script").count() == 1
        assert (shown.requests, shown.complaints) == ([shown.address], [])


@pytest.mark.slow
def test_a_walk_by_tab_reaches_label_buttons_list_and_text(browser: Any, tmp_path: Path) -> None:
    with Shown(browser, tmp_path / "page.html", explanation_page([lease()])) as shown:
        reached = []
        for _ in range(12):
            shown.page.keyboard.press("Tab")
            reached.append(shown.page.evaluate(
                "[document.activeElement.tagName, document.activeElement.dataset.u || document.activeElement.name]"
            ))  # fmt: skip
        stops = [name for name, _ in reached]
        assert stops.count("MARK") == 1, "all passages are one stop; arrows go from one to the next"
        assert stops.index("INPUT") < stops.index("BUTTON") < stops.index("A") < stops.index("MARK")
        assert reached[stops.index("MARK")] == ["MARK", "0"]
        shown.page.keyboard.press("Shift+Tab")
        assert (shown.requests, shown.complaints) == ([shown.address], [])


@pytest.mark.slow
def test_the_script_shades_as_the_page_was_written(browser: Any, tmp_path: Path) -> None:
    values = [2.0, 1.61, 1.6, 0.81, 0.41, 0.11, 0.1, 0.09, 0.0, -0.1, -0.12, -0.5, -1.0, -1.99]
    text = " ".join(f"Sentence {number}." for number in range(len(values)))
    for strength in (1.0, 0.1):  # where all are weak they stay pale
        html = explanation_page([explained(text, {"x": [strength * value for value in values]})])
        written = re.findall(r'<mark class="([^"]*)"', html)
        with Shown(browser, tmp_path / "page.html", html) as shown:
            drawn = shown.page.locator(".text mark").evaluate_all("all => all.map(mark => mark.className)")
        assert drawn == written
        assert ("level-5" in " ".join(drawn)) == (strength == 1.0)
    assert [shade_level(value, 2.0) for value in values] == [5, 5, 4, 3, 2, 1, 0, 0, 0, 0, 1, 2, 3, 5]


def test_dark_print_and_still_styles_and_the_page_without_a_script(browser: Any, tmp_path: Path) -> None:
    html = explanation_page([lease()])
    with Shown(browser, tmp_path / "page.html", html, color_scheme="dark", reduced_motion="reduce") as shown:
        assert shown.style("html", "backgroundColor") == "rgb(22, 24, 27)"
        assert shown.style("mark.for", "borderBottomStyle") == "solid"
        assert shown.style("mark.against", "borderBottomStyle") == "dashed"
        assert shown.style("html", "scrollBehavior") == "auto"
        shown.page.emulate_media(media="print", reduced_motion="no-preference")
        assert shown.style("html", "backgroundColor") == "rgb(255, 255, 255)"
        assert shown.style("html", "scrollBehavior") == "smooth"
        assert shown.style("mark.for", "backgroundColor") == "rgb(114, 171, 228)"
        assert shown.style(".strip", "display") == shown.style(".walk", "display") == "none"
        assert "In the strip" not in shown.page.locator(".legend").inner_text(), "paper has none"
    with Shown(browser, tmp_path / "page.html", html, java_script_enabled=False) as shown:
        assert shown.page.locator("mark.for.level-5").get_attribute("title") == f"{IMAGE}: +2.000, chunk 1, page 1"
        assert "In the strip" not in shown.page.locator(".legend").inner_text(), "there is none"
        assert shown.page.locator(".ranking:visible").count() == 2, "nothing is hidden that could not be shown again"
        assert not shown.page.locator(".strip").is_visible()


def test_the_index_is_sorted_and_filtered(browser: Any, tmp_path: Path) -> None:
    results = [
        DocumentPrediction("b 10", "lease", 0.5, (LabelScore("lease", 0.5),), n_tokens=9, tokens_read=9),
        DocumentFailure("a.pdf", "encrypted", detail="needs a password"),
        DocumentPrediction("B 9", IMAGE, 0.75, (LabelScore(IMAGE, 0.75),), n_tokens=70, tokens_read=7),
        DocumentPrediction("c", labels=(LabelScore("lease", 0.4),), abstained=True, n_tokens=100, tokens_read=100),
    ]
    html = index_page([index_row(result, f"documents/{number}.html") for number, result in enumerate(results)])
    with Shown(browser, tmp_path / "index.html", html) as shown:
        page = shown.page

        def listed() -> list[str]:
            return list(page.locator("tbody tr:visible td:nth-child(2)").all_inner_texts())

        arrow = "getComputedStyle(document.querySelector('thead button'), '::after').content"
        assert "\u2195" in page.evaluate(arrow), "that headings sort is seen before one is pressed"
        page.emulate_media(media="print")
        assert page.evaluate(arrow) == "none", "paper does not sort"
        page.emulate_media(media="screen")
        page.get_by_role("button", name="document").click()
        assert listed() == ["a.pdf", "B 9", "b 10", "c"]
        page.get_by_role("button", name="score").click()
        assert listed() == ["B 9", "b 10", "a.pdf", "c"], "the greatest first, and those without one last"
        page.get_by_role("button", name="score").click()
        assert listed() == ["b 10", "B 9", "a.pdf", "c"]
        assert page.locator("[aria-sort=ascending]").inner_text().strip() == "score"
        page.get_by_label("Label").select_option(label=f"{IMAGE} (1)")
        assert listed() == ["B 9"]
        page.get_by_role("button", name="Show all").click()
        page.get_by_label("Status").select_option("failed")
        assert listed() == ["a.pdf"]
        assert page.locator("output").inner_text() == "1 of 4 shown"
        page.get_by_label("Status").select_option("")
        page.get_by_label("Name").fill("b ")
        assert listed() == ["b 10", "B 9"]
        assert page.locator("tbody a").first.get_attribute("href") == "documents/0.html"
        assert (shown.requests, shown.complaints) == ([shown.address], [])


def spans() -> ExplainedDocument:
    text = "Anna Stone of York."
    found = (ScoredSpan(0, 10, "NAME", 0.75), ScoredSpan(14, 18, "CITY", 0.5))
    return ExplainedDocument(DocumentPrediction("note", spans=found, n_tokens=5, tokens_read=5), text, (1, 1))


@pytest.mark.slow
def test_spans_are_pointed_at_and_reached_from_their_table(browser: Any, tmp_path: Path) -> None:
    with Shown(browser, tmp_path / "page.html", explanation_page([spans()])) as shown:
        shown.page.locator("mark.span").first.hover()
        assert shown.tip == "NAME, probability 0.750, chunk 1"
        shown.page.locator(".all-spans a").nth(1).click()
        assert shown.page.evaluate("document.activeElement.textContent") == "York"
        assert shown.tip == "CITY, probability 0.500, chunk 1"
        assert shown.page.locator(".strip .bar-span").count() == 2
        assert shown.complaints == []


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_serious_stands_in_the_way_of_anybody(browser: Any, tmp_path: Path, scheme: str) -> None:
    failed = DocumentFailure("scan.pdf", "encrypted", detail="needs a password")
    pages = {
        "evidence": explanation_page([lease(), spans(), ExplainedDocument(failed, "")]),
        "index": index_page([index_row(lease().result, "a.html"), index_row(failed, None)]),
    }
    for name, html in pages.items():
        with Shown(browser, tmp_path / f"{name}.html", html, color_scheme=scheme) as shown:
            if name == "evidence":
                shown.page.locator("mark.passage").first.focus()
                assert shown.tip
            assert serious(shown.page) == [], name


@pytest.mark.slow
def test_directions_follow_each_paragraph_on_a_phone_without_scrolling_sideways(browser: Any, tmp_path: Path) -> None:
    html = explanation_page([lease()])
    with Shown(browser, tmp_path / "page.html", html, viewport={"width": 390, "height": 800}, has_touch=True) as shown:
        page = shown.page
        directions = page.locator(".text > div").evaluate_all(
            "all => all.map(each => getComputedStyle(each).direction)"
        )
        assert (directions[0], directions[-1]) == ("ltr", "rtl")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.locator("mark.for").first.tap()
        assert shown.tip.startswith("+2.000")
        box = page.locator("#tip").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390


def test_the_mark_of_a_page_does_not_turn_an_arabic_paragraph_round(browser: Any, tmp_path: Path) -> None:
    text = "يلتزم المستأجر بدفع الإيجار."
    html = explanation_page([explained(text, {"lease": [1.0]}, pages=[[0, len(text), 1]])])
    with Shown(browser, tmp_path / "page.html", html) as shown:
        mark, passage, column = (
            shown.page.locator(name).first.bounding_box() for name in (".page", "mark.passage", ".text > div")
        )
        assert mark["x"] + mark["width"] == pytest.approx(column["x"] + column["width"], abs=1)
        assert passage["x"] + passage["width"] <= mark["x"] + 1


def test_the_strip_is_as_long_as_a_short_text_not_as_the_panel_beside_it(browser: Any, tmp_path: Path) -> None:
    text = " ".join(f"A short sentence of the text, the {number}th." for number in range(9))
    html = explanation_page([explained(text, {"lease": [1.0, 0.9, 0.8, 0.7, 0.6, -0.9, -0.8, -0.7, 0.0]})])
    with Shown(browser, tmp_path / "page.html", html) as shown:
        text_box, strip, panel = (
            shown.page.locator(name).bounding_box() for name in (".text > div", ".strip svg", ".panel")
        )
        assert panel["height"] > text_box["height"] + 300
        assert strip["height"] == pytest.approx(max(text_box["height"], 128), abs=2)
        assert strip["y"] == pytest.approx(text_box["y"], abs=1)


def test_an_index_with_long_names_shows_answers_and_scores_on_a_phone(browser: Any, tmp_path: Path) -> None:
    name = "GAINSCOINC_01_21_2010-EX-10.41-SPONSORSHIP_AGREEMENT.pdf"
    html = index_page([index_row(explained(TEXT, {"employment": weights(n0=1.0)}, id=name).result, "1.html")])
    with Shown(browser, tmp_path / "index.html", html, viewport={"width": 390, "height": 800}) as shown:
        for cell in shown.page.locator("tbody td:nth-child(-n+4)").all():
            box = cell.bounding_box()
            assert box["x"] + box["width"] <= 390, cell.inner_text()
        assert shown.page.get_by_text("scroll it sideways").is_visible(), "more columns are out of sight"
        shown.page.set_viewport_size({"width": 1280, "height": 800})
        assert not shown.page.get_by_text("scroll it sideways").is_visible()


@pytest.mark.slow
def test_fifty_pages_are_one_small_file_that_answers_at_once(browser: Any, tmp_path: Path) -> None:
    page_text = ("The parties agree upon the terms of this clause and of all its annexes. " * 42)[:3000]
    text = page_text * 50
    pages = [[number * 3000, number * 3000 + 3000, number + 1] for number in range(50)]
    count = len(sentences(text))
    heavy = {f"label {n}": [((7 * number + n) % 31 - 9) / 10 for number in range(count)] for n in range(5)}
    html = explanation_page([explained(text, heavy, pages=pages)])
    assert len(html.encode()) < 1_000_000
    with Shown(browser, tmp_path / "page.html", html) as shown:
        page = shown.page
        page.locator(".choice label").nth(3).click()
        assert page.locator(".page").count() == 50
        page.locator(".ranking:visible .ranked a").first.click()
        assert "speaks for label 3" in shown.tip
        file = page.pdf(prefer_css_page_size=True)
        assert file.startswith(b"%PDF")
        assert shown.complaints == []
