"""Inputs that lead out of their root, or are no files at all, are refused without being opened."""

from __future__ import annotations

import os
import socket
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from longdoc.errors import DataError
from longdoc.readers import find_sources, read_documents, read_source, source_digest
from longdoc.readers.base import Source
from longdoc.types import DocumentFailure
from reader_kit import failures_of, write

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links and pipes of POSIX")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path / "outside" / "secret.txt", "secret")
    write(tmp_path / "outside" / "secret.jsonl", '{"text": "secret"}\n')
    return write(tmp_path / "in" / "good.txt", "good").parent


def outcome(folder: Path) -> dict[str, str]:
    """The text or the reason for each document of a folder."""
    found = {}
    for record in read_documents([folder]):
        document = record.document
        found[document.id] = document.reason if isinstance(document, DocumentFailure) else document.text
    return found


def test_links_out_of_the_root_are_failures_and_links_inside_are_followed(root: Path) -> None:
    (root / "out.txt").symlink_to(root.parent / "outside" / "secret.txt")
    (root / "relative.jsonl").symlink_to("../outside/secret.jsonl")
    (root / "folder").symlink_to(root.parent / "outside")
    (root / "inside.txt").symlink_to("good.txt")
    (root / "chain.txt").symlink_to("out.txt")
    assert outcome(root) == {
        "chain.txt": "path_escape",
        "folder": "path_escape",
        "good.txt": "good",
        "inside.txt": "good",
        "out.txt": "path_escape",
        "relative.jsonl:1": "path_escape",
    }


def test_a_folder_link_inside_is_not_walked_twice_and_a_loop_ends(root: Path) -> None:
    write(root / "sub" / "a.txt", "a")
    (root / "again").symlink_to("sub")
    (root / "sub" / "up").symlink_to("..")
    assert outcome(root) == {"good.txt": "good", "sub/a.txt": "a"}


def test_dangling_and_circular_links_are_failures(root: Path) -> None:
    (root / "dangling.txt").symlink_to("nothing.txt")
    (root / "one.txt").symlink_to("two.txt")
    (root / "two.txt").symlink_to("one.txt")
    found = outcome(root)
    assert found.pop("good.txt") == "good"
    assert found == {"dangling.txt": "unreadable", "one.txt": "path_escape", "two.txt": "path_escape"}
    for source in find_sources([root]):
        assert len(source_digest(source)) == 64


def test_pipes_devices_and_sockets_are_failures_at_once(root: Path) -> None:
    os.mkfifo(root / "pipe.txt")
    os.mkfifo(root / "pipe.jsonl")
    with socket.socket(socket.AF_UNIX) as server:
        here = Path.cwd()
        os.chdir(root)  # the name of a socket must be short
        try:
            server.bind("socket.csv")
        finally:
            os.chdir(here)
        (root / "null.txt").symlink_to("/dev/null")
        assert outcome(root) == {
            "good.txt": "good",
            "null.txt": "path_escape",
            "pipe.jsonl:1": "path_escape",
            "pipe.txt": "path_escape",
            "socket.csv:1": "path_escape",
        }
        for source in find_sources([root]):
            assert len(source_digest(source)) == 64


@pytest.mark.parametrize("name", ["pipe.txt", "zero.txt", "out.txt", "dangling.txt"])
def test_named_explicitly_they_are_refused_before_anything_starts(root: Path, name: str) -> None:
    os.mkfifo(root / "pipe.txt")
    (root / "zero.txt").symlink_to("/dev/zero")
    (root / "out.txt").symlink_to(root.parent / "outside" / "secret.txt")
    (root / "dangling.txt").symlink_to("nothing.txt")
    path = root / name
    with pytest.raises(DataError) as refused:
        find_sources([path])
    assert str(refused.value) == (
        f"`{path}` is not a regular file (a pipe, a device or a socket). Save it to a file first."
        if name == "pipe.txt"
        else f"`{path}` is a link that leads out of its folder, or nowhere. Name the file it stands for."
    )


def test_a_device_is_no_file() -> None:
    with pytest.raises(DataError) as refused:
        find_sources(["/dev/zero"])
    assert str(refused.value) == (
        "`/dev/zero` is not a regular file (a pipe, a device or a socket). Save it to a file first."
    )


def test_a_folder_that_is_itself_a_link_is_read(root: Path) -> None:
    (root.parent / "link").symlink_to(root)
    assert outcome(root.parent / "link") == {"good.txt": "good"}


def test_a_file_exchanged_for_a_link_after_listing_is_not_followed(root: Path) -> None:
    (source,) = find_sources([root / "good.txt"])
    source.path.unlink()
    source.path.symlink_to(root.parent / "outside" / "secret.txt")
    assert [failure.reason for failure in failures_of(list(read_source(source)))] == ["path_escape"]


def test_a_source_made_by_hand_cannot_leave_its_root(root: Path) -> None:
    source = Source(root / ".." / "outside" / "secret.txt", root, "x.txt")
    assert [failure.reason for failure in failures_of(list(read_source(source)))] == ["path_escape"]


def test_parts_of_a_dataset_folder_that_are_links_are_refused(root: Path, tmp_path: Path) -> None:
    from datasets import Dataset

    Dataset.from_dict({"text": ["a", "b"]}).save_to_disk(tmp_path / "saved")
    (shard,) = (tmp_path / "saved").glob("*.arrow")
    shard.rename(tmp_path / "outside" / "shard.arrow")
    shard.symlink_to(tmp_path / "outside" / "shard.arrow")
    (source,) = find_sources([tmp_path / "saved"])
    assert [failure.reason for failure in failures_of(list(read_source(source)))] == ["path_escape"]


def test_no_reader_runs_code_that_a_file_brings(root: Path) -> None:
    """A pickle in the clothes of every format stays bytes."""
    import pickle

    class Bomb:
        def __reduce__(self) -> tuple[object, tuple[str, ...]]:
            return (Path.touch, (root / "owned",))  # type: ignore[return-value]

    for suffix in (".jsonl", ".csv", ".parquet", ".arrow", ".txt", ".jsonl.gz", ".jsonl.zst"):
        write(root / f"bomb{suffix}", pickle.dumps(Bomb()))
    for source in find_sources([root]):
        with suppress(DataError):
            list(read_source(source))
    assert not (root / "owned").exists()
