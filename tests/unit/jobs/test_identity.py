"""Digests of ids and the search for repeated ones."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from longdoc.jobs import identity
from longdoc.jobs.identity import IdDigest, IdLedger, first_repetition

IDS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=3), max_size=12)


def digest(ids):
    running = IdDigest()
    for each in ids:
        running.add(each)
    return running.hexdigest()


@given(IDS, IDS)
@settings(deadline=None)
def test_two_lists_have_one_digest_only_if_they_are_equal(first, second):
    assert (digest(first) == digest(second)) == (first == second)


def test_where_one_id_ends_and_the_next_begins_is_part_of_the_digest():
    assert digest(["ab", "c"]) != digest(["a", "bc"])
    assert digest(["a\0", "b"]) != digest(["a", "\0b"])


@given(IDS)
@settings(deadline=None)
def test_a_repeated_id_is_found_with_its_first_two_places(ids):
    ledger = IdLedger()
    for each in ids:
        ledger.add(each)
    assert len(ledger) == len(ids)
    found = first_repetition(ledger.suspects(), lambda: [(each, place) for place, each in enumerate(ids)])
    if max(Counter(ids).values(), default=0) < 2:
        assert found is None
    else:
        first, second = found
        assert ids[first] == ids[second]
        assert first == ids.index(ids[first])
        assert ids[first + 1 : second].count(ids[first]) == 0


def test_ids_that_only_share_a_hash_are_not_taken_for_one(monkeypatch):
    monkeypatch.setattr(identity, "_hash", lambda each: len(each))
    ledger = IdLedger()
    for each in ("aa", "bb", "c"):
        ledger.add(each)
    assert ledger.suspects() == [2]
    assert first_repetition([2], lambda: [("aa", 0), ("bb", 1), ("c", 2)]) is None
    assert first_repetition([2], lambda: [("aa", 0), ("bb", 1), ("bb", 2)]) == (1, 2)


def test_more_suspects_than_are_held_at_once_are_searched_in_several_passes():
    ids = [f"{number}" for number in range(3000)]
    passes = []

    def read_again():
        passes.append(None)
        return [(each, place) for place, each in enumerate(ids)]

    everything = IdLedger()
    for each in ids * 2:
        everything.add(each)
    assert first_repetition(everything.suspects(), read_again) is None
    assert len(passes) == 3


def test_a_ledger_takes_eight_bytes_a_document():
    ledger = IdLedger()
    for number in range(1000):
        ledger.add(str(number))
    assert ledger._hashes.itemsize * len(ledger) == 8000
