"""Integrated gradients add up and agree with what can be worked out by hand."""

from __future__ import annotations

import pytest
import torch

from longdoc.nn.readout.integrated import integrated_slopes

ROWS = torch.tensor([[1.0, -2.0], [0.5, 3.0]])


def test_a_weighted_sum_gives_its_weights() -> None:
    weights = torch.tensor([[0.2, 0.3], [0.4, 0.1]])
    assert torch.allclose(integrated_slopes(lambda rows: (weights * rows).sum()[None], ROWS), weights, atol=1e-6)


def test_a_product_is_shared_evenly() -> None:
    slopes = integrated_slopes(lambda rows: (rows[0, 0] * rows[1, 1])[None], ROWS)
    assert (slopes * ROWS).tolist() == [[pytest.approx(1.5), 0.0], [0.0, pytest.approx(1.5)]]


def test_points_are_added_until_a_steep_score_adds_up() -> None:
    calls = []

    def steep(rows: torch.Tensor) -> torch.Tensor:
        calls.append(1)
        return torch.nn.functional.softplus(60 * (rows.sum() - 1.0))[None]

    slopes = integrated_slopes(steep, ROWS)
    whole = float(steep(ROWS) - steep(0 * ROWS))
    assert float((slopes * ROWS).sum()) == pytest.approx(whole, rel=1e-3)
    assert len(calls) > 2 * 8, "eight points were not enough"


def test_it_works_inside_inference_mode() -> None:
    with torch.inference_mode():
        slopes = integrated_slopes(lambda rows: rows.square().sum()[None], ROWS.clone())
    assert torch.allclose(slopes, ROWS, atol=1e-6)
