import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longdoc.errors import UsageError
from longdoc.training.data import EpochSampler


@settings(deadline=None, max_examples=60)
@given(
    count=st.integers(1, 60),
    batch=st.integers(1, 7),
    processes=st.integers(1, 4),
    seed=st.integers(0, 9),
    epoch=st.integers(0, 5),
)
def test_every_document_is_visited_once_an_epoch_over_all_processes(
    count: int, batch: int, processes: int, seed: int, epoch: int
) -> None:
    sizes = np.random.default_rng(0).integers(1, 5000, count).tolist()
    samplers = [EpochSampler(sizes, batch, seed, processes, rank) for rank in range(processes)]
    plans = [sampler.epoch(epoch) for sampler in samplers]
    visited = sorted(member for plan in plans for members, _ in plan for member in members)
    assert visited == list(range(count))
    for step in range(samplers[0].steps):
        assert len({plan[step][1] for plan in plans}) == 1, "all processes know the same count"
        assert sum(len(plan[step][0]) for plan in plans) == plans[0][step][1]
    assert all(len(plan) == sampler.steps for plan, sampler in zip(plans, samplers, strict=True))


def test_the_order_is_a_function_of_seed_and_epoch_only() -> None:
    sizes = [5] * 40
    first = EpochSampler(sizes, 4, seed=3)
    first.epoch(0)
    assert first.epoch(2) == EpochSampler(sizes, 4, seed=3).epoch(2)
    assert first.epoch(2) != first.epoch(1)
    assert first.epoch(2) != EpochSampler(sizes, 4, seed=4).epoch(2)


def test_a_steps_documents_are_the_same_whatever_the_number_of_processes() -> None:
    sizes = list(range(1, 33))
    alone = EpochSampler(sizes, 8, seed=1)
    shared = [EpochSampler(sizes, 4, 1, 2, rank) for rank in (0, 1)]
    for step in range(alone.steps):
        together = sorted(m for sampler in shared for m in sampler.epoch(0)[step][0])
        assert together == alone.epoch(0)[step][0]


def test_work_is_dealt_evenly_by_tokens() -> None:
    sizes = [1000, 1, 1, 1, 1, 1, 1, 994]
    hands = [EpochSampler(sizes, 4, 0, 2, rank).epoch(0)[0][0] for rank in (0, 1)]
    work = [sum(sizes[m] for m in hand) for hand in hands]
    assert max(work) - min(work) <= 6


def test_ranks_are_checked() -> None:
    with pytest.raises(UsageError, match=r"^`rank` must be in \[0, 2\), but is 2 instead\.$"):
        EpochSampler([1], 1, 0, 2, 2)
