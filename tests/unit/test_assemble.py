import random

import pytest
import torch

from longdoc.assemble import Assembler
from longdoc.errors import UsageError
from longdoc.types import DocumentFailure


def value(key: int, ordinal: int) -> float:
    """Rows name themselves, so that a misplaced one shows in the message."""
    return 1000.0 * key + ordinal


def bring_home(assembler: Assembler, pairs: list[tuple[int, int]]) -> list:
    finished = []
    for key, ordinal in pairs:
        assembler.add(key, ordinal, torch.full((2,), value(key, ordinal)), weight=float(ordinal + 1))
        finished.extend(assembler.finished())
    return finished


@pytest.mark.parametrize("seed", range(20))
def test_documents_come_back_in_input_order_whatever_order_their_rows_come_in(seed: int) -> None:
    chunks = {0: 1, 1: 6, 2: 3, 3: 11}
    pairs = [(key, ordinal) for key, total in chunks.items() for ordinal in range(total)]
    random.Random(seed).shuffle(pairs)
    assembler = Assembler()
    for key, total in chunks.items():
        assembler.expect(key, total)
    finished = bring_home(assembler, pairs)
    assert [document.key for document in finished] == [0, 1, 2, 3]
    for document in finished:
        assert document.rows[:, 0].tolist() == [value(document.key, o) for o in range(chunks[document.key])]
        assert document.weights.tolist() == [o + 1.0 for o in range(chunks[document.key])]
    assert len(assembler) == 0


def test_a_failure_stands_in_its_place_and_late_rows_of_it_are_ignored() -> None:
    assembler = Assembler()
    assembler.expect(0, 2)
    assembler.expect(1, 1)
    failure = DocumentFailure("a", "empty")
    assembler.add(0, 0, torch.zeros(2), 1.0)
    assembler.fail(0, failure)
    assembler.fail(2, DocumentFailure("c", "unreadable"))
    assert [document.failure for document in assembler.finished()] == [failure]
    assembler.add(0, 1, torch.zeros(2), 1.0)  # the chunk was on its way when the document failed
    assembler.add(1, 0, torch.ones(2), 1.0)
    last = list(assembler.finished())
    assert [document.key for document in last] == [1, 2]
    assert last[0].failure is None
    assert last[1].failure == DocumentFailure("c", "unreadable")


def test_the_first_unfinished_document_holds_back_the_rest() -> None:
    assembler = Assembler()
    assembler.expect(0, 2)
    assembler.expect(1, 1)
    assert bring_home(assembler, [(1, 0), (0, 1)]) == []
    assert [document.key for document in bring_home(assembler, [(0, 0)])] == [0, 1]


@pytest.mark.parametrize("chunks", [0, -1])
def test_a_document_needs_a_chunk(chunks: int) -> None:
    with pytest.raises(
        UsageError,
        match=rf"^document 5 must be announced once and with at least 1 chunk, but has {chunks}\.$",
    ):
        Assembler().expect(5, chunks)


@pytest.mark.parametrize("seed", range(5))
def test_long_documents_are_condensed_block_by_block_whatever_order_their_rows_come_in(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longdoc.assemble.BLOCK", 4)
    seen: list[int] = []

    def condense(rows: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        seen.append(len(rows))
        return torch.cat([rows[:, 0], weights])[[0, len(rows) - 1, -1]]  # first row, last row, last weight

    chunks = {0: 10, 1: 4, 2: 5}
    pairs = [(key, ordinal) for key, total in chunks.items() for ordinal in range(total)]
    random.Random(seed).shuffle(pairs)
    assembler = Assembler(condense)
    for key, total in chunks.items():
        assembler.expect(key, total)
    first, short, last = bring_home(assembler, pairs)
    assert first.rows.tolist() == [[0, 3, 4], [4, 7, 8], [8, 9, 10]]
    assert first.weights.tolist() == [1 + 2 + 3 + 4, 5 + 6 + 7 + 8, 9 + 10]
    assert last.rows.tolist() == [[2000, 2003, 4], [2004, 2004, 5]]
    assert (first.condensed, short.condensed, last.condensed) == (True, False, True)
    assert short.rows[:, 0].tolist() == [value(1, o) for o in range(4)], "one block is no more than a row each"
    assert sorted(seen) == [1, 2, 4, 4, 4]
    assert not first.blocks, "what was condensed is let go"


def test_a_long_document_that_fails_lets_its_blocks_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("longdoc.assemble.BLOCK", 2)
    assembler = Assembler(lambda rows, weights: rows[0])
    assembler.expect(0, 5)
    assembler.add(0, 0, torch.ones(2), 1.0)
    failure = DocumentFailure("a", "non_finite_output")
    assembler.fail(0, failure)
    assembler.add(0, 1, torch.ones(2), 1.0)
    (found,) = assembler.finished()
    assert (found.failure, found.blocks) == (failure, {})
