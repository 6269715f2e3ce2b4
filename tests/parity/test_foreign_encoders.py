"""Families whose code transformers does not have, against their formulas; nothing of theirs is run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch.nn import functional as F

from family_kit import reconfigure
from foreign_kit import CONFIGS, EPS, FORMULAS, WIDTH, largest_difference, written
from longdoc.checkpoints import load_encoder, open_checkpoint
from longdoc.checkpoints.language_models import save_language_model, start_language_model
from longdoc.checkpoints.native import save_encoder
from longdoc.errors import CheckpointError
from nn_kit import some_ids
from tokenizer_kit import toy

HEADS: dict[str, dict[str, tuple[int, ...]]] = {
    "neobert": {"decoder.weight": (60, WIDTH), "decoder.bias": (60,)},
    "jina": {
        "cls.predictions.transform.dense.weight": (WIDTH, WIDTH),
        "cls.predictions.transform.dense.bias": (WIDTH,),
        "cls.predictions.transform.LayerNorm.weight": (WIDTH,),
        "cls.predictions.transform.LayerNorm.bias": (WIDTH,),
        "cls.predictions.bias": (60,),
    },
}
"""Tensors of the heads that their authors' code has, beside those of the encoders."""


@pytest.fixture(params=CONFIGS)
def family(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def folder(family: str, tmp_path: Path) -> Path:
    return written(family, tmp_path)


def test_states_are_those_of_the_formula(family: str, folder: Path) -> None:
    assert open_checkpoint(folder).encoder.config.family == family
    assert largest_difference(folder, family, torch.float32) <= 1e-5
    # In float64, what is left of NeoBERT is our turning by float32 angles, as its training did; the formula does not.
    assert largest_difference(folder, family, torch.float64) <= (1e-5 if family == "neobert" else 1e-10)


def test_a_wrong_layout_or_slope_shows(family: str, folder: Path) -> None:
    def change(encoder: Any) -> None:
        if family == "neobert":
            encoder.position.layout = "half"
        else:
            encoder.position.slopes = tuple(reversed(encoder.position.slopes))

    assert largest_difference(folder, family, torch.float32, change) > 1e-2


def test_saved_again_the_same_bits_under_the_same_names(family: str, folder: Path, tmp_path: Path) -> None:
    encoder = load_encoder(folder).double()
    save_encoder(tmp_path / "again", encoder, toy())
    before, after = load_file(folder / "model.safetensors"), load_file(tmp_path / "again" / "model.safetensors")
    prefix = "model." if family == "neobert" else "bert."
    assert {name.removeprefix(prefix) for name in after} == set(before)
    assert all(torch.equal(tensor, after[f"{prefix}{name}"]) for name, tensor in before.items())
    again = load_encoder(tmp_path / "again")
    assert again.config == encoder.config
    assert json.loads((tmp_path / "again" / "config.json").read_text())["model_type"] == family


def test_the_head_that_guesses_tokens_is_the_one_of_its_authors(family: str, folder: Path, tmp_path: Path) -> None:
    """NeoBERT: one layer. Jina 2: that of BERT, a layer, GELU, a norm, and the words with a bias."""
    own = HEADS["neobert" if family == "neobert" else "jina"]
    tensors = load_file(folder / "model.safetensors")
    generator = torch.Generator().manual_seed(7)
    tensors |= {name: torch.randn(shape, generator=generator, dtype=torch.float64) for name, shape in own.items()}
    save_file(tensors, folder / "model.safetensors")
    encoder, head, is_new = start_language_model(folder)
    assert not is_new
    ids = some_ids(9)
    states = FORMULAS[family](tensors, ids)
    if family == "neobert":
        expected = states @ tensors["decoder.weight"].T + tensors["decoder.bias"]
    else:
        dense, norm, words = (f"cls.predictions.{n}" for n in ("transform.dense", "transform.LayerNorm", "bias"))
        inner = F.gelu(F.linear(states, tensors[f"{dense}.weight"], tensors[f"{dense}.bias"]))
        inner = F.layer_norm(inner, (WIDTH,), tensors[f"{norm}.weight"], tensors[f"{norm}.bias"], EPS)
        expected = inner @ tensors["embeddings.word_embeddings.weight"].T + tensors[words]
    with torch.no_grad():
        found = head.double()(encoder.double()(torch.tensor([ids]), torch.ones(1, 9, dtype=torch.bool)))[0]
    assert (found - expected).abs().max() <= 1e-5 * expected.abs().max()
    save_language_model(tmp_path / "again", encoder, head, toy())
    after = load_file(tmp_path / "again" / "model.safetensors")
    assert all(torch.equal(tensors[name], after[name]) for name in own)


@pytest.mark.parametrize("family", ["jina_bert_v2", "jina_bert_v2_code"])
def test_bert_itself_is_not_taken_for_jina(folder: Path, family: str) -> None:
    reconfigure(folder, position_embedding_type="absolute")
    with pytest.raises(CheckpointError, match=r"Missing: bert\.embeddings\.position_embeddings\.weight"):
        load_encoder(folder)
