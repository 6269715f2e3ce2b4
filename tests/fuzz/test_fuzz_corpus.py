"""What fuzzing has found worth keeping is read again, with a few mutations of each; atheris is not needed for it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from fuzz_targets import TARGETS

CORPUS = Path(__file__).resolve().parent / "corpus"
MUTATIONS = 3


@pytest.mark.parametrize("target", sorted(TARGETS))
def test_the_kept_corpus_and_its_neighbours_end_in_an_answer_or_an_error_of_ours(target: str) -> None:
    chance = random.Random(0)
    kept = sorted((CORPUS / target).iterdir())
    assert kept
    for path in kept:
        data = path.read_bytes()
        TARGETS[target](data)
        for _ in range(MUTATIONS):
            TARGETS[target](mutated(data, chance))


def mutated(data: bytes, chance: random.Random) -> bytes:
    """A few bytes changed, doubled or taken away."""
    changed = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        if not changed:
            break
        place = chance.randrange(len(changed))
        how = chance.randrange(3)
        if how == 0:
            changed[place] = chance.randrange(256)
        elif how == 1:
            changed[place:place] = changed[place : place + chance.randint(1, 9)]
        else:
            del changed[place : place + chance.randint(1, 9)]
    return bytes(changed)


def test_every_folder_of_the_corpus_has_a_target() -> None:
    assert sorted(path.name for path in CORPUS.iterdir()) == sorted(TARGETS)
    assert sum(path.stat().st_size for path in CORPUS.rglob("*") if path.is_file()) < 300_000
