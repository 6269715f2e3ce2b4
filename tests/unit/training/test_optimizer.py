"""What learns and how fast, looked up by the identity of parameters in the encoder's own layers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import nn

import family_kit
from longdoc.checkpoints.opening import family_of
from longdoc.errors import ConfigurationError
from longdoc.model import LongDocModel
from longdoc.nn import Encoder
from longdoc.nn.mergers.hierarchical import HierarchicalMergerConfig
from longdoc.training.optimizer import build_optimizer, freeze_parts
from nn_kit import tiny_model


@dataclass
class Rates:
    learning_rate: float = 1.0
    head_learning_rate: float | None = None
    weight_decay: float = 0.5


def groups(model: LongDocModel, decay: float, rates: Rates | None = None) -> dict[int, tuple[float, float]]:
    """id of a parameter -> its rate and weight decay."""
    found: dict[int, tuple[float, float]] = {}
    for group in build_optimizer(model, rates or Rates(), decay).param_groups:
        for parameter in group["params"]:
            assert id(parameter) not in found, "a parameter learns once a step"
            found[id(parameter)] = (group["lr"], group["weight_decay"])
    return found


def expected_rates(encoder: Encoder, decay: float) -> dict[int, float]:
    """By the encoder's parts, from the bottom up."""
    count = len(encoder.layers)
    expected = {id(p): decay**count for p in encoder.parameters()}
    for number, layer in enumerate(encoder.layers):
        expected |= {id(p): decay ** (count - 1 - number) for p in layer.parameters()}
    return expected | {id(p): 1.0 for p in encoder.final_norm.parameters()}


@pytest.mark.parametrize("family", family_kit.TINY)
def test_rates_fall_from_layer_to_layer_in_every_family(family: str) -> None:
    described = family_kit.tiny_config(family).to_dict()
    known = family_of(described)
    assert known is not None
    encoder = Encoder(known.config_from_hf(described))
    model = LongDocModel(encoder, tiny_model().readout)
    found = groups(model, 0.5)
    expected = expected_rates(encoder, 0.5)
    assert {key: found[key][0] for key in expected} == expected
    assert len(set(expected.values())) == len(encoder.layers) + 1, "the embeddings are one step below the first layer"
    head = {found[id(p)][0] for p in model.readout.parameters()}
    assert head == {10.0}, "of the head, ten times the encoder's"


def test_without_decay_all_layers_have_the_encoders_rate() -> None:
    model = tiny_model(layers=3)
    found = groups(model, 1.0, Rates(0.25, 0.75))
    assert {found[id(p)][0] for p in model.encoder.parameters()} == {0.25}
    assert {found[id(p)][0] for p in model.readout.parameters()} == {0.75}


@pytest.mark.parametrize(("asked", "layers"), [(1e-2, 1e-4), (1e-5, 1e-5)])
def test_layers_of_a_merger_learn_no_faster_than_suits_layers(asked: float, layers: float) -> None:
    model = tiny_model()
    model.readout.merger = HierarchicalMergerConfig(hidden=8, heads=2).build(model.encoder.config.width)
    found = groups(model, 1.0, Rates(1e-5, asked))
    merger = {id(p) for p in model.readout.merger.parameters()}
    assert {found[key][0] for key in merger} == {layers}
    assert {found[id(p)][0] for p in model.readout.parameters() if id(p) not in merger} == {asked}


def test_a_head_on_a_frozen_encoder_learns_fast_unless_it_is_told_how_fast() -> None:
    """At ten times the usual rate of an encoder, 320 steps leave it answering one label for all."""
    model = tiny_model(layers=2)
    assert freeze_parts(model, ["encoder"])
    for rates, expected in ((Rates(2e-5), 1e-2), (Rates(2e-5, 3e-4), 3e-4), (Rates(0.02), 0.2)):
        assert {rate for rate, _ in groups(model, 1.0, rates).values()} == {expected}
    partly = tiny_model(layers=2)
    freeze_parts(partly, ["encoder.embeddings", "encoder.layers.0"])
    found = groups(partly, 1.0, Rates(2e-5))
    assert {found[id(p)][0] for p in partly.readout.parameters()} == {2e-4}


