"""Physical lines: numbers, cursors, limits, encodings."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longdoc.readers import measure
from longdoc.readers.base import Source
from longdoc.readers.lines import Line, LineFile, line_at
from reader_kit import QUICK, settings_of, write


def file_of(path: Path, guess: bool = True, limit: int | None = None, **settings: object) -> LineFile:
    found = LineFile.probe(Source(path, path.parent, path.name), settings_of(**settings), guess)
    return found if limit is None else LineFile(found.source, found.encoding, found.newline, limit, found.sample)


def lines_of(path: Path, **settings: object) -> list[Line]:
    return list(file_of(path, **settings).lines())


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252", "gb18030"])
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_lines_are_the_same_in_every_encoding_and_enterable_at_every_cursor(
    tmp_path: Path, encoding: str, suffix: str
) -> None:
    texts = ["first\n", "\n", "zwölf\r\n", "é \u00e0\r x\n", "last"]
    if encoding == "gb18030":
        texts[2:4] = ["本法\r\n", "é \u00e0\r 条\n"]
    data = "".join(texts).encode(encoding)
    path = write(tmp_path / f"in{suffix}", gzip.compress(data) if suffix else data)
    file = file_of(path, encoding=encoding if encoding in ("cp1252", "gb18030") else None)
    lines = list(file.lines())
    assert [line.text for line in lines] == texts
    assert [line.number for line in lines] == [1, 2, 3, 4, 5]
    for index, line in enumerate(lines):
        assert list(file.lines(line.cursor)) == lines[index:]
        assert line_at(line.cursor) == line.number
        assert list(file.lines(line.after)) == lines[index + 1 :]


def test_a_plain_file_is_entered_at_its_byte_offset(tmp_path: Path) -> None:
    path = write(tmp_path / "in", "ü\nxy\nz")
    cursors = [line.cursor for line in lines_of(path)]
    assert [cursor & (2**48 - 1) for cursor in cursors] == [0, 3, 6]
    assert [cursor >> 48 for cursor in cursors] == [0, 1, 2]


@QUICK
@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r\n\ufeff\0"), max_size=8), max_size=6))
def test_only_line_feeds_end_lines(parts: list[str]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "in", "\n".join(parts))
        found = "".join(line.text for line in lines_of(path))
        assert found == "\n".join(parts)
        assert all(line.text.count("\n") <= 1 for line in lines_of(path))


def test_carriage_returns_end_lines_where_there_is_no_line_feed(tmp_path: Path) -> None:
    assert [line.text for line in lines_of(write(tmp_path / "in", "a\rb\rc"))] == ["a\r", "b\r", "c"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("ending", ["\n", ""])
def test_a_line_that_unpacks_beyond_measure_is_given_up_and_the_next_ones_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str, ending: str
) -> None:
    """A line of any length that is no bomb is read, and the lines are the same wherever one enters."""
    monkeypatch.setattr(measure, "FREE_BYTES", 1 << 20)
    monkeypatch.setattr(measure, "_TAKEN_AHEAD", 1 << 10)
    honest = random.Random(0).randbytes(1 << 20).hex() + "\n"
    texts = ["short\n", "x" * (3 << 20) + "\n", honest, "end\n", "y" * (3 << 20) + ending]
    path = write(tmp_path / "in.gz", gzip.compress("".join(texts).encode(encoding)))
    file = file_of(path)
    lines = list(file.lines())
    assert [line.text for line in lines] == ["short\n", "", honest, "end\n", ""]
    assert [line.number for line in lines] == [1, 2, 3, 4, 5]
    faults = [(line.fault.reason, str(line.fault)) for line in lines if line.fault is not None]
    what = measure.UNPACKS_TO_TOO_MUCH
    assert faults == [("zip_bomb", f"Line {n} {what}. If that is right, give it without compression.") for n in (2, 5)]
    for index, line in enumerate(lines):
        again = [(x.number, x.cursor, x.text, x.packed) for x in file.lines(line.cursor)]
        assert again == [(x.number, x.cursor, x.text, x.packed) for x in lines[index:]]


def test_what_is_beyond_measure() -> None:
    mebi = 1 << 20
    assert not measure.beyond_measure(32 * mebi, 0)
    assert measure.beyond_measure(32 * mebi + 1, 1000)
    assert not measure.beyond_measure(200 * mebi, mebi - (1 << 17))
    assert measure.beyond_measure(200 * mebi + 1, mebi - (1 << 17))
    assert measure.UNPACKS_TO_TOO_MUCH == (
        "unpacks to more than 32 MiB, and to more than 200 times what it takes in the file"
    )


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_line_over_the_limit_is_a_fault_and_the_next_ones_go_on(tmp_path: Path, encoding: str) -> None:
    texts = ["short\n", "x" * 300_000 + "\n", "y" * 100 + "\n", "z" * 101 + "\n", "end"]
    path = write(tmp_path / "in", "".join(texts).encode(encoding))
    lines = list(file_of(path, limit=101).lines())
    assert [line.text for line in lines] == ["short\n", "", "y" * 100 + "\n", "", "end"]
    faults = [str(line.fault) for line in lines if line.fault is not None]
    assert faults == [f"Line {n} is longer than 101 bytes. Raise `read.max_bytes` to read it." for n in (2, 4)]
    again = file_of(path, limit=101).lines(lines[1].cursor)
    assert [(line.number, line.cursor, line.text) for line in again] == [
        (x.number, x.cursor, x.text) for x in lines[1:]
    ]


@pytest.mark.parametrize(("encoding", "bad"), [("utf-8", b"b\xffd"), ("cp932", b"\x81")])
def test_a_line_that_does_not_fit_the_encoding_is_a_fault(tmp_path: Path, encoding: str, bad: bytes) -> None:
    path = write(tmp_path / "in", "日本".encode(encoding) + b"\n" + bad + b"\n" + "日本".encode(encoding))
    lines = lines_of(path, encoding=encoding) if encoding != "utf-8" else lines_of(path, guess=False)
    assert [line.fault is None for line in lines] == [True, False, True]
    assert lines[1].fault is not None
    assert lines[1].fault.reason == "decode_error"
    assert (lines[0].text, lines[2].text) == ("日本\n", "日本")


def test_a_given_encoding_yields_to_a_file_that_is_valid_utf8_throughout(tmp_path: Path) -> None:
    ascii_start = "plain\n" * 60_000
    utf8 = file_of(write(tmp_path / "a", ascii_start + "für\n"), encoding="cp1252")
    other = file_of(write(tmp_path / "b", ascii_start.encode() + b"f\xfcr\n"), encoding="cp1252")
    assert (utf8.encoding.name, other.encoding.name) == ("utf-8", "cp1252")
    for file in (utf8, other):
        *_, last = file.lines()
        assert last.text == "für\n"
