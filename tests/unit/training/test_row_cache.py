"""Two passes in the memory of one micro-batch give the gradient of the whole graph, dropout included."""

from __future__ import annotations

import itertools
from typing import Any, get_args

import pytest
import torch

from gradient_kit import CASES, OneStep, case_name, distance
from longdoc.nn.mergers import MergerKind
from longdoc.pipeline import Pipeline
from longdoc.tasks import TASKS

LIMITS = {torch.float64: 1e-12, torch.float32: 1e-6}
every_case = pytest.mark.parametrize("case", CASES, ids=map(case_name, CASES))
"""Every task with every readout and merger that it takes."""

A_FEW = [(task, config) for task, config in CASES if case_name((task, config)) in (
    "single_label-vectors-attention", "ordinal-vectors-hierarchical", "multi_label-label_attention", "spans-tokens-crf",
    "question_answering-answers", "embedding-embedding", "search-embedding",
)]  # fmt: skip
"""One of each way of making rows, for every day."""


def both_ways(tiny: Pipeline, case: Any, dtype: torch.dtype, dropout: float) -> float:
    """How far they are apart for a step of two batches, of six documents together, whose gradients accumulate."""
    one = OneStep(tiny, case, dtype, dropout)
    step = one.step(3)
    assert [len(batch) for batch in step.batches] == [3, 3]
    expected = one.by_full_graph(step.batches, len(step.members))
    return distance(one.by_row_cache(step), expected)


def test_no_task_and_no_merger_is_left_out() -> None:
    assert {task for task, _ in CASES} == {task.name for task in TASKS}
    mergers = {config["merger"]["kind"] for _, config in CASES if "merger" in config}
    assert mergers == {kind.model_fields["kind"].default for kind in get_args(MergerKind)}
    assert len(A_FEW) == 7


@pytest.mark.parametrize("case", A_FEW, ids=map(case_name, A_FEW))
def test_gradients_equal_those_of_the_whole_graph(tiny_pipeline: Pipeline, case: Any) -> None:
    assert both_ways(tiny_pipeline, case, torch.float64, 0.2) < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "dropout"), list(itertools.product(LIMITS, (0.0, 0.2))))
@every_case
def test_gradients_equal_for_every_task_and_merger(
    tiny_pipeline: Pipeline, case: Any, dtype: torch.dtype, dropout: float
) -> None:
    assert both_ways(tiny_pipeline, case, dtype, dropout) < LIMITS[dtype]


def test_dropout_is_replayed_and_not_drawn_anew(tiny_pipeline: Pipeline) -> None:
    """With other draws the gradient is another one, by far: what the equality above rests on."""
    one = OneStep(tiny_pipeline, CASES[0], torch.float64, 0.2)
    step = one.step(3)
    expected = one.by_full_graph(step.batches, len(step.members))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("longdoc.training.row_cache._set_random_state", lambda device, state: None)
        assert distance(one.by_row_cache(step), expected) > 1e-2


def test_the_random_stream_goes_on_as_without_the_cache(tiny_pipeline: Pipeline) -> None:
    one = OneStep(tiny_pipeline, CASES[0], torch.float64, 0.2)
    step = one.step(3)
    one.by_full_graph(step.batches, len(step.members))
    expected = torch.rand(1)
    one.by_row_cache(step)
    assert torch.equal(expected, torch.rand(1))
