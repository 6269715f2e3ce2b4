"""Notes between the processes of a launch, here two views of one store."""

from __future__ import annotations

import importlib
import itertools
from datetime import timedelta

import pytest
from torch.distributed import HashStore

from longdoc import launched
from longdoc.errors import InterruptedJobError
from longdoc.jobs.engines import launch as launches
from longdoc.jobs.engines.launch import Launch


@pytest.fixture
def pair(monkeypatch):
    """Rank 0 and rank 1 of one launch of two."""
    store = HashStore()

    def of_rank(rank):
        meeting = importlib.import_module("torch.distributed.rendezvous")  # torch.distributed has a function so called
        monkeypatch.setattr(meeting, "rendezvous", lambda url: iter([(store, rank, 2)]))
        monkeypatch.setattr(launches, "_launches", itertools.count())  # as in a process of its own
        return Launch()

    return of_rank(0), of_rank(1)


def test_what_one_tells_the_other_hears(pair):
    leader, other = pair
    assert (leader.rank, other.rank, leader.size, other.size) == (0, 1, 2, 2)
    assert other.heard("orders") is None
    leader.tell("orders", {"parts": [1, 2]})
    assert other.heard("orders") == other.wait_for("orders", lambda: False) == {"parts": [1, 2]}


def test_each_number_is_drawn_once(pair):
    leader, other = pair
    assert [leader.draw(), other.draw(), other.draw(), leader.draw()] == [0, 1, 2, 3]


def test_a_second_launch_in_the_same_processes_hears_nothing_of_the_first(pair, monkeypatch):
    leader, _ = pair
    leader.tell("end", True)
    leader.draw()
    second = Launch()
    assert (second.heard("end"), second.draw()) == (None, 0)


def test_waiting_ends_with_another_note_or_a_signal(pair):
    leader, other = pair
    with pytest.raises(
        InterruptedJobError, match=r"^interrupted while it waited for the process that leads the job\.$"
    ):
        other.wait_for("orders", lambda: True)
    leader.tell("end", {})
    assert other.wait_for("orders", lambda: True, "end") is None


def test_a_launcher_that_is_gone_is_not_waited_for(monkeypatch, lost_launcher):
    monkeypatch.setattr(launched, "LAUNCHER_ANSWERS", timedelta(seconds=0.5))
    with pytest.raises(InterruptedJobError) as caught:
        Launch()
    assert str(caught.value) == (
        "the launch of this process has ended (DistNetworkError), so it stops too. Finished parts are kept: run the "
        "same command again."
    )
    assert caught.value.__cause__ is None


def test_a_lost_launch_is_an_interruption_without_the_librarys_words(pair, monkeypatch):
    leader, _ = pair

    class Lost:
        def add(self, *_):
            raise RuntimeError("connection to 10.0.0.7 reset by peer")

    monkeypatch.setattr(leader, "_store", Lost())
    with pytest.raises(InterruptedJobError) as caught:
        leader.draw()
    assert str(caught.value) == (
        "the launch of this process has ended (RuntimeError), so it stops too. Finished parts are kept: run the same "
        "command again."
    )
    assert caught.value.__cause__ is None
