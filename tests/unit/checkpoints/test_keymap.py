"""Names between families and us."""

from __future__ import annotations

import re

import pytest
import torch
from torch import nn

from longdoc.checkpoints.keymap import KeyMap, assign
from longdoc.errors import CheckpointError

KEYS = KeyMap(
    [("enc.layer.{}.dense", "layers.{}.out"), ("enc.layer.{}.part.{}.x", "layers.{}.parts.{}"), ("emb", "word")]
)


def test_names_go_there_and_back() -> None:
    pairs = {
        "enc.layer.3.dense.weight": "layers.3.out.weight",
        "enc.layer.12.part.7.x.bias": "layers.12.parts.7.bias",
        "emb.weight": "word.weight",
    }
    for theirs, ours in pairs.items():
        assert KEYS.to_ours(theirs) == ours
        assert KEYS.to_theirs(ours) == theirs


@pytest.mark.parametrize(
    "name", ["enc.layer.x.dense.weight", "enc.layer.3.dense", "xemb.weight", "emb.weight.more", ""]
)
def test_what_fits_no_rule_has_no_name(name: str) -> None:
    assert KEYS.to_ours(name) is None


def test_the_first_rule_that_fits_is_taken() -> None:
    keys = KeyMap([("a.{}", "special.{}"), ("a.{}", "general.{}")])
    assert keys.to_ours("a.1.weight") == "special.1.weight"


def test_assign_fills_a_module_without_memory_in_float32_with_copies() -> None:
    with torch.device("meta"):
        module = nn.Linear(2, 1)
    weight, bias = torch.ones(1, 2, dtype=torch.bfloat16), torch.zeros(1, dtype=torch.float64)
    assign(module, {"weight": weight, "bias": bias}, "somewhere")
    weight.fill_(7.0)
    bias.fill_(7.0)
    assert module.weight.tolist() == [[1.0, 1.0]]
    assert (module.weight.dtype, module.bias.dtype) == (torch.float32, torch.float64)
    assert module.bias.tolist() == [0.0]
    assert all(parameter.requires_grad for parameter in module.parameters())


def test_one_error_lists_every_fault_and_nothing_is_changed() -> None:
    module = nn.ModuleDict({name: nn.Linear(2, 2) for name in "abcd"})
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    tensors = dict(before) | {"a.weight": torch.zeros(2, 3), "b.bias": torch.tensor([0.0, float("inf")])}
    del tensors["c.weight"], tensors["c.bias"]
    message = (
        "`somewhere` must hold exactly the tensors that its configuration describes, but does not. Missing: "
        "c.weight, c.bias. Unexpected: extra. Of the wrong shape: a.weight (2x3 instead of 2x2). Not finite (NaN or "
        "infinity): b.bias. Check that `config.json` and the weights belong together, and fetch the checkpoint again "
        "if it is damaged."
    )
    with pytest.raises(CheckpointError, match=f"^{re.escape(message)}$"):
        assign(module, tensors, "somewhere", unexpected=["extra"])
    assert all(torch.equal(tensor, before[name]) for name, tensor in module.state_dict().items())


def test_a_long_list_of_names_is_cut_and_counted() -> None:
    module = nn.ModuleDict({f"m{n}": nn.Linear(1, 1) for n in range(10)})
    with pytest.raises(CheckpointError, match=r"m3\.bias and 12 more\. Check"):
        assign(module, {}, "somewhere")
