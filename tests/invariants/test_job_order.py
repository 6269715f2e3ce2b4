"""Rows come out in input order, however documents are cut, batched and spread over workers (field report B038)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from job_kit import final_files
from longdoc.jobs import JobConfig, export_job, run_job
from longdoc.types import Document, DocumentFailure, DocumentPrediction, DocumentResult

WINDOWS = [1, 6, 0, 3, 11, 0, 1, 2]


class WindowPredictor:
    """Cuts documents into windows of ten characters and answers windows in batches that mix documents.

    Batches are filled from the longest document down, so windows come home in another order than they stand in the
    text; the answer of a document is its windows, put back in their places.
    """

    fingerprint = "windows"

    def __init__(self, batch: int) -> None:
        self.batch = batch

    def stream(self, documents: Iterable[Document | DocumentFailure]) -> Iterator[DocumentResult]:
        waiting = list(documents)
        places = [
            (owner, number)
            for owner, document in enumerate(waiting)
            if isinstance(document, Document)
            for number in range(-(-len(document.text) // 10))
        ]
        places.sort(key=lambda place: (-len(waiting[place[0]].text), -place[1]))
        home: dict[int, dict[int, str]] = {}
        for start in range(0, len(places), self.batch):
            for owner, number in places[start : start + self.batch]:
                home.setdefault(owner, {})[number] = waiting[owner].text[10 * number : 10 * number + 10]
        for owner, document in enumerate(waiting):
            windows = home.get(owner, {})
            if isinstance(document, DocumentFailure) or not windows:
                yield DocumentFailure(document.id, "empty", "tokenize")
                continue
            merged = ",".join(windows[number].strip() for number in sorted(windows))
            yield DocumentPrediction(document.id, label=merged, score=1.0, n_chunks=len(windows))


def load(batch: int) -> WindowPredictor:
    return WindowPredictor(batch)


def text(document: int, windows: int) -> str:
    return "".join(f"{10_000 * document + number:<10}" for number in range(windows))


def expected(windows):
    return [
        (f"d{document}", ",".join(str(10_000 * document + number) for number in range(count)) or None, count)
        for document, count in enumerate(windows)
    ]


def exported(folder, windows, size, workers, batch):
    source = folder / "in.jsonl"
    source.write_text(
        "".join(json.dumps({"id": f"d{n}", "text": text(n, count)}) + "\n" for n, count in enumerate(windows))
    )
    output = folder / f"out-{size}-{workers}-{batch}"
    job = JobConfig(documents_per_part=size, workers=workers)
    run_job([source], output, partial(load, batch), job=job)
    export_job(output, output / "all.jsonl")
    rows = [json.loads(line) for line in (output / "all.jsonl").read_text().splitlines()]
    return [(row["id"], row["label"], row["n_chunks"]) for row in rows]


@pytest.mark.parametrize("batch", [1, 4, 5, 64])
@pytest.mark.parametrize("size", [1, 3, 8, 100])
def test_windows_stand_in_text_order_and_rows_in_input_order(tmp_path, size, batch):
    assert exported(tmp_path, WINDOWS, size, 1, batch) == expected(WINDOWS)


def test_two_workers_give_the_rows_of_one(tmp_path):
    assert exported(tmp_path, WINDOWS, 2, 2, 4) == expected(WINDOWS)
    assert exported(tmp_path, WINDOWS, 2, 1, 4) == expected(WINDOWS)
    one, two = final_files(tmp_path / "out-2-1-4"), final_files(tmp_path / "out-2-2-4")
    assert one == two


@given(st.lists(st.integers(0, 5), min_size=1, max_size=10), st.integers(1, 5), st.integers(1, 7))
@settings(deadline=None, max_examples=15)
def test_any_windows_in_any_parts(tmp_path_factory, windows, size, batch):
    assert exported(tmp_path_factory.mktemp("job"), windows, size, 1, batch) == expected(windows)


def test_the_size_of_a_part_changes_files_but_no_row(tmp_path):
    sizes = [1, 2, 5, 8, 1000]
    for size in sizes:
        assert exported(tmp_path, WINDOWS, size, 1, 4) == expected(WINDOWS)
    exports = {(tmp_path / f"out-{size}-1-4/all.jsonl").read_bytes() for size in sizes}
    assert len(exports) == 1
