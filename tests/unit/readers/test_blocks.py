"""White space between blocks, cells and words; where sections begin."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from longdoc.readers.blocks import LINE, PARAGRAPH, BlockText
from reader_kit import QUICK

Rows = list[list[str]]


def write_table(blocks: BlockText, rows: list[list[str | Rows]]) -> None:
    blocks.table()
    for row in rows:
        blocks.row()
        for number, cell in enumerate(row):
            blocks.cell(first=number == 0)
            if isinstance(cell, str):
                for line in cell.splitlines():
                    blocks.block(LINE)
                    blocks.verbatim(line)
                    blocks.block(LINE)
            else:
                write_table(blocks, [*cell])  # type: ignore[list-item]
    blocks.end_table()


def test_blocks_are_separated_once_whatever_stands_empty_between_them() -> None:
    blocks = BlockText()
    blocks.block()
    blocks.line_break()
    for text in ("one", "", "", "two"):
        blocks.block()
        blocks.verbatim(text)
        blocks.block()
    blocks.block(LINE)
    blocks.verbatim("three")
    blocks.block(LINE)
    blocks.verbatim("four")
    for _ in range(9):
        blocks.line_break()
    blocks.verbatim("five")
    blocks.block()
    assert blocks.text == "one\n\ntwo\n\nthree\nfour\n\nfive"
    assert blocks.sections is None
    assert len(blocks) == len(blocks.text)


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        (["a", "b"], "ab"),
        (["a ", "b"], "a b"),
        (["a", "\n\t b"], "a b"),
        (["a ", " ", " b "], "a b"),
        (["  ", "a"], "a"),
        (["a\u00a0", " \u00a0b"], "a\u00a0\u00a0b"),
        ([" a\r\n b "], "a b"),
    ],
)
def test_flowing_text_keeps_one_space_between_words(pieces: list[str], text: str) -> None:
    blocks = BlockText()
    for piece in pieces:
        blocks.flow(piece)
    assert blocks.text == text


def test_a_space_at_the_end_of_a_line_is_dropped_and_none_is_put_beside_verbatim_space() -> None:
    blocks = BlockText()
    blocks.flow("a ")
    blocks.line_break()
    blocks.flow(" b ")
    blocks.verbatim("  c\n")
    blocks.flow(" d")
    blocks.flow(" ")
    blocks.verbatim("e")
    assert blocks.text == "a\nb  c\nd e"


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([["a", "b"], ["c", "d"]], "a\tb\nc\td"),
        ([["a", "", "c"]], "a\t\tc"),
        ([["a", ""], ["b", "c"]], "a\nb\tc"),
        ([["a"], ["", "b"]], "a\n\tb"),
        ([["a"], ["", ""], ["b"]], "a\nb"),
        ([["a\nb", "c"]], "a\nb\tc"),
        ([["a", [["n", "m"], ["o"]]], ["c"]], "a\tn\tm\no\nc"),
        ([["a", [["", ""]], "b"]], "a\t\tb"),
        ([["", ""], ["", "x"]], "x"),
        ([], ""),
    ],
)
def test_a_table_is_lines_of_cells(rows: list[list[str | Rows]], text: str) -> None:
    blocks = BlockText()
    write_table(blocks, rows)
    assert blocks.text == text
    around = BlockText()
    around.verbatim("before")
    write_table(around, rows)
    around.verbatim("after")
    tabs = "\t" if rows and rows[0][0] == "" else ""
    assert around.text == (f"before\n\n{tabs}{text}\n\nafter" if text else "before\n\nafter")


def test_sections_begin_at_their_headings_and_empty_headings_begin_none() -> None:
    blocks = BlockText()
    blocks.verbatim("preamble")
    for level, text in ((1, "One"), (3, ""), (2, "Two")):
        blocks.heading(level)
        blocks.block(LINE)
        blocks.verbatim(text)
        blocks.end_heading()
        blocks.verbatim("body")
    assert blocks.text == "preamble\n\nOne\n\nbody\n\nbody\n\nTwo\n\nbody"
    assert [(blocks.text[start:][:3], level) for start, level in blocks.sections or ()] == [("One", 1), ("Two", 2)]
    whole = BlockText()
    whole.verbatim("head")
    whole.join(blocks)
    whole.join(BlockText())
    whole.verbatim("foot")
    assert whole.text == f"head\n\n{blocks.text}\n\nfoot"
    assert [(whole.text[start:][:3], level) for start, level in whole.sections or ()] == [("One", 1), ("Two", 2)]


ACTIONS = st.sampled_from(["block", "line", "break", "heading", "end", "table", "row", "cell", "end table"])


@QUICK
@given(st.lists(st.one_of(ACTIONS, st.text("ab", min_size=1, max_size=3).map(lambda word: f"={word}"))))
def test_no_text_is_lost_or_moved_and_separators_stand_between_texts_only(actions: list[str]) -> None:
    blocks = BlockText()
    words, open_tables = "", []
    for action in actions:
        if action.startswith("="):
            blocks.verbatim(action[1:])
            words += action[1:]
        elif action == "table":
            blocks.table()
            open_tables.append(False)
        elif action in ("row", "cell", "end table"):
            if not open_tables or (action == "cell" and not open_tables[-1]):
                continue
            if action == "row":
                blocks.row()
                open_tables[-1] = True
            elif action == "cell":
                blocks.cell(first=False)
            else:
                blocks.end_table()
                open_tables.pop()
        else:
            {
                "block": lambda: blocks.block(PARAGRAPH),
                "line": lambda: blocks.block(LINE),
                "break": blocks.line_break,
                "heading": lambda: blocks.heading(1),
                "end": blocks.end_heading,
            }[action]()
    text = blocks.text
    assert "".join(text.split()) == words
    assert text == text.strip()
    assert "\n\n\n" not in text
    for start, _ in blocks.sections or ():
        assert text[start : start + 1].strip()
