"""Layers that are computed twice give the same gradients, bit by bit, dropout included, and keep less."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from longdoc.errors import ConfigurationError
from longdoc.model import LongDocModel
from longdoc.pipeline import Pipeline
from longdoc.training.recomputing import recompute_layers
from nn_kit import VOCABULARY, tiny_model
from training_kit import documents, lines, run

POSITIONS = ["learned", "sinusoidal", "rotary", "alibi", "shaw", "buckets", "disentangled"]


def gradients(model: LongDocModel, ids: torch.Tensor, valid: torch.Tensor) -> dict[str, torch.Tensor]:
    torch.manual_seed(3)
    model.zero_grad(set_to_none=True)
    model.encoder(ids, valid).square().sum().backward()
    after = torch.rand(1)
    return {n: p.grad for n, p in model.named_parameters() if p.grad is not None} | {"the random stream": after}


def batch() -> tuple[torch.Tensor, torch.Tensor]:
    ids = torch.randint(0, VOCABULARY, (3, 20), generator=torch.Generator().manual_seed(0))
    return ids, torch.arange(20) < torch.tensor([[20], [7], [13]])


@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_gradients_are_the_same_bits(position: str, norm: str) -> None:
    model = tiny_model(position={"kind": position}, norm=norm, dropout=0.2, attention_dropout=0.1).train()
    expected = gradients(model, *batch())
    recompute_layers(model, True)
    found = gradients(model, *batch())
    assert found.keys() == expected.keys()
    assert any("layers.1" in name for name in found)
    assert [name for name in expected if not torch.equal(found[name], expected[name])] == []


def kept_bytes(model: LongDocModel) -> int:
    """What autograd holds between the way there and the way back, parameters aside."""
    owned = {p.untyped_storage().data_ptr() for p in model.parameters()}
    kept: dict[int, int] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in owned:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        result = model.encoder(*batch())
    assert result.requires_grad
    return sum(kept.values())


def test_less_is_kept_and_what_is_kept_grows_by_a_layers_input_alone() -> None:
    sizes = {}
    for layers in (4, 8):
        model = tiny_model(layers=layers, dropout=0.1).train()
        whole = kept_bytes(model)
        recompute_layers(model, True)
        sizes[layers] = (whole, kept_bytes(model))
    (whole, less), (whole_more, less_more) = sizes[4], sizes[8]
    assert less < whole / 3
    assert (less_more - less) < (whole_more - whole) / 5


def test_predictions_know_nothing_of_it() -> None:
    model = tiny_model(dropout=0.2).eval()
    expected = model.encoder(*batch())
    recompute_layers(model, True)
    with torch.no_grad():
        assert torch.equal(model.encoder(*batch()), expected)


def test_a_run_is_the_same_with_and_without(tiny_pipeline: Pipeline, tmp_path: Path) -> None:
    """Through the row cache too: a micro-batch has 64 tokens here, a step many."""
    written: list[Any] = []
    for wanted in ("false", "true"):
        settings = ("num_train_epochs=1", "micro_batch_tokens=64", f"checkpoint_activations={wanted}")
        run(tiny_pipeline, tmp_path / wanted, *settings, train=documents(8))
        written.append(lines(tmp_path / wanted))
    assert written[0] == written[1]
    assert len(written[0]) == 2


def test_an_encoder_of_ones_own_is_refused() -> None:
    class Own(nn.Module):
        encoder = nn.Linear(2, 2)

    recompute_layers(Own(), False)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError) as caught:
        recompute_layers(Own(), True)  # type: ignore[arg-type]
    assert str(caught.value) == (
        "`training.checkpoint_activations` needs the layers of `longdoc.nn.Encoder`, but this encoder has none of "
        "them. Set it to false; `training.micro_batch_tokens` saves memory with every encoder."
    )
