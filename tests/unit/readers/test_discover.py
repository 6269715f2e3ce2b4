"""Which sources an input stands for, in which order and under which names."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from longdoc.errors import DataError
from longdoc.readers import find_sources, read_documents, read_source
from longdoc.types import DocumentFailure
from reader_kit import write


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "in"
    for name in ("b.txt", "a/2.txt", "a/10.md", "a.jsonl", "c/d/e.txt", ".hidden.txt", ".git/x.txt", "a/.x/y.txt"):
        write(root / name, '{"text": "x"}')
    return root


def names(*inputs: str | Path) -> list[str]:
    return [source.name for source in find_sources(list(inputs))]


def test_a_folder_is_read_whole_in_the_order_of_names_without_hidden_ones(tree: Path) -> None:
    assert names(tree) == ["a.jsonl", "a/10.md", "a/2.txt", "b.txt", "c/d/e.txt"]
    assert [record.document.id for record in read_documents([tree])] == [
        *("a.jsonl:1", "a/10.md", "a/2.txt", "b.txt", "c/d/e.txt")
    ]


def test_a_file_is_called_by_its_own_name(tree: Path) -> None:
    assert names(tree / "a" / "2.txt") == ["2.txt"]
    assert names(str(tree / "a" / "2.txt")) == ["2.txt"]


def test_inputs_keep_the_order_in_which_they_are_named(tree: Path) -> None:
    assert names(tree / "b.txt", tree / "a.jsonl", tree / "c") == ["b.txt", "a.jsonl", "d/e.txt"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.txt", ["b.txt"]),
        ("*/*.txt", ["a/2.txt"]),
        ("**/*.txt", ["a/2.txt", "b.txt", "c/d/e.txt"]),
        ("a/*", ["10.md", "2.txt"]),
        ("?", ["a/10.md", "a/2.txt", "c/d/e.txt"]),
        ("[bc]*", ["b.txt", "c/d/e.txt"]),
    ],
)
def test_patterns_name_relative_to_the_last_folder_before_the_wildcard(
    tree: Path, monkeypatch: pytest.MonkeyPatch, pattern: str, expected: list[str]
) -> None:
    assert names(f"{tree}/{pattern}") == expected
    monkeypatch.chdir(tree)
    assert names(pattern) == expected
    for source in find_sources([pattern]):
        assert not isinstance(next(read_source(source)).document, DocumentFailure)


def test_a_name_with_wildcard_signs_that_exists_is_a_path(tree: Path) -> None:
    write(tree / "[a].txt", "x")
    assert names(tree / "[a].txt") == ["[a].txt"]


def test_one_name_in_two_inputs_makes_all_names_longer(tree: Path) -> None:
    write(tree / "c" / "2.txt", "x")
    assert names(tree / "a", tree / "c") == ["a/10.md", "a/2.txt", "c/2.txt", "c/d/e.txt"]
    assert names(tree / "a" / "2.txt", tree / "c" / "2.txt", tree / "b.txt") == ["a/2.txt", "c/2.txt", "b.txt"]


def test_one_file_named_twice_keeps_one_name_for_the_plan_to_refuse(tree: Path) -> None:
    assert names(tree / "b.txt", tree / "b.txt") == ["b.txt", "b.txt"]


def test_files_of_unknown_types_inside_a_folder_are_failures(tree: Path) -> None:
    write(tree / "a" / "scan.xyz", "x")
    records = [record for record in read_documents([tree]) if isinstance(record.document, DocumentFailure)]
    assert [(record.document.id, record.document.reason, record.document.detail) for record in records] == [
        ("a/scan.xyz", "unsupported_type", "There is no reader for files of this type.")
    ]
    (source,) = find_sources([f"{tree}/a/*.xyz"])
    assert [str(record.place) for record in read_source(source)] == ["scan.xyz"]
    assert list(read_source(source, cursor=1)) == []


def test_an_unknown_type_named_explicitly_is_refused(tree: Path) -> None:
    path = write(tree / "scan.xyz", "x")
    with pytest.raises(DataError) as refused:
        find_sources([path])
    assert str(refused.value).startswith(
        f"`{path}` is of a type that cannot be read. Convert it to one of these: .arrow,"
    )


def test_file_names_that_are_no_unicode_become_ids_that_can_be_written(tree: Path) -> None:
    (tree / "c" / "caf\udce9.txt").write_bytes(b"x") if os.name == "posix" else pytest.skip("names are Unicode here")
    (first, _) = read_documents([tree / "c"])
    assert first.document.id == "caf\\udce9.txt"
    assert not isinstance(first.document, DocumentFailure)


def test_two_file_names_never_become_one_id(tmp_path: Path) -> None:
    if os.name != "posix":
        pytest.skip("names are Unicode here")
    ids = {
        "bad\udcff.txt": r"bad\udcff.txt",
        r"bad\udcff.txt": r"bad\\udcff.txt",
        r"bad\\udcff.txt": r"bad\\\\udcff.txt",
        "a\\bad\udcff.txt": r"a\\bad\udcff.txt",
        r"plain\name.txt": r"plain\name.txt",
        r"\udxyz.txt": r"\udxyz.txt",
    }
    for folder in ("one", "two"):
        for name in ids:
            write(tmp_path / folder / name, "x")
    assert sorted(names(tmp_path / "one")) == sorted(ids.values())
    both = names(tmp_path / "one", tmp_path / "two")
    assert sorted(both) == sorted(f"{folder}/{name}" for folder in ("one", "two") for name in ids.values())


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no/such/file.txt", "`{}` does not exist. Check the path; it is taken relative to the current folder."),
        (
            "*.nothing",
            "`{}` cannot be read. Nothing to read was found there: hidden files and empty folders do not count.",
        ),
        ("empty", "`{}` cannot be read. Nothing to read was found there: hidden files and empty folders do not count."),
    ],
)
def test_inputs_that_stand_for_nothing_are_refused(tree: Path, name: str, message: str) -> None:
    (tree / "empty" / ".hidden").mkdir(parents=True)
    with pytest.raises(DataError) as refused:
        find_sources([tree / "b.txt", f"{tree}/{name}"])
    assert str(refused.value) == message.format(f"{tree}/{name}")


def test_no_input_is_refused() -> None:
    with pytest.raises(DataError) as refused:
        find_sources([])
    assert str(refused.value) == "No input is named. Give at least one file, folder, pattern or dataset."


def test_links_to_folders_never_make_two_documents_of_one(tree: Path) -> None:
    (tree / "self").symlink_to(".")
    (tree / "up").symlink_to("..")
    (tree / "c" / "top").symlink_to("..")
    (tree / "link").symlink_to("c/d")
    everything = ["a.jsonl", "a/10.md", "a/2.txt", "b.txt", "c/d/e.txt"]
    assert names(tree) == [*everything, "up"]  # which leads out and is refused
    assert names(f"{tree}/**") == [*everything, "up"]
    assert names(f"{tree}/**/*.txt") == ["a/2.txt", "b.txt", "c/d/e.txt"]
    assert names(f"{tree}/*/**/*.txt") == ["a/2.txt", "c/d/e.txt", "self/b.txt"]
    assert names(f"{tree}/*/*/e.txt") == ["c/d/e.txt"]
    assert names(f"{tree}/l*/*.txt") == ["link/e.txt"]  # a link that the pattern itself names is followed
    assert names(f"{tree}/self/*/2.txt") == ["a/2.txt"]
