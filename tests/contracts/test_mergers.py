"""What every merger promises, for every kind of the union.

A new kind is covered by being in the union. If it has fields without defaults, give it an example in `EXAMPLES`.
"""

from __future__ import annotations

from typing import Any, get_args

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from longdoc.nn.mergers import Merger, MergerConfig, WeightedMerger
from longdoc.nn.mergers import MergerKind as Kinds
from nn_kit import randomised
from reference import mergers as slowly

WIDTH = 6
EXAMPLES: dict[str, dict[str, Any]] = {"hierarchical": {"hidden": 8, "heads": 2, "layers": 2, "dropout": 0.0}}
CONFIGS = [{"kind": kind.model_fields["kind"].default} for kind in get_args(Kinds)]
CONFIGS = [config | EXAMPLES.get(config["kind"], {}) for config in CONFIGS]
every_kind = pytest.mark.parametrize("config", CONFIGS, ids=[config["kind"] for config in CONFIGS])
SLOWLY = {
    "mean": slowly.mean,
    "max": slowly.largest,
    "logsumexp": slowly.logsumexp,
    "noisy_or": slowly.noisy_or,
}


def build(config: dict[str, Any]) -> Merger:
    return randomised(TypeAdapter(MergerConfig).validate_python(config).build(WIDTH), std=0.5).eval()


WEIGHTED = [config for config in CONFIGS if isinstance(build(config), WeightedMerger)]


def which(**attributes: Any) -> Any:
    """The kinds whose mergers say so of themselves."""
    chosen = [c for c in CONFIGS if all(getattr(build(c), name) == value for name, value in attributes.items())]
    assert chosen, "no kind is left to be tested"
    return pytest.mark.parametrize("config", chosen, ids=[config["kind"] for config in chosen])


def in_order(owner: torch.Tensor) -> torch.Tensor:
    """The number of each chunk in its document, where rows stand in the order of the text."""
    return torch.tril(owner[:, None] == owner, diagonal=-1).sum(1)


def corpus(counts: list[int], seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, int]:
    """Rows, owners and weights of documents with so many chunks each, chunks in any order."""
    generator = torch.Generator().manual_seed(seed)
    owner = torch.repeat_interleave(torch.arange(len(counts)), torch.tensor(counts))
    owner = owner[torch.randperm(len(owner), generator=generator)]
    rows = torch.randn(len(owner), WIDTH, generator=generator)
    weights = torch.randint(1, 500, (len(owner),), generator=generator).float()
    return rows, owner, weights, len(counts)


@every_kind
def test_a_configuration_is_strict_and_survives_json(config: dict) -> None:
    adapter = TypeAdapter(MergerConfig)
    read = adapter.validate_python(config)
    assert adapter.validate_json(adapter.dump_json(read)) == read
    assert type(read).__doc__
    with pytest.raises(ValidationError):
        adapter.validate_python(config | {"unheard_of": 1})


@every_kind
@settings(deadline=None, max_examples=30)
@given(counts=st.lists(st.integers(1, 7), min_size=1, max_size=5), seed=st.integers(0, 99))
def test_neither_the_order_of_chunks_nor_other_documents_matter(config: dict, counts: list[int], seed: int) -> None:
    merger = build(config)
    rows, owner, weights, documents = corpus(counts, seed)
    merged = merger(rows, owner, weights, documents)
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(seed + 1))
    shuffled = merger(rows[order], owner[order], weights[order], documents, in_order(owner)[order])
    assert torch.allclose(shuffled, merged, atol=1e-6)
    for document in range(documents):
        mine = owner == document
        alone = merger(rows[mine], torch.zeros_like(owner[mine]), weights[mine], 1)
        assert torch.allclose(alone[0], merged[document], atol=1e-6)
        if (config["kind"]) in SLOWLY:
            expected = SLOWLY[config["kind"]](rows[mine].tolist(), weights[mine].tolist())
            assert merged[document].tolist() == pytest.approx(expected, abs=2e-6)


@every_kind
def test_ten_thousand_chunks_are_as_right_as_two(config: dict) -> None:
    merger = build(config)
    rows, owner, weights, documents = corpus([10_000, 2])
    merged = merger(rows, owner, weights, documents)
    assert merged.isfinite().all()
    for document in range(documents):
        mine = owner == document
        alone = merger(rows[mine], torch.zeros_like(owner[mine]), weights[mine], 1)
        assert torch.allclose(alone[0], merged[document], atol=1e-5)
        if config["kind"] == "noisy_or" and document == 0:  # 1 - product is 1 in floats: by logarithms instead
            odds = sum(torch.nn.functional.softplus(rows[mine].double()))
            assert torch.allclose(alone[0].double(), odds, rtol=1e-6)
        elif config["kind"] in SLOWLY:
            expected = SLOWLY[config["kind"]](rows[mine].tolist(), weights[mine].tolist())
            assert merged[document].tolist() == pytest.approx(expected, abs=1e-5)


@which(ordered=False)
def test_one_chunk_is_the_document(config: dict) -> None:
    merger = build(config)
    rows, owner, weights, documents = corpus([1, 1, 1])
    assert torch.equal(merger(rows, owner, weights, documents)[owner], rows)
    assert torch.equal(merger(rows[:1], torch.tensor([0]), torch.tensor([0.0]), 1), rows[:1]), "an empty text too"


@which(averages=True)
@pytest.mark.parametrize("count", [2, 10_000])
def test_chunks_that_agree_are_the_document_however_many(config: dict, count: int) -> None:
    merger = build(config)
    row = torch.randn(1, WIDTH, generator=torch.Generator().manual_seed(0))
    _, owner, weights, _ = corpus([count])
    assert torch.allclose(merger(row.expand(count, -1), owner, weights, 1), row, atol=1e-6)


