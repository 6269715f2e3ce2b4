"""Checkpoints whose rotary frequencies are stretched: every method, by the keys of transformers 5 and by older ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from family_kit import difference, ragged, reconfigure, saved, their_answer, their_model
from longdoc.checkpoints import load_encoder
from longdoc.checkpoints.native import save_encoder
from longdoc.errors import CheckpointError
from tokenizer_kit import toy

THETA = 10000.0
PARAMETERS: dict[str, dict[str, Any]] = {
    "linear": {"factor": 3.0},
    "dynamic": {"factor": 2.0},
    "yarn": {"factor": 4.0, "original_max_position_embeddings": 32, "beta_fast": 16.0},
    "llama3": {
        "factor": 8.0,
        "original_max_position_embeddings": 32,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
    },
    "longrope": {
        "factor": 2.0,
        "original_max_position_embeddings": 66,
        "short_factor": [1.0 + i / 10 for i in range(6)],
        "long_factor": [2.0] * 6,
    },
}


def parameters(kind: str) -> dict[str, Any]:
    return {"rope_type": kind, "rope_theta": THETA, **PARAMETERS[kind]}


@pytest.mark.parametrize("kind", PARAMETERS)
@pytest.mark.parametrize("family", ["nomic_bert", "modernbert"])
def test_states_of_a_stretched_model(kind: str, family: str, tmp_path: Path) -> None:
    said: dict[str, Any] = parameters(kind)
    if family == "modernbert":
        said = {f"{part}_attention": dict(said) for part in ("full", "sliding")}
    theirs = their_model(family, rope_parameters=said)
    ours = load_encoder(saved(theirs, tmp_path / "theirs"))
    assert ours.config.position.scaling.kind == kind
    ids, valid = ragged()
    expected = their_answer(theirs, ids, valid)
    with torch.no_grad():
        assert difference(ours(ids, valid), expected, valid) <= 1e-5
    save_encoder(tmp_path / "ours", ours, toy())
    again = type(theirs).from_pretrained(tmp_path / "ours").eval()
    assert torch.equal(their_answer(again, ids, valid), expected)


def test_a_scaling_shows(tmp_path: Path) -> None:
    theirs = their_model("nomic_bert", rope_parameters=parameters("linear"))
    folder = saved(theirs, tmp_path)
    reconfigure(folder, rope_parameters={"rope_type": "default", "rope_theta": THETA})
    ids, valid = ragged()
    with torch.no_grad():
        assert difference(load_encoder(folder)(ids, valid), their_answer(theirs, ids, valid), valid) > 1e-2


def test_older_keys_say_the_same(tmp_path: Path) -> None:
    folder = saved(their_model("gte", rope_parameters=parameters("linear")), tmp_path)
    new = load_encoder(folder).config
    reconfigure(folder, rope_parameters=None, rope_theta=THETA, rope_scaling={"type": "linear", "factor": 3.0})
    assert load_encoder(folder).config == new


def test_older_keys_of_modernbert_say_the_same(tmp_path: Path) -> None:
    folder = saved(their_model("modernbert"), tmp_path)
    new = load_encoder(folder).config
    assert new.position.theta == (160000.0, 10000.0, 10000.0, 160000.0)
    assert new.window == (None, 4, 4, None)
    reconfigure(
        folder,
        rope_parameters=None,
        layer_types=None,
        global_attn_every_n_layers=3,
        global_rope_theta=160000.0,
        local_rope_theta=10000.0,
    )
    assert load_encoder(folder).config == new


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (
            {"rope_type": "ntk", "factor": 2.0},
            r"^`rope_type` must be one of default, .* but is 'ntk' instead\.",
        ),
        (
            {"rope_type": "yarn", "factor": 2.0, "mscale": 2.0},
            r"but have mscale\. What they change cannot",
        ),
        ({"rope_type": "default", "partial_rotary_factor": 0.5}, r"but have partial_rotary_factor\."),
        ({"rope_type": "linear"}, r"`config.json` must describe an encoder, but does not: `position.rotary.scaling"),
    ],
)
def test_what_cannot_be_followed_is_refused(said: dict[str, Any], message: str, tmp_path: Path) -> None:
    folder = saved(their_model("nomic_bert"), tmp_path)
    reconfigure(folder, rope_parameters=said)
    with pytest.raises(CheckpointError, match=message):
        load_encoder(folder)


def test_modernbert_stretches_both_kinds_of_layers_alike(tmp_path: Path) -> None:
    folder = saved(their_model("modernbert"), tmp_path)
    both = {"full_attention": parameters("linear"), "sliding_attention": {"rope_type": "default"}}
    reconfigure(folder, rope_parameters=both)
    message = r"^`rope_parameters` must stretch full_attention and sliding_attention alike, but does not\."
    with pytest.raises(CheckpointError, match=message):
        load_encoder(folder)
