"""Counts that are on disk before the work they count."""

from __future__ import annotations

import json

import pytest

from longdoc.jobs.attempts import JOB_DEATHS_TO_GIVE_UP, Attempts


def load(work, *unfinished):
    return Attempts.load(work, unfinished)


def test_a_part_is_suspect_after_two_starts_without_an_end_whoever_counts(tmp_path):
    load(tmp_path, 3).start(3)
    assert not load(tmp_path, 3).suspect(3)
    load(tmp_path, 3).start(3)
    assert load(tmp_path, 3).suspect(3)
    assert not load(tmp_path, 3).suspect(4)


def test_a_part_that_ended_is_forgotten(tmp_path):
    attempts = load(tmp_path, 3, 4)
    attempts.start(3)
    attempts.finish(3)
    attempts.start(4)
    assert json.loads((tmp_path / "attempts.json").read_text()) == {"parts": {"4": 1}, "documents": {}}
    attempts.start(3)
    assert not load(tmp_path).suspect(3), "counts of parts that are done do not matter any more"


def test_an_attempt_that_ended_in_an_error_is_no_death(tmp_path):
    attempts = load(tmp_path, 3)
    for _ in range(5):
        attempts.start(3)
        attempts.cancel(3)
    assert not load(tmp_path, 3).suspect(3)


def test_a_document_is_given_up_after_max_attempts_deaths_that_were_seen(tmp_path):
    for death in range(3):
        attempts = load(tmp_path, 3)
        assert attempts.given_up(3, 17, max_attempts=3) is None
        attempts.start_document(3, 17)
        attempts.died(3, 17, "SIGSEGV" if death else "SIGKILL")
    given_up = load(tmp_path, 3).given_up(3, 17, max_attempts=3)
    assert (given_up.died, given_up.cause) == (3, "SIGSEGV")
    assert load(tmp_path, 3).given_up(3, 16, max_attempts=3) is None


def test_deaths_of_the_whole_job_take_many_more(tmp_path):
    for _ in range(JOB_DEATHS_TO_GIVE_UP):
        attempts = load(tmp_path, 3)
        assert attempts.given_up(3, 17, max_attempts=1) is None
        attempts.start_document(3, 17)
    assert load(tmp_path, 3).given_up(3, 17, max_attempts=1).cause == ""


def test_a_document_that_survives_once_starts_from_nothing(tmp_path):
    attempts = load(tmp_path, 3)
    attempts.start_document(3, 17)
    attempts.survived(3, 17)
    attempts.start_document(3, 18)
    assert list(json.loads((tmp_path / "attempts.json").read_text())["documents"]["3"]) == ["18"]
    attempts.survived(3, 18)
    attempts.settle()
    assert json.loads((tmp_path / "attempts.json").read_text())["documents"] == {"3": {}}


@pytest.mark.parametrize("content", ["", "{", "[]", '{"parts": {"x": 1}, "documents": {}}', '{"parts": {}}'])
def test_a_file_that_cannot_be_read_counts_as_none(tmp_path, content):
    (tmp_path / "attempts.json").write_text(content)
    attempts = load(tmp_path, 3)
    assert not attempts.suspect(3)
    attempts.start(3)
    assert json.loads((tmp_path / "attempts.json").read_text())["parts"] == {"3": 1}
