"""What every position encoding promises about lengths, axes, dtypes and devices, for every kind and several variants.

The kinds come from the union by themselves, see `position_kit`.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test
from pydantic import TypeAdapter
from torch import Tensor, nn

from longdoc.nn import Encoder, EncoderConfig
from longdoc.nn.attend import attend
from longdoc.nn.position import Geometry, PositionConfig, PositionEncoding, PositionPlan, stack_axes
from nn_kit import padded, randomised, some_ids, tiny_encoder
from position_kit import CONFIGS, KINDS

GEOMETRY = Geometry(width=24, heads=3, head_width=8, layers=2, max_len=128)
every_kind = pytest.mark.parametrize("config", CONFIGS.values(), ids=list(CONFIGS))


def build(config: dict[str, Any], geometry: Geometry = GEOMETRY) -> PositionEncoding:
    """The encoding, its parameters drawn anew so that all of them show."""
    return randomised(TypeAdapter(PositionConfig).validate_python(config).build(geometry)).eval()


def small_encoder(config: dict[str, Any]) -> Encoder:
    """An encoder of the same geometry, but for its length."""
    return tiny_encoder(position=config, width=24, heads=3, max_len=64)


def positions_of(length: int, axes: bool, start: int = 0) -> Tensor:
    """The reading order, alone or with three further axes of small numbers that reach every row of small tables."""
    order = torch.arange(start, start + length)[None]
    return stack_axes(order, order % 13, order // 2 % 5, order % 3) if axes else order


def project(table: Tensor) -> tuple[Tensor, Tensor]:
    """A layer's projections of a table (R, D): two of (H, R, Dh)."""
    split = table.view(len(table), GEOMETRY.heads, GEOMETRY.head_width).transpose(0, 1)
    return split, -split


def attention(plan: PositionPlan, states: Tensor, layer: int = 0) -> Tensor:
    """All that a plan says, in one attention: q, k, v (3, N, H, L, Dh) -> (N, H, L, Dh)."""
    q, k = plan.rotate(states[0], states[1], layer)
    bias = plan.content_bias(q, k, project, layer)
    return attend(q, k, states[2], None, bias=bias, scale=plan.scale, value_term=plan.value_term(layer))


