"""Running lines of pages: what goes, and that what a page says does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from longdoc.readers.running_lines import MOST_LINES, without_running_lines

BODIES = ["Glucose 5.1\nSodium 140", "Glucose 4.9\nSodium 138", "Calcium 2.4\nSodium 141", "Iron 18\nChloride 99"]


def pages_of(top: list[str], bottom: list[str], bodies: list[str] = BODIES) -> list[str]:
    return ["\n".join([*top, body, *bottom]).format(n=n, m=n + 16) for n, body in enumerate(bodies, 1)]


@pytest.mark.parametrize(
    ("top", "bottom"),
    [
        (["Lab report"], ["Page {n}"]),
        (["Lab report", "Ward 7"], []),
        (["Lab report", "Ward 7", "Case 12/345"], ["- {n} -"]),
        ([], ["{m}"]),
        ([], ["Page {n} of 4", "printed on 2024-01-03"]),
        (["{n}/4"], ["Smith v. Jones, p. {m}"]),
        (["Lab report", "", "  Page {n}  "], ["", "confidential", ""]),
    ],
)
def test_headers_footers_and_page_numbers_go(top: list[str], bottom: list[str]) -> None:
    assert [page.strip("\n") for page in without_running_lines(pages_of(top, bottom))] == BODIES


@pytest.mark.parametrize(
    "line",
    [
        "Glucose 5.{n}",  # parts of decimals, dates, times and ranges are no page numbers
        "Glucose {n},5",
        "Visit of 2024-01-0{n}",
        "Visit of {n}/4/2024",
        "at 10:0{n}",
        "{n}-{m} mmol",
        "Aspirin {n}mg",
        "{n}/5",
        "from {n} to {m}",  # two numbers
        "",
    ],
)
def test_measurements_and_dates_that_go_up_with_the_pages_stay(line: str) -> None:
    assert without_running_lines(pages_of([line], [line])) == pages_of([line], [line])


def test_numbers_that_do_not_go_up_with_the_pages_stay() -> None:
    pages = [f"Lab report\nGlucose {value}\nSodium {140 - n}\nPage {n}" for n, value in enumerate([5, 9, 4, 5], 1)]
    assert without_running_lines(pages) == [page.split("\n", 1)[1].rsplit("\n", 1)[0] for page in pages]


def test_pages_that_are_alike_keep_what_they_say() -> None:
    report = "Lab report\nGlucose 5.1\nSodium 140\nPotassium 4.2\nCreatinine 80\nPage {n}"
    pages = [report.format(n=n) for n in range(1, 5)]
    assert without_running_lines(pages) == pages


@pytest.mark.parametrize("lines", range(1, 2 * MOST_LINES + 2))
def test_a_page_never_loses_all_its_lines(lines: int) -> None:
    pages = ["\n".join(f"line {number}" for number in range(lines))] * 5
    assert without_running_lines(pages) == pages
    assert without_running_lines([*pages, "\n".join(["line 0", *"abcdefg"])])[:5] == pages


def test_a_line_inside_another_one_stays_and_so_do_those_of_few_pages() -> None:
    pages = ["x\nsame\na\nz", "y\nsame\nb\nz", "z\nsame\nc\nw", "v\nsame\nd\nu"]
    assert without_running_lines(pages) == pages
    two = ["same\na", "same\nb"]
    assert without_running_lines(two) == two
    half = ["same\na", "same\nb", "same\nc", "d\ne", "f\ng", "h\ni"]
    assert without_running_lines(half) == half
    most = without_running_lines(half[:5])
    assert most == ["a", "b", "c", "d\ne", "f\ng"]


def test_long_lines_and_empty_pages_are_no_trouble() -> None:
    assert without_running_lines([]) == []
    assert without_running_lines(["", "", ""]) == ["", "", ""]
    long = [f"{'1 ' * 100_000}\na", f"{'1 ' * 100_000}\nb", f"{'1 ' * 100_000}\nc"]
    assert without_running_lines(long) == long


def test_the_handed_file_keeps_the_text_of_its_pages(shared_folder: Path) -> None:
    pytest.importorskip("pypdfium2")
    from longdoc.readers.pdf import parse

    data = (shared_folder / "cases" / "files" / "running-headers.pdf").read_bytes()
    text = parse(data, {"drop_running_lines": True}).text
    assert [f"Body text of page {n}." in text for n in range(1, 5)] == [True] * 4
