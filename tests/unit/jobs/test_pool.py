"""Parts for workers that die on cue: what is tried again, what comes under suspicion, and when the job gives up."""

from __future__ import annotations

from collections import deque
from types import SimpleNamespace

import pytest

from longdoc.errors import CannotWriteError, JobError
from longdoc.jobs.attempts import Attempts
from longdoc.jobs.engines.base import JobWork
from longdoc.jobs.engines.pool import side_by_side
from longdoc.jobs.job_plan import PartPlan
from longdoc.jobs.parts import PartOutcome

DIES = object()


def outcome(number: int) -> PartOutcome:
    return PartOutcome(number, "", 0, documents=2, failed=1)


class ScriptedWorker:
    """Answers the n-th part that it is asked for as its script says: with `DIES`, an error, or the outcome."""

    def __init__(self, script) -> None:
        self.script, self.news, self.part, self.ready, self.closed = deque(script), deque(), None, False, False
        self.news.append(DIES if self.script and self.script[0] is None else ("ready",))

    def ask(self, topic, number) -> None:
        reply = self.script.popleft() if self.script else "answer"
        if reply == "answer":
            self.news.extend([("document", False), ("document", True), ("part", outcome(number))])
        else:
            self.news.append(reply)

    def receive(self, timeout=0):
        if self.news and self.news[0] is DIES:
            raise EOFError
        return self.news.popleft() if self.news else None

    def cause_of_death(self) -> str:
        return "old age"

    def close(self) -> None:
        self.closed = True


class Scripted:
    advice = "Be kinder."

    def __init__(self, *scripts) -> None:
        self.scripts, self.hired = deque(scripts), []

    def hire(self) -> ScriptedWorker:
        worker = ScriptedWorker(self.scripts.popleft() if self.scripts else [])
        self.hired.append(worker)
        return worker

    def wait(self, workers) -> None:
        assert len(workers) <= 2


@pytest.fixture
def work(tmp_path):
    """Two workers; `seen` counts documents and `stop` asks the job to stop."""
    work = SimpleNamespace(seen=[], stop=[])
    attempts = Attempts.load(tmp_path, range(9))
    plan = SimpleNamespace(part_name=lambda part: f"part-{part.number}")
    job = SimpleNamespace(workers=2)
    work.job = JobWork(plan, tmp_path, job, None, attempts, lambda: bool(work.stop), work.seen.append)
    work.attempts = attempts
    return work


def parts(count):
    return [PartPlan(number, 0, 0, 2, 0, "") for number in range(count)]


def run(work, staff, count):
    suspects: list[PartPlan] = []
    done = sorted(each.number for each in side_by_side(work.job, parts(count), suspects, staff))
    return done, [part.number for part in suspects]


def test_every_part_is_done_once_by_no_more_workers_than_asked_for(work):
    staff = Scripted()
    assert run(work, staff, 7) == ([0, 1, 2, 3, 4, 5, 6], [])
    assert len(staff.hired) == 2
    assert sorted(work.seen) == [False] * 7 + [True] * 7
    assert all(worker.closed for worker in staff.hired)
    assert not any(work.attempts.suspect(number) for number in range(7))


def test_a_part_whose_worker_died_is_tried_again_by_another(work, caplog):
    staff = Scripted([DIES])
    assert run(work, staff, 3) == ([0, 1, 2], [])
    assert len(staff.hired) == 3
    assert "a worker died of old age in part-0: it is tried again" in caplog.text


def test_a_part_that_killed_two_workers_is_left_to_those_who_look_closer(work, caplog):
    assert run(work, Scripted([DIES], [DIES]), 1) == ([], [0])
    assert "a worker died of old age in part-0 for the second time: it is run document by document" in caplog.text


def test_workers_that_die_before_they_are_ready_end_the_job_with_advice(work):
    with pytest.raises(JobError) as caught:
        run(work, Scripted(*[[None]] * 9), 2)
    assert str(caught.value) == (
        "5 workers in a row died while they loaded the model (the last of old age). Be kinder."
    )


def test_an_error_of_a_worker_is_the_jobs_and_the_parts_of_the_others_are_no_deaths(work):
    staff = Scripted([("error", "CannotWriteError", "the disk is full.")], [])
    with pytest.raises(CannotWriteError, match=r"^the disk is full\.$"):
        run(work, staff, 2)
    assert all(worker.closed for worker in staff.hired)
    for number in range(2):
        work.attempts.start(number)
        assert not work.attempts.suspect(number)


def test_a_job_that_is_asked_to_stop_ends_what_is_at_work_and_begins_nothing(work):
    staff = Scripted()
    stopped = []
    for each in side_by_side(work.job, parts(9), [], staff):
        stopped.append(each.number)
        work.stop.append(True)
    assert sorted(stopped) == [0, 1]
