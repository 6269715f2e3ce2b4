"""Opening and decompressing."""

from __future__ import annotations

import gzip
import hashlib
import tracemalloc
from pathlib import Path

import pytest
import zstandard

from longdoc.errors import DocumentError
from longdoc.readers.base import Source
from longdoc.readers.opening import TruncatedStreamError, file_digest, open_file, open_source
from reader_kit import write

CONTENT = b"".join(b"line %d\n" % number for number in range(20_000))


def source_of(path: Path) -> Source:
    return Source(path, path.parent, path.name)


def content_of(path: Path) -> bytes:
    with open_source(source_of(path)) as stream:
        return stream.read()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("in", CONTENT),
        ("in.gz", gzip.compress(CONTENT)),
        ("in.GZ", gzip.compress(CONTENT)),
        ("in.gz", gzip.compress(CONTENT[:999]) + gzip.compress(CONTENT[999:]) + b"\0" * 512),
        ("in.zst", zstandard.compress(CONTENT)),
        ("in.zst", zstandard.compress(CONTENT[:999]) + zstandard.compress(b"") + zstandard.compress(CONTENT[999:])),
        ("in.zst", b"\x50\x2a\x4d\x18\x03\0\0\0abc" + zstandard.compress(CONTENT)),
    ],
    ids=["plain", "gzip", "upper case", "gzip members and padding", "zstandard", "frames", "skippable frame"],
)
def test_content_comes_out_whole(tmp_path: Path, name: str, data: bytes) -> None:
    assert content_of(write(tmp_path / name, data)) == CONTENT


@pytest.mark.parametrize(("suffix", "compress"), [("gz", gzip.compress), ("zst", zstandard.compress)])
def test_a_cut_is_noticed_and_what_comes_before_it_is_handed_out(tmp_path: Path, suffix: str, compress: object) -> None:
    data = compress(CONTENT)  # type: ignore[operator]
    path = write(tmp_path / f"in.{suffix}", data[: len(data) // 2])
    found: list[bytes] = []
    with open_source(source_of(path)) as stream, pytest.raises(EOFError):
        found.extend(iter(lambda: stream.read1(1 << 16), b""))
    if suffix == "gz":
        assert len(b"".join(found)) > len(CONTENT) // 4
    assert CONTENT.startswith(b"".join(found))


def test_a_cut_between_frames_cannot_be_seen_but_one_in_the_last_is(tmp_path: Path) -> None:
    frame = zstandard.compress(CONTENT)
    with pytest.raises(TruncatedStreamError):
        content_of(write(tmp_path / "in.zst", frame + frame[:-1]))


@pytest.mark.parametrize("suffix", ["gz", "zst"])
def test_what_is_no_compressed_file_raises(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(Exception, match=r"gzip|zstd|decompress"):
        content_of(write(tmp_path / f"in.{suffix}", b"plain text, not compressed at all"))


@pytest.mark.parametrize(("suffix", "compress"), [("gz", gzip.compress), ("zst", zstandard.compress)])
def test_a_bomb_is_inflated_piece_by_piece(tmp_path: Path, suffix: str, compress: object) -> None:
    bomb = compress(b"\0" * (96 << 20))  # type: ignore[operator]
    path = write(tmp_path / f"in.{suffix}", bomb)
    assert len(bomb) < 1 << 20
    tracemalloc.start()
    try:
        with open_source(source_of(path)) as stream:
            assert len(stream.read(1 << 20)) == 1 << 20
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 40 << 20


def test_digest_is_of_the_bytes_as_stored(tmp_path: Path) -> None:
    data = gzip.compress(CONTENT)
    path = write(tmp_path / "in.gz", data)
    assert file_digest(path, tmp_path) == hashlib.sha256(data).hexdigest()


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"^The path is not a regular file\.$"), open_file(tmp_path, tmp_path):
        pass