@pytest.mark.parametrize("config", WEIGHTED, ids=[config["kind"] for config in WEIGHTED])
@pytest.mark.parametrize("counts", [[1], [2], [3, 1, 5], [10_000, 2]])
def test_contributions_are_gains_times_rows_and_sum_to_the_merged_row(config: dict, counts: list[int]) -> None:
    merger = build(config)
    assert isinstance(merger, WeightedMerger)
    rows, owner, weights, documents = corpus(counts)
    parts = merger.contributions(rows, owner, weights, documents)
    gains = merger.gains(rows, owner, weights, documents)
    assert parts.shape == gains.shape == rows.shape
    assert torch.allclose(parts, gains * rows, atol=1e-7)
    sums = torch.zeros(documents, WIDTH, dtype=torch.float64).index_add(0, owner, parts.double())
    assert torch.allclose(sums, merger(rows, owner, weights, documents).double(), atol=1e-6)


@every_kind
@pytest.mark.parametrize("training", [False, True])
def test_gradients_reach_every_input_and_parameter(config: dict, training: bool) -> None:
    merger = build(config).double().train(training)
    rows, owner, weights, documents = corpus([3, 1, 2])
    rows = rows.double().requires_grad_()
    merger(rows, owner, weights, documents).square().sum().backward()
    assert rows.grad.isfinite().all()
    for document in range(documents):
        reached = rows.grad[owner == document]
        assert (reached != 0).any(0).all(), "each component of the merged row comes from some chunk"
        if config["kind"] != "max":  # there only the winners are heard
            assert (reached != 0).any(-1).all()
    for name, parameter in merger.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name
    assert torch.autograd.gradcheck(lambda r: merger(r, owner, weights, documents), (rows,), atol=1e-5)


@every_kind
def test_a_chunk_of_no_weight_is_not_heard_beside_others(config: dict) -> None:
    merger = build(config)
    rows, owner, weights, documents = corpus([3, 2])
    expected = merger(rows, owner, weights, documents)
    for filler in (99.0, -99.0, float("nan")):
        more = torch.cat([rows, torch.full((1, WIDTH), filler)])
        merged = merger(more, torch.cat([owner, torch.tensor([0])]), torch.cat([weights, torch.zeros(1)]), documents)
        assert torch.allclose(merged, expected, atol=1e-6)


@every_kind
def test_a_document_without_chunks_gives_zeros(config: dict) -> None:
    rows, owner, weights, _ = corpus([2])
    assert (build(config)(rows, owner, weights, 3)[1:] == 0).all()


@every_kind
@pytest.mark.parametrize("autocast", [False, True])
def test_numbers_stay_float32_in_a_bfloat16_model(config: dict, autocast: bool) -> None:
    merger = build(config)
    rows, owner, weights, documents = corpus([4, 3])
    expected = merger(rows, owner, weights, documents)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
        merged = (merger if autocast else merger.to(torch.bfloat16))(rows, owner, weights, documents)
    assert merged.dtype == torch.float32
    assert torch.allclose(merged, expected, atol=1e-6 if autocast else 2e-2)
    assert merger(rows.bfloat16(), owner, weights, documents).dtype == torch.float32


@every_kind
def test_the_same_answer_with_the_windows_reversed(config: dict) -> None:
    merger = build(config)  # report B034
    rows = torch.tensor([[1.0] * WIDTH, [0.0] * WIDTH])
    owner, weights = torch.zeros(2, dtype=torch.int64), torch.ones(2)
    merged = merger(rows, owner, weights, 1, torch.tensor([0, 1]))
    assert torch.equal(merger(rows.flip(0), owner, weights, 1, torch.tensor([1, 0])), merged)
    if not merger.ordered:
        assert (merged > 0).all(), "a vote would depend on the order of the tie"


@which(associative=True)
@settings(deadline=None, max_examples=30)
@given(sizes=st.lists(st.integers(1, 9), min_size=1, max_size=6), loud=st.floats(0.1, 30), seed=st.integers(0, 99))
def test_parts_that_were_merged_first_stand_for_their_chunks(
    config: dict, sizes: list[int], loud: float, seed: int
) -> None:
    merger = build(config)
    rows, owner, weights, _ = corpus([sum(sizes)], seed)
    rows = rows * loud
    whole = merger(rows, owner, weights, 1)
    parts = [
        (merger(part, torch.zeros(len(part), dtype=torch.int64), weight, 1)[0], weight.sum())
        for part, weight in zip(rows.split(sizes), weights.split(sizes), strict=True)
    ]
    merged, sums = (torch.stack(column) for column in zip(*parts, strict=True))
    again = merger(merged, torch.zeros(len(parts), dtype=torch.int64), sums, 1)
    assert torch.allclose(again, whole, rtol=1e-5, atol=1e-5)


@which(associative=False)
def test_mergers_that_compare_chunks_with_each_other_do_not_say_that_they_are_associative(config: dict) -> None:
    merger = build(config)
    rows, owner, weights, _ = corpus([40])
    sizes = [1, 3, 36]
    parts = [
        (merger(part, torch.zeros(len(part), dtype=torch.int64), weight, 1)[0], weight.sum())
        for part, weight in zip(rows.split(sizes), weights.split(sizes), strict=True)
    ]
    merged, sums = (torch.stack(column) for column in zip(*parts, strict=True))
    again = merger(merged, torch.zeros(3, dtype=torch.int64), sums, 1)
    assert not torch.allclose(again, merger(rows, owner, weights, 1), rtol=1e-5, atol=1e-5)
