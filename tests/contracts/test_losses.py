"""What every kind of loss keeps, enumerated from the union: a new kind is tested by itself."""

from __future__ import annotations

from typing import get_args

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from longdoc.tasks.losses import PLAIN, LossChoice, LossKind

KINDS = [kind() for kind in get_args(LossKind)]
NAMES = [kind.kind for kind in KINDS]


@pytest.fixture(params=KINDS, ids=NAMES)
def kind(request: pytest.FixtureRequest) -> LossChoice:
    return request.param  # type: ignore[no-any-return]


def scores(seed: int, rows: int, labels: int, size: float) -> torch.Tensor:
    return size * torch.randn(rows, labels, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@given(st.integers(0, 2**31 - 1), st.integers(1, 5), st.integers(2, 6), st.sampled_from([0.1, 3.0, 80.0]))
@settings(deadline=None, max_examples=15)
def test_losses_are_finite_never_negative_and_so_are_their_slopes(
    smoothing: float, seed: int, rows: int, labels: int, size: float
) -> None:
    for base in KINDS:
        kind = base.model_copy(update={"label_smoothing": smoothing})
        given_scores = scores(seed, rows, labels, size).requires_grad_()
        numbers = torch.arange(rows) % labels
        one = kind.one_label(given_scores, numbers, None)
        each = kind.each_label(given_scores, torch.eye(labels)[numbers], None)
        surprise = kind.of_surprise(torch.nn.functional.cross_entropy(given_scores, numbers, reduction="none"))
        assert one.shape == surprise.shape == (rows,)
        assert each.shape == (rows, labels)
        (one.sum() + each.sum() + surprise.sum()).backward()
        assert given_scores.grad is not None
        for values in (one, each, surprise):
            assert bool(torch.isfinite(values).all() & (values >= 0).all())
        assert bool(torch.isfinite(given_scores.grad).all())


def test_a_document_costs_the_same_whatever_stands_beside_it(kind: LossChoice) -> None:
    many, numbers = scores(1, 6, 4, 2.0), torch.tensor([0, 1, 2, 3, 0, 1])
    weights = torch.tensor([1.0, 2.0, 0.5, 3.0])
    together = kind.one_label(many, numbers, weights)
    alone = torch.cat([kind.one_label(many[n : n + 1], numbers[n : n + 1], weights) for n in range(6)])
    torch.testing.assert_close(together, alone, rtol=1e-6, atol=0)


def test_a_weight_multiplies_what_its_label_costs(kind: LossChoice) -> None:
    many, numbers = scores(2, 4, 3, 2.0), torch.tensor([0, 1, 2, 1])
    weights = torch.tensor([2.0, 0.5, 7.0])
    torch.testing.assert_close(
        kind.one_label(many, numbers, weights), kind.one_label(many, numbers, None) * weights[numbers]
    )
    asked = torch.eye(3)[numbers]
    torch.testing.assert_close(
        kind.each_label(many, asked, weights),
        kind.each_label(many, asked, None) * torch.where(asked > 0, weights, 1.0),
    )


def test_a_better_answer_costs_less(kind: LossChoice) -> None:
    rising = torch.stack([torch.linspace(-6, 6, 50), torch.zeros(50)], dim=1)
    one = kind.one_label(rising, torch.zeros(50, dtype=torch.long), None)
    each = kind.each_label(rising[:, :1], torch.ones(50, 1), None)[:, 0]
    for losses in (one, each):
        assert bool((losses[1:] < losses[:-1]).all())


def test_the_answer_of_two_labels_is_that_of_one_yes_or_no(kind: LossChoice) -> None:
    """softmax over (x, 0) is a sigmoid of x, so both ways to say it cost the same."""
    x = scores(3, 8, 1, 2.0)
    two = torch.cat([x, torch.zeros(8, 1)], dim=1)
    yes = torch.tensor([1.0, 0, 1, 0, 1, 1, 0, 0])
    torch.testing.assert_close(
        kind.one_label(two, (1 - yes).long(), None), kind.each_label(x, yes[:, None], None)[:, 0]
    )


def test_what_everything_is_measured_by_is_cross_entropy_without_smoothing() -> None:
    assert (PLAIN.kind, PLAIN.label_smoothing) == ("cross_entropy", 0.0)
