"""What every position encoding promises, for every kind of the union and every mask an encoder can have.

A new kind is covered by being in the union. If it has fields without defaults, give it an example in `EXAMPLES` of
`tests/position_kit.py`.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from pydantic import TypeAdapter, ValidationError
from torch import nn

from longdoc.nn import Encoder
from longdoc.nn.pooling import POOLINGS
from longdoc.nn.position import Geometry, PositionConfig, PositionEncoding
from longdoc.types import ChunkBatch
from nn_kit import MASKS, VOCABULARY, batch_of, padded, randomised, some_ids, tiny_config, tiny_encoder, tiny_model
from position_kit import EXAMPLES, KINDS

GEOMETRY = Geometry(width=16, heads=4, head_width=4, layers=2, max_len=512)
CONFIGS = [{"kind": kind} | EXAMPLES.get(kind, {}) for kind in KINDS]
every_kind = pytest.mark.parametrize("config", CONFIGS, ids=[config["kind"] for config in CONFIGS])
every_mask = pytest.mark.parametrize("mask", MASKS.values(), ids=list(MASKS))


def heads_of(table: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """A layer's projections of a table (R, D): two of (H, R, Dh)."""
    split = table.view(len(table), GEOMETRY.heads, GEOMETRY.head_width).transpose(0, 1)
    return split, -split


def build(config: dict[str, Any]) -> PositionEncoding:
    """The encoding, its parameters drawn anew so that all of them show."""
    return randomised(TypeAdapter(PositionConfig).validate_python(config).build(GEOMETRY))


@every_kind
def test_a_configuration_is_strict_and_survives_json(config: dict) -> None:
    adapter = TypeAdapter(PositionConfig)
    read = adapter.validate_python(config)
    assert adapter.validate_json(adapter.dump_json(read)) == read
    assert type(read).__doc__, "it is shown to people who write configurations"
    with pytest.raises(ValidationError):
        adapter.validate_python(config | {"unheard_of": 1})


@every_kind
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_each_moment_keeps_shape_and_dtype(config: dict, dtype: torch.dtype, training: bool) -> None:
    encoding = build(config).to(dtype).train(training)
    for positions in (torch.arange(6)[None], torch.tensor([[0, 1, 2, 3, 4, 5], [3, 3, 0, 9, 1, 7]])):
        x, q, k = torch.randn(2, 6, 16).to(dtype), *torch.randn(2, 2, 4, 6, 4).to(dtype)
        embedded = encoding.embed(x, positions)
        assert (embedded.shape, embedded.dtype) == (x.shape, dtype)
        plan = encoding.plan(positions, dtype)
        for layer in range(GEOMETRY.layers):
            for turned in plan.rotate(q, k, layer):
                assert (turned.shape, turned.dtype) == (q.shape, dtype)
            bias = plan.content_bias(q, k, heads_of, layer)
            if bias is not None:
                assert bias.dtype.is_floating_point
                assert torch.broadcast_shapes(bias.shape, (2, 4, 6, 6)) == (2, 4, 6, 6)
            term = plan.value_term(layer)
            if term is not None:
                assert term(torch.rand(2, 4, 6, 6).to(dtype)).shape == (2, 4, 6, 4)


@every_kind
def test_nothing_is_stored_but_what_is_trained(config: dict) -> None:
    encoding = build(config)
    assert {name for name, _ in encoding.named_buffers()} <= set(encoding.state_dict()), "no table outside the state"
    short, long = torch.arange(5)[None], torch.arange(400)[None]
    x = torch.randn(1, 400, 16)
    before = encoding.embed(x[:, :5], short)
    state = {name: tensor.clone() for name, tensor in encoding.state_dict().items()}
    encoding.embed(x, long)
    encoding.plan(long, torch.float32).rotate(torch.randn(1, 4, 400, 4), torch.randn(1, 4, 400, 4), 0)
    assert torch.equal(encoding.embed(x[:, :5], short), before)
    assert all(torch.equal(tensor, state[name]) for name, tensor in encoding.state_dict().items())


@every_kind
@every_mask
def test_it_is_a_function_of_positions_not_of_places(config: dict, mask: dict) -> None:
    encoder = tiny_encoder(position=config, **mask)
    ids, order = torch.tensor([some_ids(12)]), torch.randperm(12, generator=torch.Generator().manual_seed(0))[None]
    shuffled = encoder(ids[:, order[0]], positions=order)
    assert torch.allclose(shuffled, encoder(ids)[:, order[0]], atol=1e-5)


@every_kind
def test_without_a_limit_any_position_works(config: dict) -> None:
    encoder = tiny_encoder(position=config)
    if encoder.max_tokens is not None:
        assert encoder.max_tokens >= 1
        encoder(torch.ones(1, encoder.max_tokens, dtype=torch.int64))
        with pytest.raises(ValueError, match=rf"must be in \[0, {encoder.max_tokens}\)"):
            encoder(torch.ones(1, encoder.max_tokens + 1, dtype=torch.int64))
        return
    far = torch.tensor([[0, 5_000, 5_001, 999_999, 1_000_000]])
    assert encoder(torch.tensor([some_ids(5)]), positions=far).isfinite().all()
    long = torch.tensor([some_ids(700)])
    assert encoder(long).isfinite().all()


