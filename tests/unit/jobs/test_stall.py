"""When nobody shows a sign of work any more."""

from __future__ import annotations

import pytest

from longdoc.errors import InterruptedJobError
from longdoc.jobs.engines.stall import Pulse, StallWatch


class Clock:
    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def test_a_job_without_a_sign_for_too_long_is_given_up_with_what_it_waited_for():
    clock = Clock()
    watch = StallWatch(1.5, clock)
    clock.seconds += 90
    watch.check("process 1 of 2")
    clock.seconds += 0.1
    with pytest.raises(InterruptedJobError) as caught:
        watch.check("process 1 of 2")
    assert str(caught.value) == (
        "no worker has shown a sign of work for 1.5 minutes while the job waited for process 1 of 2, so it was "
        "stopped. Finished parts are kept, and the same command goes on from them. Look at the workers' machines; "
        "raise `job.stall_minutes` if they were only slow."
    )
    assert caught.value.exit_status == 75


def test_one_worker_that_works_is_enough_and_the_same_reading_again_is_no_sign():
    clock = Clock()
    watch = StallWatch(1, clock)
    for second in range(4):
        clock.seconds += 50
        watch.sign("busy", f"{second}:0")
        watch.sign("idle", "7:0")
        watch.check("the end")
    clock.seconds += 50
    watch.sign("busy", "3:0")
    clock.seconds += 11
    with pytest.raises(InterruptedJobError):
        watch.check("the end")


def test_a_pulse_changes_with_each_document_and_with_the_time_of_the_processor(monkeypatch):
    monkeypatch.setattr("time.process_time", lambda: 3.9)
    pulse = Pulse()
    readings = [pulse.reading()]
    for failed in (False, True):
        pulse.document(failed)
        readings.append(pulse.reading())
    assert (pulse.documents, pulse.failed) == (2, 1)
    assert pulse.reading() == readings[-1], "no work, no change"
    monkeypatch.setattr("time.process_time", lambda: 4.0)
    readings.append(pulse.reading())
    assert len(set(readings)) == 4
