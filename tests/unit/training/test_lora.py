"""Corrections of low rank: what learns, by which formula, and that a saved model is an ordinary one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from longdoc.checkpoints import load_encoder
from longdoc.errors import ConfigurationError
from longdoc.model import LongDocModel
from longdoc.pipeline import Pipeline
from longdoc.training.lora import LoraConfig, add_adapters, merge_adapters, merged
from longdoc.training.optimizer import freeze_parts
from nn_kit import VOCABULARY, tiny_model
from training_kit import documents, lines, run, stopped

pytestmark = pytest.mark.slow  # the package takes long to be imported


@pytest.fixture
def peft() -> Any:
    return pytest.importorskip("peft", reason="the package peft, of the extra lora, is not installed")


def learning(model: LongDocModel) -> set[str]:
    return {name for name, p in model.named_parameters() if p.requires_grad and name.startswith("encoder.")}


def ids() -> torch.Tensor:
    return torch.randint(0, VOCABULARY, (2, 9), generator=torch.Generator().manual_seed(1))


def adapted(**settings: Any) -> LongDocModel:
    """With corrections that are not zero."""
    model = tiny_model(layers=3)
    add_adapters(model, LoraConfig(**settings))
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_" in name:
                parameter.copy_(0.2 * torch.randn(parameter.shape, generator=generator))
    return model


def test_only_the_corrections_of_the_encoder_learn_and_the_readout_does(peft: Any) -> None:
    model = adapted(rank=2)
    expected = {
        f"encoder.layers.{n}.attention.{product}.lora_{side}.default.weight"
        for n in range(3)
        for product in ("query", "value")
        for side in "AB"
    }
    assert learning(model) == expected
    assert all(p.requires_grad for p in model.readout.parameters())


def test_before_the_first_step_nothing_changes(peft: Any) -> None:
    model = tiny_model(layers=2)
    expected = model.encoder(ids())
    assert add_adapters(model, LoraConfig(targets=("attention.*", "feed_forward.*"))) == 2 * 6
    assert torch.equal(model.encoder(ids()), expected)


def test_a_product_with_its_correction_is_the_written_formula(peft: Any) -> None:
    """W + alpha / rank * B A, in a product that is an ordinary one inside and the old object outside."""
    model = adapted(rank=2, alpha=3.0)
    product: Any = model.encoder.layers[1].attention.query
    a, b = product.lora_A["default"].weight, product.lora_B["default"].weight
    expected = product.get_base_layer().weight + 3.0 / 2 * b @ a
    before, names = model.encoder(ids()), list(model.state_dict())
    weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    with merged(model):
        plain = model.encoder.layers[1].attention.query
        assert type(plain) is torch.nn.Linear
        torch.testing.assert_close(plain.weight, expected)
        assert list(model.state_dict()) == list(tiny_model(layers=3).state_dict())
        torch.testing.assert_close(model.encoder(ids()), before, rtol=1e-5, atol=1e-5)
    assert list(model.state_dict()) == names
    assert all(torch.equal(tensor, weights[name]) for name, tensor in model.state_dict().items())
    assert torch.equal(model.encoder(ids()), before)


def test_merging_for_good_leaves_an_ordinary_encoder(peft: Any) -> None:
    model = adapted()
    before = model.encoder(ids())
    merge_adapters(model)
    assert list(model.state_dict()) == list(tiny_model(layers=3).state_dict())
    torch.testing.assert_close(model.encoder(ids()), before, rtol=1e-5, atol=1e-5)


def test_frozen_layers_get_no_corrections(peft: Any) -> None:
    model = tiny_model(layers=3)
    freeze_parts(model, ["encoder.layers.[0-1]"])
    assert add_adapters(model, LoraConfig()) == 2
    assert {name.split(".")[2] for name in learning(model)} == {"2"}


@pytest.mark.parametrize(
    ("freeze", "targets", "message"),
    [
        (
            [],
            ("querry",),
            "`training.lora.targets` must name products of the encoder's layers, but none of its 1 names does. There "
            "are: attention.key, attention.output, attention.query, attention.value, feed_forward.inner, "
            "feed_forward.output.",
        ),
        (
            ["encoder"],
            ("attention.query",),
            "`training.lora` corrects products that `training.freeze` leaves free, but it freezes all of them. Leave "
            "`training.freeze` out: with corrections nothing else of the encoder learns anyway.",
        ),
    ],
)
def test_what_cannot_be_corrected_is_refused(
    peft: Any, freeze: list[str], targets: tuple[str, ...], message: str
) -> None:
    model = tiny_model(layers=2)
    freeze_parts(model, freeze)
    with pytest.raises(ConfigurationError) as caught:
        add_adapters(model, LoraConfig(targets=targets))
    assert str(caught.value) == message


def test_a_run_keeps_the_encoder_but_for_its_corrections_and_goes_on_after_a_stop(
    peft: Any, tiny_pipeline: Pipeline, tmp_path: Path
) -> None:
    settings = ("lora.rank=2", "num_train_epochs=2", "learning_rate=0.01")
    given = {"train": documents(8), "validation": documents(4, 20, "v")}
    run(tiny_pipeline, tmp_path / "whole", *settings, **given)  # type: ignore[arg-type]
    stopped(tiny_pipeline, tmp_path / "apart", *settings, stop_after=3, **given)
    run(tiny_pipeline, tmp_path / "apart", *settings, **given)  # type: ignore[arg-type]
    assert lines(tmp_path / "apart") == lines(tmp_path / "whole")
    saved = load_encoder(tmp_path / "whole").state_dict()
    original = tiny_pipeline.model.encoder.state_dict()
    assert saved.keys() == original.keys()
    changed = {name for name in saved if not torch.equal(saved[name], original[name])}
    assert changed == {"layers.0.attention.query.weight", "layers.0.attention.value.weight"}
    for name in changed:
        values = torch.linalg.svdvals(saved[name] - original[name])
        assert int((values > 1e-6).sum()) == 2, "of the rank that was asked for"


@pytest.mark.slow
@pytest.mark.usefixtures("minilm_folder")
def test_the_saved_folder_gives_the_same_numbers_in_transformers(peft: Any, tmp_path: Path) -> None:
    """Corrections are merged into the weights, under the names of the family."""
    from transformers import AutoModel

    pipeline = Pipeline.from_checkpoint("default", ("contract", "letter", "notice"))
    run(pipeline, tmp_path, "lora.rank=2", "num_train_epochs=1", "learning_rate=0.01", train=documents(3))
    theirs, ours = AutoModel.from_pretrained(tmp_path).eval(), load_encoder(tmp_path).eval()
    tokens = torch.randint(1000, 2000, (2, 40), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        found = ours(tokens)
        torch.testing.assert_close(theirs(tokens).last_hidden_state, found, rtol=1e-5, atol=1e-5)
        assert float((pipeline.model.encoder(tokens) - found).abs().max()) > 1e-3, "it has learned"
