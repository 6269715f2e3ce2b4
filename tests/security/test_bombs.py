"""Small files that unpack or expand to much: a row with the reason, while their neighbours are read and the process
that reads stays small.
"""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

import pytest

from docx_kit import docx, paragraph
from pdf_kit import pdf
from reader_kit import write

CHILD = Path(__file__).resolve().parent / "bomb_child.py"
LAUGHS = "<!DOCTYPE w [<!ENTITY a 'ha'>" + "".join(
    f'<!ENTITY {name} "{f"&{before};" * 10}">' for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
LAUGHS += "]>"
EXTERNAL = '<!DOCTYPE w [<!ENTITY i SYSTEM "file:///etc/passwd">]>'


def outcome(folder: Path) -> tuple[dict[str, str], int]:
    finished = subprocess.run(
        [sys.executable, str(CHILD), str(folder)], capture_output=True, text=True, timeout=300, check=False
    )
    assert finished.returncode == 0, finished.stderr
    assert finished.stderr == ""
    told = json.loads(finished.stdout)
    return told["found"], told["peak"]


def word(document: str, megabytes: int = 0) -> bytes:
    """A Word document whose body part is this, with so many million letters in the place of `{}`."""
    whole = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(docx(paragraph("x")))) as source, zipfile.ZipFile(whole, "w", 8) as target:
        for name in source.namelist():
            with target.open(name, "w", force_zip64=True) as part:
                before, _, after = document.partition("{}") if name == "word/document.xml" else ("", "", "")
                part.write(before.encode() or source.read(name))
                for _ in range(megabytes if before else 0):
                    part.write(b"A" * 1_000_000)
                part.write(after.encode())
    return whole.getvalue()


def part_of(text: str, declared: str = "") -> str:
    namespace = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    body = f'<w:document xmlns:w="{namespace}"><w:body>{paragraph(text)}</w:body></w:document>'
    return f'<?xml version="1.0"?>{declared}{body}'


def test_bombs_in_word_and_xml_are_rows_with_their_reasons(tmp_path: Path) -> None:
    """Sizes of the table in which other libraries took 790 MB, or did not end."""
    files: dict[str, tuple[bytes, str]] = {
        "a-good.docx": (docx(paragraph("good")), "ok"),
        "b-laughs.docx": (word(part_of("&i;", LAUGHS)), "xml_forbidden"),
        "c-external.docx": (word(part_of("&i;", EXTERNAL)), "xml_forbidden"),
        "d-text.docx": (word(part_of("{}"), 400), "zip_bomb"),
        "f-laughs.xml": (f'<?xml version="1.0"?>{LAUGHS}<article>&i;</article>'.encode(), "xml_forbidden"),
        "g-external.xml": (f'<?xml version="1.0"?>{EXTERNAL}<article>&i;</article>'.encode(), "ok"),  # without it
        "h-good.xml": (b"<article><p>good</p></article>", "ok"),
        "i-cut.txt.gz": (gzip.compress(b"x" * 1_000_000)[:-20], "unreadable"),
        "j-good.txt": (b"good", "ok"),
    }
    for name, (data, _) in files.items():
        write(tmp_path / name, data)
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 2_000_000
    found, peak = outcome(tmp_path)
    assert found == {name: reason for name, (_, reason) in files.items()}
    assert peak < 500_000_000


def packed(suffix: str, *pieces: bytes, times: int = 0) -> bytes:
    """A compressed file: the first piece, the second so many times, the others."""
    whole = io.BytesIO()
    if suffix == "zst":
        import zstandard

        target = zstandard.ZstdCompressor().stream_writer(whole, closefd=False)
    else:
        target = gzip.GzipFile(fileobj=whole, mode="wb")
    with target:
        target.write(pieces[0])
        for _ in range(times):
            target.write(pieces[1])
        target.write(b"".join(pieces[2:]))
    return whole.getvalue()


def test_bombs_in_compressed_tables_and_texts_are_rows_between_their_neighbours(tmp_path: Path) -> None:
    """A line is given up while it is read. One of 1.3 GB took 5.4 GB as JSON Lines, 10.5 GB as CSV."""
    mega = b"A" * 1_000_000
    first, bomb, last = b'{"id": "J1", "text": "good"}\n', b'{"text": "', b'"}\n{"id": "J3", "text": "good"}\n'
    write(tmp_path / "a.jsonl.gz", packed("gz", first + bomb, mega, last, times=400))
    write(
        tmp_path / "b.jsonl.zst",
        packed("zst", (first + bomb).replace(b"J", b"Z"), mega, last.replace(b"J", b"Z"), times=400),
    )
    write(tmp_path / "c.csv.gz", packed("gz", b"id,text\nC2,good\nC3,", mega, b"\nC4,good\n", times=400))
    write(tmp_path / "d.csv.gz", packed("gz", b'id,text\nD2,good\nD3,"', b"A\n" * 500_000, b'"\n', times=100))
    wide = [piece.decode().replace("J", "W").encode("utf-16-le") for piece in (first + bomb, last)]
    write(tmp_path / "e.jsonl.gz", packed("gz", b"\xff\xfe" + wide[0], b"A\0" * 500_000, wide[1], times=200))
    write(tmp_path / "f.txt.gz", packed("gz", b"", mega, times=400))
    write(tmp_path / "g.html.gz", packed("gz", b"<p>", mega, times=400))
    write(tmp_path / "h.txt", b"good")
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 3_000_000
    found, peak = outcome(tmp_path)
    assert found == {
        **{"J1": "ok", "a.jsonl.gz:2": "zip_bomb", "J3": "ok"},
        **{"Z1": "ok", "b.jsonl.zst:2": "zip_bomb", "Z3": "ok"},
        **{"C2": "ok", "c.csv.gz:3": "zip_bomb", "C4": "ok"},
        **{"D2": "ok", "d.csv.gz:3": "zip_bomb"},  # nobody can tell rows from text after a quote
        **{"W1": "ok", "e.jsonl.gz:2": "zip_bomb", "W3": "ok"},
        **{"f.txt.gz": "zip_bomb", "g.html.gz": "zip_bomb", "h.txt": "ok"},
    }
    assert peak < 500_000_000


@pytest.mark.slow
def test_a_page_with_a_stream_of_a_hundred_megabytes_ends_within_its_limits(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2")
    packer = zlib.compressobj(9)
    packed = b"".join(packer.compress(b"0 0 m 9 9 l S\n" * 70_000) for _ in range(100)) + packer.flush()
    head = b"<< /Length %d /Filter /FlateDecode >>\nstream\n" % len(packed)
    plain = pdf([""])
    start = plain.index(b"<< /Length")
    end = plain.index(b"\nendstream")
    write(tmp_path / "a.pdf", plain[:start] + head + packed + plain[end:])
    write(tmp_path / "b.pdf", pdf(["good"]))
    found, peak = outcome(tmp_path)
    assert found["b.pdf"] == "ok"
    assert found["a.pdf"] in ("timeout", "memory_limit", "empty")
    assert peak < 500_000_000
