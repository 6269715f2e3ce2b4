"""Announcements of processes that may die, and what the next leader makes of them."""

from __future__ import annotations

import pytest

from longdoc.jobs.attempts import Attempts
from longdoc.jobs.engines.at_work import announced, count_deaths


@pytest.fixture
def output(tmp_path):
    (tmp_path / ".work").mkdir()
    return tmp_path


def test_work_is_announced_while_it_lasts_and_an_error_in_it_is_no_death(output):
    with announced(output, 3, 41):
        assert (output / ".work/at-work-3").read_text() == "41"
    with pytest.raises(ZeroDivisionError), announced(output, 3, 41):
        raise ZeroDivisionError
    assert list((output / ".work").iterdir()) == []


def test_what_dead_processes_left_behind_counts_as_their_parts_deaths(output):
    for process, part in (("1", "7"), ("2", "7"), ("3", "8")):
        (output / ".work" / f"at-work-{process}").write_text(part)
    (output / ".work/at-work-4").write_bytes(b"\xff torn")
    attempts = Attempts.load(output / ".work", [7, 8])
    count_deaths(output, attempts)
    assert [attempts.suspect(part) for part in (7, 8)] == [True, False]
    assert [path.name for path in (output / ".work").iterdir()] == ["attempts.json"], "each death is counted once"