def states(length: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
    """Embeddings (1, L, D) and queries, keys, values (3, 1, H, L, Dh); shorter ones are the start of longer ones."""
    generator = torch.Generator().manual_seed(seed)
    rows = [torch.randn(24 + 3 * 24, generator=generator) for _ in range(length)]
    drawn = torch.stack(rows).to(dtype)
    return drawn[None, :, :24], drawn[:, 24:].view(length, 3, 1, 3, 8).permute(1, 2, 3, 0, 4)


@every_kind
@pytest.mark.parametrize("axes", [False, True], ids=["plain", "axes"])
def test_the_start_of_a_longer_text_is_the_same(config: dict, axes: bool) -> None:
    encoding = build(config)
    x, qkv = states(120)
    long = encoding.plan(positions_of(120, axes), torch.float32)
    embedded = encoding.embed(x, positions_of(120, axes))
    turned = long.rotate(qkv[0], qkv[1], 1)
    bias = long.content_bias(*turned, project, 1)
    for length in (1, 7, 30):
        positions = positions_of(length, axes)
        short = encoding.plan(positions, torch.float32)
        assert torch.equal(encoding.embed(x[:, :length], positions), embedded[:, :length]), "bit for bit"
        q, k = short.rotate(qkv[0, ..., :length, :], qkv[1, ..., :length, :], 1)
        assert torch.equal(q, turned[0][..., :length, :])
        assert torch.equal(k, turned[1][..., :length, :])
        short_bias = short.content_bias(q, k, project, 1)
        assert (short_bias is None) == (bias is None)
        if short_bias is not None and bias is not None:
            assert torch.allclose(short_bias, bias[..., :length, :length], atol=1e-6)


class Lengths(RuleBasedStateMachine):
    """Texts of any lengths, one after the other: each comes out as from an encoding that has seen nothing before."""

    config: dict[str, Any]

    def __init__(self) -> None:
        super().__init__()
        self.used = build(self.config)
        self.fresh = copy.deepcopy(self.used)

    @rule(length=st.sampled_from([1, 2, 5, 31, 32, 33, 60, 120]), axes=st.booleans(), layer=st.integers(0, 1))
    def run(self, length: int, axes: bool, layer: int) -> None:
        x, qkv = states(length)
        results = []
        for encoding in (self.used, copy.deepcopy(self.fresh)):
            embedded = encoding.embed(x, positions_of(length, axes))
            results += [embedded, attention(encoding.plan(positions_of(length, axes), x.dtype), qkv, layer)]
        assert torch.equal(results[0], results[2])
        assert torch.equal(results[1], results[3])

    @rule()
    def run_without_gradients_then_train(self) -> None:
        with torch.inference_mode():
            self.used.embed(states(3)[0], positions_of(3, False))
        x = states(3)[0].clone().requires_grad_()
        plan = self.used.train().plan(positions_of(3, False), x.dtype)
        (self.used.embed(x, positions_of(3, False)).sum() + attention(plan, states(3)[1]).sum()).backward()
        self.used.zero_grad()
        self.used.eval()

    @rule(dtype=st.sampled_from([torch.bfloat16, torch.float16, torch.float64]))
    def run_a_copy_in_another_dtype(self, dtype: torch.dtype) -> None:
        cast = copy.deepcopy(self.used).to(dtype)
        assert cast.embed(states(4, dtype=dtype)[0], positions_of(4, True)).dtype == dtype


@every_kind
def test_no_text_changes_what_comes_after_it(config: dict) -> None:
    machine = type("LengthsOfOneKind", (Lengths,), {"config": config})
    few = settings(
        deadline=None, max_examples=6, stateful_step_count=8, suppress_health_check=list(HealthCheck), database=None
    )
    run_state_machine_as_test(machine, settings=few)


@every_kind
@pytest.mark.parametrize("axes", [False, True], ids=["plain", "axes"])
def test_gradient_reaches_every_parameter(config: dict, axes: bool) -> None:
    encoder = small_encoder(config)
    valid = torch.arange(64)[None] < torch.tensor([[64], [50]])
    ids = torch.tensor([some_ids(64), some_ids(64, seed=1)])
    encoder(ids, valid, positions_of(64, axes)).square().sum().backward()
    for name, parameter in encoder.position.named_parameters():
        assert parameter.grad is not None, f"{name} takes no part: several processes could not train it"
        assert parameter.grad.isfinite().all(), name
        if axes:  # plain texts have no step, no depth and no language to learn from
            assert parameter.grad.abs().sum() > 0, name


@every_kind
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
def test_an_encoder_in_any_dtype_stays_close_with_further_axes(
    config: dict, dtype: torch.dtype, training: bool
) -> None:
    encoder = small_encoder(config)
    ids, valid = padded([some_ids(40), some_ids(9, seed=1)], side="left")
    exact = encoder.double()(ids, valid, positions_of(40, True))[valid]
    out = encoder.to(dtype).train(training)(ids, valid, positions_of(40, True))[valid]
    assert out.dtype == dtype
    tolerance = {torch.float32: 1e-4, torch.bfloat16: 0.25, torch.float16: 0.04}[dtype]
    assert torch.allclose(out.double(), exact, atol=tolerance)


@every_kind
def test_everything_follows_to_another_device(config: dict) -> None:
    encoding = build(config).to("meta")
    assert all(parameter.is_meta for parameter in encoding.parameters())
    x, qkv = (tensor.to("meta") for tensor in states(5))
    positions = positions_of(5, True).to("meta")
    assert encoding.embed(x, positions).is_meta
    assert attention(encoding.plan(positions, x.dtype), qkv).is_meta


@every_kind
def test_the_state_holds_what_is_trained_and_nothing_that_a_formula_gives(config: dict) -> None:
    encoding = build(config)
    assert list(encoding.state_dict()) == [name for name, _ in encoding.named_parameters()]
    assert list(encoding.buffers()) == []
    longer = Geometry(24, 3, 8, 2, max_len=4 * GEOMETRY.max_len)
    trained_by_position = {"learned", "weighted"} & set(str(config).replace("'", " ").split())
    if not trained_by_position or config.get("axis") == "dim":
        build(config, longer).load_state_dict(encoding.state_dict())


@every_kind
def test_one_word_in_a_configuration_is_enough(config: dict) -> None:
    if set(config) != {"kind"}:
        return
    for width, heads in ((16, 4), (48, 6), (384, 12)):
        fields = {"vocab_size": 30, "width": width, "heads": heads, "layers": 1, "feed_forward_width": 16}
        encoder = Encoder(EncoderConfig.model_validate({**fields, "max_len": 64, "position": config}))
        assert encoder(torch.tensor([some_ids(9)]) % 30).isfinite().all()


class Whole(nn.Module):
    """An encoding and one attention, as one module."""

    def __init__(self, encoding: PositionEncoding) -> None:
        super().__init__()
        self.encoding = encoding

    def forward(self, x: Tensor, qkv: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        return self.encoding.embed(x, positions), attention(self.encoding.plan(positions, x.dtype), qkv)


@pytest.mark.parametrize(
    ("config", "axes"),
    [
        pytest.param(config, axes, id=f"{name} {'axes' if axes else 'plain'}", marks=() if quick else pytest.mark.slow)
        for name, config in CONFIGS.items()
        for axes, quick in ((False, name in KINDS), (True, False))
    ],
)
def test_export_keeps_the_length_open(config: dict, axes: bool) -> None:
    whole = Whole(build(config))  # report B068
    length = torch.export.Dim("length", min=2, max=128)
    with torch.no_grad():
        exported = torch.export.export(
            whole,
            (*states(20), positions_of(20, axes)),
            dynamic_shapes={"x": {1: length}, "qkv": {3: length}, "positions": {2 if axes else 1: length}},
        ).module()
        for tokens in (7, 20, 100):
            ours = whole(*states(tokens), positions_of(tokens, axes))
            theirs = exported(*states(tokens), positions_of(tokens, axes))
            for mine, expected in zip(theirs, ours, strict=True):
                assert torch.allclose(mine, expected, atol=1e-4)
        with pytest.raises((AssertionError, RuntimeError), match="128"):
            exported(*states(129), positions_of(129, axes))