@every_kind
@every_mask
def test_padding_never_changes_an_answer(config: dict, mask: dict) -> None:
    encoder = tiny_encoder(position=config, **mask)  # report B047
    readouts = [tiny_model(readout={"pooling": pooling}).readout for pooling in POOLINGS]
    text, other = some_ids(7), some_ids(500, seed=1)

    def answers(batch: ChunkBatch, states: torch.Tensor) -> torch.Tensor:
        """Scores of the first document under each pooling."""
        rows = [readout.rows(states, batch) for readout in readouts]
        arguments = (batch.owner, batch.weights, batch.documents)
        return torch.stack([readout.documents(row, *arguments)[0] for readout, row in zip(readouts, rows, strict=True)])

    alone = torch.tensor([text])
    expected = answers(batch_of(alone), encoder(alone))
    for side in ("left", "right"):
        for texts, length in (([text], 8), ([text], 16), ([text, other], 512)):
            ids, valid = padded(texts, length, side)
            states = encoder(ids, valid)
            assert states.shape == (len(texts), length, 16)
            assert torch.allclose(answers(batch_of(ids, valid), states), expected, atol=1e-5), (side, length)
    assert torch.equal(encoder.train()(ids, valid), states), "without dropout, train and eval are one path"


@every_kind
@every_mask
def test_packed_texts_answer_as_if_alone(config: dict, mask: dict) -> None:
    encoder = tiny_encoder(position=config, **mask)  # report B045
    first, second = some_ids(3), some_ids(2, seed=1)
    packed = encoder(torch.tensor([first + second]), segments=torch.tensor([[0, 0, 0, 1, 1]]))[0]
    assert torch.allclose(packed[:3], encoder(torch.tensor([first]))[0], atol=1e-5)
    assert torch.allclose(packed[3:], encoder(torch.tensor([second]))[0], atol=1e-5)
    replaced = encoder(torch.tensor([some_ids(3, seed=2) + second]), segments=torch.tensor([[0, 0, 0, 1, 1]]))[0]
    assert torch.allclose(replaced[3:], packed[3:], atol=1e-6)


@every_kind
def test_a_short_text_does_not_feel_a_long_neighbour(config: dict) -> None:
    encoder = tiny_encoder(position=config)  # report B058
    short, long = some_ids(100), some_ids(500, seed=1)
    alone = encoder(torch.tensor([short]))
    encoder(torch.tensor([long]))
    assert torch.equal(encoder(torch.tensor([short])), alone)
    ids, valid = padded([short, long])
    assert torch.allclose(encoder(ids, valid)[0, :100], alone[0], atol=1e-5)


@every_kind
def test_a_model_built_without_memory_is_filled_completely(config: dict) -> None:
    normal = tiny_encoder(position=config)  # report B066
    with torch.device("meta"):
        filled = Encoder(tiny_config(position=config))
    filled = filled.to_empty(device="cpu").eval()
    filled.load_state_dict(normal.state_dict())
    ids = torch.tensor([some_ids(50)])
    assert torch.equal(filled(ids), normal(ids))


@every_kind
def test_casts_copies_and_autocast_agree(config: dict) -> None:
    encoder = tiny_encoder(position=config)  # report B065
    ids, valid = padded([some_ids(40), some_ids(9, seed=1)])
    exact = encoder(ids, valid)[valid]
    half = copy.deepcopy(encoder).to(torch.bfloat16)(ids, valid)[valid]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        automatic = encoder(ids, valid)[valid]
    assert half.dtype == torch.bfloat16
    assert torch.allclose(half.float(), exact, atol=0.2)
    assert torch.allclose(automatic.float(), exact, atol=0.2)
    assert torch.equal(encoder(ids, valid)[valid], exact)


@every_kind
@pytest.mark.parametrize("mask", [{"window": 4}, {"causal": True}], ids=["window", "causal"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_tiny_encoder_learns_from_scratch(config: dict, mask: dict, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    encoder = Encoder(tiny_config(position=config, dropout=0.1, attention_dropout=0.1, **mask)).train()
    head = nn.Linear(16, 2)
    optimizer = torch.optim.AdamW([*encoder.parameters(), *head.parameters()], lr=5e-3)
    ids, valid = padded([some_ids(n, seed=n) for n in range(6, 22, 2)])
    gold = (ids > VOCABULARY // 2).long()
    losses = []
    for _ in range(20):
        with torch.autocast("cpu", dtype=dtype, enabled=dtype == torch.bfloat16):
            scores = head(encoder(ids, valid))
        loss = nn.functional.cross_entropy(scores.float()[valid], gold[valid])
        optimizer.zero_grad()
        loss.backward()
        assert all(p.grad.isfinite().all() for p in encoder.parameters() if p.grad is not None)
        optimizer.step()
        losses.append(loss.item())
    assert sum(losses[-3:]) < 0.8 * sum(losses[:3]), losses
    for name, parameter in encoder.position.named_parameters():
        assert parameter.grad is not None, f"{name} is not trained"
