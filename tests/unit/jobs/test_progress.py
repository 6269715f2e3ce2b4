"""Counts for people: right in the end, and never past the whole."""

from __future__ import annotations

from longdoc.jobs.parts import PartOutcome
from longdoc.jobs.progress import DocumentCounter


def outcome(number, documents, failed):
    return PartOutcome(number, "", 0, documents, failed)


def test_a_part_that_was_tried_twice_is_counted_once_when_it_is_committed():
    seen = []
    counter = DocumentCounter(lambda *counts: seen.append(counts))
    counter.start(10, [outcome(0, 4, 1)])
    for failed in (False, True, False):  # the worker dies here
        counter.document(failed)
    for failed in (False, True, False):
        counter.document(failed)
    counter.part(outcome(1, 3, 1))
    counter.part(outcome(2, 3, 0))
    assert seen[0] == (4, 10, 1)
    assert seen[-1] == (10, 10, 2)
    assert all(failed <= done <= total == 10 for done, total, failed in seen)


def test_nobody_has_to_listen():
    counter = DocumentCounter(None)
    counter.start(1, [])
    counter.document(False)
    counter.part(outcome(0, 1, 0))
