"""Stretched rotary frequencies: transformers' numbers, and no text that changes another's."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from pydantic import TypeAdapter, ValidationError

from longdoc.errors import UsageError
from longdoc.nn.position import Geometry, RotaryConfig, RotaryPosition
from longdoc.nn.position.scaling import DynamicScaling, LinearScaling, Llama3Scaling, LongRopeScaling, YarnScaling

DIVISORS = {64: tuple(1 + i / 10 for i in range(32)), 16: tuple(1 + i / 10 for i in range(8))}


def transformers_frequencies(
    rope: dict[str, Any], width: int, theta: float, partial: float, max_len: int, seq_len: int | None = None
) -> tuple[torch.Tensor, float]:
    from transformers import LlamaConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    config = LlamaConfig(
        hidden_size=width * 2,
        num_attention_heads=2,
        head_dim=width,
        max_position_embeddings=max_len,
        rope_parameters={"rope_theta": theta, "partial_rotary_factor": partial, **rope},
    )
    return ROPE_INIT_FUNCTIONS[rope["rope_type"]](config, "cpu", seq_len=seq_len)


@pytest.mark.parametrize(("width", "partial"), [(64, 1.0), (64, 0.25), (16, 1.0)])
@pytest.mark.parametrize("theta", [10000.0, 160000.0])
@pytest.mark.parametrize("name", ["linear", "dynamic", "yarn", "yarn beside whole components", "longrope", "llama3"])
def test_frequencies_equal_those_of_transformers_bit_for_bit(
    name: str, theta: float, width: int, partial: float
) -> None:
    turned = int(width * partial)
    divisors = DIVISORS[turned]
    longer = tuple(2 * d for d in divisors)
    ours, theirs, seq_len = {
        "linear": (LinearScaling(factor=3), {"rope_type": "linear", "factor": 3.0}, None),
        "dynamic": (
            DynamicScaling(factor=2, original_max_len=512, target_len=2000),
            {"rope_type": "dynamic", "factor": 2.0},
            2000,
        ),
        "yarn": (
            YarnScaling(factor=4, original_max_len=512),
            {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 512},
            None,
        ),
        "yarn beside whole components": (
            YarnScaling(factor=4, original_max_len=512, truncate=False, beta_fast=16, beta_slow=2),
            {
                "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 512, "truncate": False,
                "beta_fast": 16.0, "beta_slow": 2.0,
            },
            None,
        ),
        "longrope": (
            LongRopeScaling(
                factor=4, original_max_len=512, target_len=2048, short_factors=divisors, long_factors=longer
            ),
            {
                "rope_type": "longrope", "factor": 4.0, "original_max_position_embeddings": 512,
                "short_factor": list(divisors), "long_factor": list(longer),
            },
            2048,
        ),
        "llama3": (
            Llama3Scaling(factor=8, original_max_len=1024),
            {
                "rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 1024,
                "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            },
            None,
        ),
    }[name]  # fmt: skip
    frequencies, magnitude = transformers_frequencies(theirs, width, theta, partial, 512, seq_len)
    assert torch.equal(ours.frequencies(theta, turned), frequencies)
    assert ours.magnitude == pytest.approx(magnitude, rel=1e-12)


def test_a_short_target_takes_the_short_divisors_of_longrope() -> None:
    scaling = LongRopeScaling(
        factor=1, original_max_len=512, target_len=512, short_factors=(1.0,) * 8, long_factors=(9.0,) * 8
    )
    assert torch.equal(scaling.frequencies(10000.0, 16), RotaryPosition(16).frequencies())
    assert scaling.magnitude == 1.0


def test_the_magnitude_of_yarn_is_that_of_its_paper() -> None:
    assert YarnScaling(factor=4, original_max_len=512).magnitude == pytest.approx(1.1386, abs=1e-4)
    assert YarnScaling(factor=4, original_max_len=512, attention_factor=1.5).magnitude == 1.5


@pytest.mark.parametrize(
    "scaling",
    [
        LinearScaling(factor=1),
        DynamicScaling(original_max_len=16, target_len=16),
        YarnScaling(factor=1, original_max_len=16),
        Llama3Scaling(factor=1, original_max_len=16),
    ],
)
def test_a_factor_of_1_is_no_scaling_bit_for_bit(scaling: Any) -> None:
    positions = torch.arange(300)[None]  # report B059
    q, k = torch.randn(2, 1, 8, 300, 32)
    plain = RotaryPosition(32).plan(positions, torch.float32).rotate(q, k, 0)
    scaled = RotaryPosition(32, scaling=scaling).plan(positions, torch.float32).rotate(q, k, 0)
    assert torch.equal(plain[0], scaled[0])
    assert torch.equal(plain[1], scaled[1])


def turned(encoding: RotaryPosition, positions: torch.Tensor) -> torch.Tensor:
    x = torch.ones(positions.shape[0], 1, positions.shape[1], encoding.width)
    return encoding.plan(positions, torch.float32).rotate(x, x, 0)[0][:, 0]


def test_linear_2_puts_position_10_where_5_was() -> None:
    plain = turned(RotaryPosition(32), torch.tensor([[5]]))  # report B059
    assert torch.equal(turned(RotaryPosition(32, scaling=LinearScaling(factor=2)), torch.tensor([[10]])), plain)


@pytest.mark.parametrize(
    "scaling",
    [
        DynamicScaling(factor=2, original_max_len=512, target_len=2000),
        LongRopeScaling(
            factor=4, original_max_len=512, target_len=2000, short_factors=(1.0,) * 8, long_factors=(3.0,) * 8
        ),
    ],
)
def test_a_long_text_never_changes_a_short_one(scaling: Any) -> None:
    encoding = RotaryPosition(16, scaling=scaling)  # report B058
    short, long = torch.arange(100)[None], torch.arange(2000)[None]
    alone = turned(encoding, short)
    turned(encoding, long)
    assert torch.equal(turned(encoding, short), alone)
    together = turned(encoding, torch.cat([long, torch.nn.functional.pad(short, (0, 1900), value=99)]))
    assert torch.equal(together[1, :100], alone[0])


def test_the_magnitude_sharpens_queries_and_keys() -> None:
    scaling = YarnScaling(factor=4, original_max_len=512)
    encoding = RotaryPosition(16, scaling=scaling)
    norm = turned(encoding, torch.tensor([[7]])).norm().item()
    assert norm == pytest.approx(4 * scaling.magnitude, rel=1e-6)


def test_each_layer_has_its_own_base_in_turn() -> None:
    encoding = RotaryPosition(16, theta=(160000.0, 10000.0, 10000.0))
    positions, x = torch.tensor([[5, 900]]), torch.randn(1, 2, 2, 16)
    plan = encoding.plan(positions, torch.float32)
    far, near = (RotaryPosition(16, theta=theta).plan(positions, torch.float32) for theta in (160000.0, 10000.0))
    for layer, expected in enumerate([far, near, near, far, near]):
        assert torch.equal(plan.rotate(x, x, layer)[0], expected.rotate(x, x, 0)[0])
    assert torch.equal(encoding.frequencies(layer=4), RotaryPosition(16).frequencies())


def test_equals_the_two_bases_of_modernbert() -> None:
    from transformers import ModernBertConfig
    from transformers.models.modernbert.modeling_modernbert import ModernBertRotaryEmbedding

    config = ModernBertConfig(hidden_size=64, num_attention_heads=4, num_hidden_layers=6)
    theirs = ModernBertRotaryEmbedding(config)
    encoding = RotaryPosition(16, theta=(160000.0, 10000.0, 10000.0))
    for layer, kind in enumerate(config.layer_types):
        assert torch.equal(encoding.frequencies(layer=layer), getattr(theirs, f"{kind}_inv_freq"))


def test_the_configuration_is_a_union_by_kind() -> None:
    geometry = Geometry(width=32, heads=2, head_width=16, layers=1, max_len=9)
    adapter = TypeAdapter(RotaryConfig)
    config = adapter.validate_python(
        {"theta": [160000, 10000], "scaling": {"kind": "yarn", "factor": 4, "original_max_len": 512}}
    )
    encoding = config.build(geometry)
    assert encoding.thetas == (160000.0, 10000.0)
    assert torch.equal(encoding.frequencies(), YarnScaling(factor=4, original_max_len=512).frequencies(160000.0, 16))
    assert adapter.validate_json(adapter.dump_json(config)) == config
    for wrong in (
        {"kind": "unheard of"},
        {"kind": "linear", "factor": 0.5},
        {"kind": "dynamic", "factor": 2},
        {"kind": "llama3", "factor": 2, "original_max_len": 9, "high_frequency_factor": 1},
    ):
        with pytest.raises(ValidationError):
            adapter.validate_python({"scaling": wrong})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {
                "width": 16,
                "scaling": LongRopeScaling(
                    factor=2, original_max_len=9, target_len=10, short_factors=(1.0,), long_factors=(1.0, 2.0)
                ),
            },
            "LongRoPE needs 8 divisors, one for each turned pair of components, but has 2 instead.",
        ),
        (
            {"width": 2, "scaling": DynamicScaling(factor=2, original_max_len=9, target_len=10)},
            "Dynamic scaling needs more than 2 turned components, but the head turns 2.",
        ),
        ({"width": 16, "theta": ()}, "`theta` must hold at least one number, but is empty."),
        ({"width": 16, "theta": (10.0, -1.0)}, "`theta` must be in [1, 1e+18], but is -1 instead."),
        ({"width": 16, "theta": float("nan")}, "`theta` must be in [1, 1e+18], but is nan instead."),
        (
            {"width": 16, "theta": 1.0, "scaling": YarnScaling(factor=2, original_max_len=9)},
            "`theta` must be greater than 1 where YaRN stretches, but is 1.0 instead.",
        ),
    ],
)
def test_what_does_not_fit_the_head_is_refused_when_it_is_built(arguments: dict, message: str) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        RotaryPosition(**arguments)
