"""The configuration of an encoder: choices that cannot be, and choices that say where biases and norms stand."""

from __future__ import annotations

import pytest
import torch
from pydantic import ValidationError

from longdoc.nn import EncoderConfig
from longdoc.schema import explain_faults
from nn_kit import some_ids, tiny_encoder


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"width": 10, "heads": 4}, r"`width` must be a multiple of `heads` \(4\), but is 10 instead\."),
        ({"heads": 4, "key_value_heads": 3}, r"`heads` must be a multiple of `key_value_heads` \(3\), but is 4"),
        ({"window": ()}, r"`window` must name at least one layer's window, but names none\."),
        ({"window": (3, -1)}, r"greater than or equal to 0"),
        ({"layers": 2, "window": (3, None, 3)}, r"`window` must name at most one number a layer \(2\), but names 3 "),
        (
            {"layers": 1, "position": {"kind": "stacked", "parts": ["learned", {"kind": "rotary", "theta": [9, 99]}]}},
            r"`theta` must name at most one number a layer \(1\), but names 2 instead\.",
        ),
        ({"global_tokens": -1}, r"greater than or equal to 0"),
        (
            {"global_tokens": 1, "window": 4, "position": {"kind": "shaw"}},
            r"`position` must not speak to the values beside global tokens, but shaw does\. Choose another, or set "
            r"`global_tokens` to 0\.",
        ),
    ],
)
def test_what_cannot_be_is_refused(changes: dict, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        EncoderConfig(**changes)


def test_shaw_without_its_values_goes_with_global_tokens() -> None:
    config = EncoderConfig(global_tokens=1, window=4, position={"kind": "shaw", "values": False})
    assert config.position.values is False


@pytest.mark.parametrize(
    ("position", "message"),
    [
        ({"kind": "shaw", "clip": 10**12}, "`position.clip` must be at most 16777216, but is more."),
        ({"kind": "buckets", "buckets": 10**12}, "`position.buckets` must be at most 16777216, but is more."),
        ({"kind": "disentangled", "buckets": 10**12}, "`position.buckets` must be at most 16777216"),
        ({"kind": "learned", "rows": 10**14}, "`position.rows` must be at most 16777216, but is more."),
        ({"kind": "rotary", "theta": 1e-300}, "`position.theta` must be at least 1, but is less."),
        ({"kind": "rotary", "theta": [10000, 1e300]}, "`position.theta.1` must be at most 1000000000000000000, but"),
        ({"kind": "axial_rotary", "theta": 0.5}, "`position.theta` must be at least 1, but is less."),
        ({"kind": "sinusoidal", "base": 0.5}, "`position.base` must be at least 1, but is less."),
        ({"kind": "axial", "axes": [1, 1]}, "`position.axes` must be distinct, but 1 of 2 come again."),
        ({"kind": "tree", "axes": [2, 1, 2]}, "`position.axes` must be distinct, but 1 of 3 come again."),
        ({"kind": "language", "languages": ["en", "en"]}, "`position.languages` must be distinct, but 1 of 2 come "),
        ({"kind": "language_gate", "languages": [""]}, "`position.languages` must be codes, but one is empty."),
        (
            {"kind": "rotary", "past_max_len": "error"},
            "`past_max_len` must be `extend` where there is no `max_len`, but is `error`. Set `max_len`.",
        ),
        (
            {"kind": "sinusoidal", "past_max_len": "error"},
            "`past_max_len` must be `extend` where there is no `max_len`, but is `error`. Set `max_len`.",
        ),
        (
            {
                "kind": "rotary",
                "scaling": {"kind": "yarn", "factor": 4, "original_max_len": 64, "beta_fast": 1, "beta_slow": 32},
            },
            "`position.scaling`: `beta_fast` must be greater than `beta_slow` (32.0), but is 1.0 instead.",
        ),
        ({"kind": "sinusoidal", "offset": 10**20}, "`position.offset` must be at most 2147483648"),
        (
            {
                "kind": "rotary",
                "scaling": {
                    "kind": "longrope", "factor": 2, "original_max_len": 9, "target_len": 10,
                    "short_factors": [0.0], "long_factors": [-1.0],
                },
            },
            "must be more than 0, but is not.",
        ),
    ],
)  # fmt: skip
def test_numbers_that_no_machine_could_follow_are_refused(position: dict, message: str) -> None:
    with pytest.raises(ValidationError) as refused:
        EncoderConfig(position=position)
    assert message in explain_faults(refused.value, EncoderConfig)


def test_a_head_width_of_its_own_frees_the_width() -> None:
    config = EncoderConfig(width=10, heads=4, head_width=6)
    assert (config.geometry.head_width, config.geometry.embedding_width) == (6, 10)
    assert EncoderConfig(embedding_width=32).geometry.embedding_width == 32


def test_biases_are_chosen_place_by_place() -> None:
    def with_bias(**changes: object) -> set[str]:
        names = [name for name, _ in tiny_encoder(**changes).named_parameters() if name.endswith("bias")]
        return {name.split(".", 2)[-1].removesuffix(".bias") for name in names if name.startswith("layers.1.")}

    attention = {f"attention.{part}" for part in ("query", "key", "value", "output")}
    norms = {"attention_norm", "feed_forward_norm"}
    everything = attention | norms | {"feed_forward.inner", "feed_forward.gate", "feed_forward.output"}
    gated = {"feed_forward": "gated"}
    assert with_bias(**gated) == everything
    assert with_bias(**gated, bias=False) == set()
    assert with_bias(**gated, bias=False, norm_bias=True) == norms
    assert with_bias(**gated, feed_forward_bias=False) == everything - {"feed_forward.inner", "feed_forward.gate"}
    assert with_bias(**gated, bias=False, feed_forward_output_bias=True) == {"feed_forward.output"}
    assert with_bias(**gated, attention_bias=False) == everything - attention


def test_the_first_norm_may_be_left_out() -> None:
    encoder = tiny_encoder(norm="pre", first_norm=False)
    assert isinstance(encoder.layers[0].attention_norm, torch.nn.Identity)
    assert isinstance(encoder.layers[1].attention_norm, torch.nn.LayerNorm)


def test_narrow_embeddings_are_normed_and_then_projected() -> None:
    encoder = tiny_encoder(embedding_width=6, token_types=2, layers=1)
    ids = torch.tensor([some_ids(5)])
    embedded = encoder.word(ids) + encoder.token_type.weight[0] + encoder.position.weight[:5]
    projected = encoder.embedding_projection(encoder.embedding_norm(embedded))
    assert projected.shape == (1, 5, 16)
    plan = encoder.position.plan(torch.arange(5)[None], projected.dtype)
    assert torch.allclose(encoder.layers[0](projected, None, plan, 0), encoder(ids), atol=1e-6)


def test_an_old_configuration_still_means_what_it_meant() -> None:
    assert EncoderConfig(window=3).window_of(7) == 3
    assert EncoderConfig(window=(None, 4)).window_of(3) == 4
    assert EncoderConfig.model_validate_json(EncoderConfig(window=(None, 4)).model_dump_json()).window == (None, 4)


def test_a_window_past_any_text_is_refused() -> None:
    with pytest.raises(ValidationError) as refused:
        EncoderConfig(window=10**22)
    assert explain_faults(refused.value, EncoderConfig) == "`window` must be at most 2147483648, but is more."
