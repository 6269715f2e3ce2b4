"""Documents that come in twos: nobody is lost, and no batch of an even size parts two that belong together."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from longdoc.training.data import EpochSampler
from longdoc.training.twos import in_twos, twos_of

some_groups = st.lists(st.integers(-3, 6), min_size=1, max_size=60)


@settings(max_examples=60, deadline=None)
@given(some_groups, st.sampled_from([2, 4, 6]), st.integers(1, 3), st.integers(0, 99))
def test_every_document_comes_once_beside_one_of_its_group(
    groups: list[int], batch_size: int, processes: int, seed: int
) -> None:
    sizes = np.random.default_rng(seed).integers(1, 90, len(groups)).tolist()
    samplers = [EpochSampler(sizes, batch_size, seed, processes, rank, groups) for rank in range(processes)]
    batches = [members for sampler in samplers for members, _ in sampler.epoch(2)]
    assert sorted(member for members in batches for member in members) == list(range(len(groups)))
    beside = [Counter(groups[member] for member in members) for members in batches]
    left = sum(count == 1 for counts in beside for count in counts.values())
    assert left <= sum(count % 2 for count in Counter(groups).values())
    assert {tuple(map(tuple, sampler.every_batch(2))) for sampler in samplers} == {
        tuple(tuple(sampler.epoch(2)[step][0]) for step in range(samplers[0].steps) for sampler in samplers
              if sampler.epoch(2)[step][0])
    }  # fmt: skip
    steps = samplers[0].optimiser_steps(2, 1)
    for number, step in enumerate(steps):
        met = [set(sampler.epoch(2)[number][0]) for sampler in samplers]
        assert set().union(*met) == set(step.members)


def test_who_meets_whom_changes_from_epoch_to_epoch() -> None:
    sampler = EpochSampler([1] * 40, 2, 0, groups=[number % 4 for number in range(40)])
    met = [frozenset(map(frozenset, (members for members, _ in sampler.epoch(epoch)))) for epoch in range(4)]
    assert len(set(met)) == 4
    assert sampler.epoch(3) == EpochSampler([1] * 40, 2, 0, groups=[n % 4 for n in range(40)]).epoch(3)


def test_order_by_hand() -> None:
    groups = [7, 8, 7, 9, 8, 7, 9]
    order = in_twos([5, 1, 3, 2, 6, 0, 4], groups)
    assert order == [5, 2, 3, 6, 1, 4, 0]
    assert twos_of(order, groups) == [[5, 2], [3, 6], [1, 4], [0]]
    assert twos_of(order[1:4], groups) == [[2], [3, 6]]