def test_the_rate_that_is_told_is_that_of_the_uppermost_layer() -> None:
    assert build_optimizer(tiny_model(layers=3), Rates(), 0.5).param_groups[0]["lr"] == 1.0


@pytest.mark.parametrize("position", ["learned", "shaw", "buckets", "disentangled", "sinusoidal"])
def test_biases_norms_and_position_tables_do_not_decay(position: str) -> None:
    model = tiny_model(position={"kind": position}, norm="pre")
    found = groups(model, 0.9)
    still: set[int] = {id(p) for p in model.encoder.position.parameters()}
    for module in model.modules():
        if isinstance(module, nn.LayerNorm | nn.RMSNorm):
            still |= {id(p) for p in module.parameters()}
        elif isinstance(module, nn.Linear) and module.bias is not None:
            still.add(id(module.bias))
    products = {id(m.weight) for m in model.modules() if isinstance(m, nn.Linear)} | {id(model.encoder.word.weight)}
    assert {found[key][1] for key in still} == {0.0}
    assert {found[key][1] for key in products - still} == {0.5}


def test_a_frozen_parameter_is_in_no_group() -> None:
    model = tiny_model(layers=3)
    freeze_parts(model, ["encoder.layers.0", "encoder.embeddings"])
    found = groups(model, 0.5)
    assert not set(found) & {id(p) for p in [*model.encoder.layers[0].parameters(), *model.encoder.word.parameters()]}
    assert {found[id(p)][0] for p in model.encoder.layers[1].parameters()} == {0.5}


def learning(model: nn.Module) -> set[str]:
    return {name for name, parameter in model.named_parameters() if parameter.requires_grad}


@pytest.mark.parametrize(
    ("pattern", "frozen"),
    [
        ("encoder.layers.[0-1]", lambda name: name.startswith(("encoder.layers.0.", "encoder.layers.1."))),
        ("encoder.layers.*.attention", lambda name: name.startswith("encoder.layers.") and ".attention." in name),
        ("encoder.layers.*.*_norm", lambda name: name.startswith("encoder.layers.") and "_norm." in name),
        ("encoder.layers.1", lambda name: name.startswith("encoder.layers.1.")),  # and not layer 10
        (
            "encoder.embeddings",
            lambda name: name.startswith("encoder.") and not name.startswith(("encoder.layers", "encoder.final_norm")),
        ),
        ("*.word", lambda name: name.startswith("encoder.word.")),
    ],
)
def test_parts_are_frozen_by_name_and_by_pattern(pattern: str, frozen: Any) -> None:
    model = tiny_model(layers=11, token_types=2, norm="pre", position={"kind": "learned"})
    before = learning(model)
    assert freeze_parts(model, [pattern]) is False
    assert before - learning(model) == {name for name in before if frozen(name)} != set()


def test_the_whole_encoder_can_be_frozen_by_pieces() -> None:
    model = tiny_model(layers=2, norm="pre")
    assert freeze_parts(model, ["encoder.embeddings", "encoder.layers.*", "encoder.final_norm"]) is True


def test_a_pattern_that_meets_nothing_is_refused() -> None:
    with pytest.raises(ConfigurationError) as caught:
        freeze_parts(tiny_model(layers=2), ["encoder.layers.[5-9]"])
    assert str(caught.value) == (
        "`training.freeze` names 'encoder.layers.[5-9]', but the model has no such part. It has: encoder, "
        "encoder.embedding_norm, encoder.layers, encoder.position, encoder.word, readout.head."
    )


def test_steps_with_decay_move_low_layers_less() -> None:
    """One step of AdamW moves a parameter by its rate, whatever the gradient's size."""
    model = tiny_model(layers=3)
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    optimizer = build_optimizer(model, Rates(1e-3, weight_decay=0.0), 0.5)
    for parameter in model.parameters():
        parameter.grad = torch.full_like(parameter, 7.0)
    optimizer.step()
    moved = {n: float((p.detach() - before[n]).abs().max()) for n, p in model.named_parameters()}
    for number, expected in enumerate((2.5e-4, 5e-4, 1e-3)):
        assert moved[f"encoder.layers.{number}.feed_forward.inner.weight"] == pytest.approx(expected, rel=1e-3)
    assert moved["encoder.word.weight"] == pytest.approx(1.25e-4, rel=1e-3)
