"""What the inputs of a job are, and whether one changed while the job ran."""

from __future__ import annotations

import os
from pathlib import Path

from job_kit import write_documents
from longdoc.jobs import sources
from longdoc.jobs.sources import SourceWatch, list_sources, read_records, states_of
from longdoc.readers.base import ReadConfig, Source


def test_only_touched_files_are_suspected(tmp_path):
    for name in ("a", "b", "c", "d"):
        write_documents(tmp_path / f"{name}.jsonl", [name])
    watch = SourceWatch(list_sources([tmp_path], ReadConfig(), tmp_path / "out"))
    assert list(watch.touched()) == []
    os.utime(tmp_path / "b.jsonl", (1, 1))
    (tmp_path / "c.jsonl").unlink()
    replaced = (tmp_path / "d.jsonl").stat()
    (tmp_path / "x").write_bytes((tmp_path / "d.jsonl").read_bytes())
    (tmp_path / "x").replace(tmp_path / "d.jsonl")
    os.utime(tmp_path / "d.jsonl", ns=(replaced.st_atime_ns, replaced.st_mtime_ns))
    assert list(watch.touched()) == [1, 2, 3]


def test_nothing_behind_a_link_that_leads_out_is_looked_at_or_counted(tmp_path):
    inputs, outside = tmp_path / "in", tmp_path / "outside"
    inputs.mkdir()
    outside.mkdir()
    write_documents(inputs / "a.jsonl", ["a"])
    write_documents(outside / "b.jsonl", ["b"])
    (inputs / "file.jsonl").symlink_to(outside / "b.jsonl")
    (inputs / "folder").symlink_to(outside)
    (inputs / "inside.jsonl").symlink_to("a.jsonl")
    found = list_sources([inputs], ReadConfig(), tmp_path / "out")
    watch = SourceWatch(found)
    sizes = {source.name: [state.st_size for _, state in states_of(source)] for source in found}
    assert sizes == {
        "a.jsonl": [(inputs / "a.jsonl").stat().st_size],
        "file.jsonl": [(inputs / "file.jsonl").lstat().st_size],
        "folder": [(inputs / "folder").lstat().st_size],
        "inside.jsonl": [(inputs / "a.jsonl").stat().st_size],
    }
    write_documents(outside / "b.jsonl", ["another"])
    write_documents(outside / "c.jsonl", ["c"])
    assert list(watch.touched()) == []
    os.utime(inputs / "a.jsonl", (1, 1))
    assert list(watch.touched()) == [0, 3], "what a link inside stands for is the input"


def test_a_folder_below_a_source_is_watched_file_by_file(tmp_path):
    folder = tmp_path / "in" / "saved"
    (folder / "deep").mkdir(parents=True)
    for name in ("dataset_info.json", "state.json", "deep/data.arrow"):
        (folder / name).write_text("{}")
    (folder / "out").symlink_to("/proc")
    (source,) = list_sources([tmp_path / "in"], ReadConfig(), tmp_path / "out")
    assert [Path(name).name for name, _ in states_of(source)] == ["dataset_info.json", "data.arrow", "state.json"]
    watch = SourceWatch([source])
    os.utime(folder / "deep" / "data.arrow", (1, 1))
    assert list(watch.touched()) == [0]


def test_records_begin_at_a_source_and_a_cursor_and_run_to_the_end(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_text("".join(f'{{"id": "{name}{n}", "text": "t"}}\n' for n in range(3)))
    sources = list_sources([tmp_path], ReadConfig(), tmp_path / "out")
    everything = list(read_records(sources, ReadConfig()))
    assert [(number, record.document.id) for number, record in everything] == [
        (0, "a0"),
        (0, "a1"),
        (0, "a2"),
        (1, "b0"),
        (1, "b1"),
        (1, "b2"),
    ]
    for start, (number, record) in enumerate(everything):
        rest = read_records(sources, ReadConfig(), number, record.cursor)
        assert [later.document.id for _, later in rest] == [later.document.id for _, later in everything[start:]]


def test_only_the_jobs_own_folder_is_left_out_and_links_that_loop_are_not_in_it(tmp_path, monkeypatch):
    (tmp_path / "in" / "out").mkdir(parents=True)
    (tmp_path / "in" / "out" / "own.txt").write_text("x")
    (tmp_path / "in" / "a.txt").write_text("x")
    (tmp_path / "in" / "loop.txt").symlink_to("loop.txt")
    found = list_sources([tmp_path / "in"], ReadConfig(), tmp_path / "in" / "out")
    assert [source.name for source in found] == ["a.txt", "loop.txt"]
    monkeypatch.chdir(tmp_path)
    hub = Source(Path("hf:org/notes"), Path(), "org/notes/train")
    monkeypatch.setattr(sources, "find_documents", lambda inputs, read: ([hub], []))
    assert list_sources(["hf:org/notes"], ReadConfig(), Path()) == (hub,), "a dataset of the hub is in no folder"
