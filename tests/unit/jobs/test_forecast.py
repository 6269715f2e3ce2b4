"""What a job would do, said without doing it."""

from __future__ import annotations

import gzip
import json
import shutil
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from job_kit import EchoPredictor, load_echo, write_corpus
from longdoc.jobs import JobConfig, run_job
from longdoc.jobs.forecast import Forecast, forecast_job
from longdoc.jobs.sample import TextSample
from longdoc.types import Document

TEN_PARTS = JobConfig(documents_per_part=4, max_failures=100)


def ticking(seconds: float) -> Callable[[], float]:
    """A clock that goes on by so many seconds whenever somebody looks."""
    now = [0.0]

    def look() -> float:
        now[0] += seconds
        return now[0]

    return look


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def forecast(source: Path, output: Path, job: JobConfig = TEN_PARTS, seconds: float = 0.25) -> Forecast:
    return forecast_job([source], output, EchoPredictor(), lambda tokens: 1 + tokens // 10, job=job,
                        clock=ticking(seconds))  # fmt: skip


def test_counts_are_those_of_the_job_and_nothing_is_written(tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    write_corpus(source, 40)
    before = tree(tmp_path)
    told = forecast(source, tmp_path / "out")
    assert tree(tmp_path) == before
    report = run_job([source], tmp_path / "out", load_echo, job=TEN_PARTS)
    assert (told.inputs, told.input_bytes, told.documents, told.parts, told.parts_done) == (
        1, source.stat().st_size, report.documents, 10, 0)  # fmt: skip
    assert told.unreadable == {"unreadable": 3}
    texts = [row["text"] for line in source.read_text().splitlines() if (row := parsed(line))]
    assert told.characters == sum(map(len, texts))
    assert told.longest == max(map(len, texts))
    assert (told.state, told.exit_status, told.refusals, told.remarks) == ("new", 0, (), ())
    assert told.memory_bytes > 10_000_000


def test_a_link_to_a_folder_outside_is_one_row_and_its_folder_counts_nothing(tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.mkdir()
    (source / "a.txt").write_text("one text")
    (source / "link").symlink_to("/proc")  # of no size, with files that nobody can read
    told = forecast(source, tmp_path / "out")
    assert told.input_bytes == len("one text") + (source / "link").lstat().st_size
    assert (told.inputs, told.documents, told.unreadable) == (2, 2, {"path_escape": 1})
    report = run_job([source], tmp_path / "out", load_echo)
    assert (report.documents, report.reasons, report.exit_status) == (2, {"path_escape": 1}, 3)


def parsed(line: str) -> dict[str, str] | None:
    return json.loads(line) if line.endswith("}") else None


def test_tokens_chunks_and_time_come_from_a_sample(tmp_path: Path) -> None:
    """Every text is `word word ...` of one word length, so a sample tells the rest exactly but for rounding."""
    source = tmp_path / "in.jsonl"
    source.write_text("".join(json.dumps({"id": str(n), "text": "word " * 30}) + "\n" for n in range(200)))
    told = forecast(source, tmp_path / "out", JobConfig(documents_per_part=10, workers=4))
    assert (told.sampled, told.tokens, told.chunks) == (32, 200 * 30, 200 * 4)
    # Predicting ends after the 21st document, when more than 5 s are over: 4 chunks each in 21 * 0.25 s.
    assert told.seconds == pytest.approx(800 / (4 / 0.25) / 4)
    assert told.workers == 4
    assert told.output_bytes > 0


def test_what_is_done_is_not_counted_again(tmp_path: Path) -> None:
    source, output = tmp_path / "in.jsonl", tmp_path / "out"
    write_corpus(source, 40)
    run_job([source], output, load_echo, job=TEN_PARTS)
    assert forecast(source, output).state == "complete"
    assert forecast(source, output).seconds == 0
    (output / "_manifest.json").unlink()
    for number in range(5):
        (output / f"part-0000{number}.parquet").unlink()
    before = tree(tmp_path)
    half, whole = forecast(source, output), forecast(source, tmp_path / "elsewhere")
    assert tree(tmp_path) == before
    assert (half.state, half.parts_done) == ("unfinished, 5 of 10 parts are there", 5)
    assert half.seconds is not None
    assert whole.seconds is not None
    assert half.seconds == pytest.approx(whole.seconds / 2)


def test_a_job_that_would_be_refused_says_why_with_status_2(tmp_path: Path) -> None:
    source, output = tmp_path / "in.jsonl", tmp_path / "out"
    write_corpus(source, 8)
    run_job([source], output, load_echo, job=TEN_PARTS)
    told = forecast(source, output, JobConfig(documents_per_part=5))
    assert (told.exit_status, told.state) == (2, "of another job")
    assert told.refusals == (
        f"{output} belongs to another job: `job.documents_per_part` was 4 when it was planned, but is 5 now. Go back "
        "to what it was, or name another output folder.",
    )
    shutil.copy(source, tmp_path / "copy.jsonl")
    twice = forecast_job([source, tmp_path / "copy.jsonl"], tmp_path / "new", EchoPredictor(), int, job=TEN_PARTS)
    assert (twice.exit_status, twice.documents) == (2, 16)
    assert "the documents at in.jsonl:1 and copy.jsonl:1 have the same id" in twice.refusals[0]
    (tmp_path / "strange").mkdir()
    (tmp_path / "strange/notes.txt").touch()
    assert "holds 1 other files" in forecast(source, tmp_path / "strange").refusals[0]
    (output / "_plan.json").write_text("{}")
    assert forecast(source, output).state == "damaged"


def test_more_failures_than_allowed_are_foreseen(tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    write_corpus(source, 40)
    assert forecast(source, tmp_path / "out", JobConfig(max_failures=2)).exit_status == 3
    assert forecast(source, tmp_path / "out", JobConfig(max_failures=3)).exit_status == 0
    cut = tmp_path / "cut.jsonl.gz"
    cut.write_bytes(gzip.compress(source.read_bytes())[:-20])
    told = forecast(cut, tmp_path / "out", JobConfig(max_failures=1000))
    assert told.exit_status == 3
    assert told.remarks[0].startswith("The job cannot become complete: cut.jsonl.gz could not be read to the end")


def test_a_disk_that_is_too_small_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "in.jsonl"
    write_corpus(source, 40)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: namedtuple("Usage", "total used free")(9, 2, 7))
    (remark,) = forecast(source, tmp_path / "out").remarks
    assert remark.endswith(f"bytes, but only 7 are free in {tmp_path}. Make room.")


def test_where_nothing_can_be_answered_no_time_is_promised(tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text('{"id": "a", "text": " "}\n{"id": "b", "text": "makes the predictor raise"}\n')
    told = forecast(source, tmp_path / "out")
    assert (told.seconds, told.tokens, told.sample_failures) == (None, 0, {"empty": 1, "unreadable": 1})
    source.write_text("{\n")
    assert forecast(source, tmp_path / "out", JobConfig()).seconds is None


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 200), st.integers(1, 60_000))
def test_a_sample_is_bounded_and_made_of_beginnings(count: int, length: int) -> None:
    sample = TextSample()
    for number in range(count):
        sample.offer(Document(id=str(number), text=f"{number} " + "x" * length, label="a"))
    kept = sample.documents()
    assert len(kept) == len(sample) == min(count, 32)
    assert len({document.id for document in kept}) == len(kept)
    assert all(len(document.text) <= 50_000 and document.text.startswith(f"{document.id} ") for document in kept)


def test_every_document_has_the_same_chance_to_be_in_the_sample() -> None:
    """1000 documents, 32 places: the mean number is near the middle (the standard error is 51)."""
    sample = TextSample()
    for number in range(1000):
        sample.offer(Document(id=str(number), text="x" if number else "中" * 2000))
    numbers = [int(document.id) for document in sample.documents()]
    assert 350 < sum(numbers) / len(numbers) < 650
    assert sample.bytes_a_character == 2
