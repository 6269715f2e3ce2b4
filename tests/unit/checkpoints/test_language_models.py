"""Masked-language checkpoints: saved by us, opened by us and by transformers, with the same numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForMaskedLM

from family_kit import arguments, ragged, reconfigure, saved, their_answer, their_model
from longdoc.checkpoints import load_encoder
from longdoc.checkpoints.language_models import (
    load_language_model,
    new_language_head,
    save_language_model,
    start_language_model,
)
from longdoc.checkpoints.opening import FAMILIES
from longdoc.errors import CheckpointError
from longdoc.nn import Encoder
from longdoc.nn.heads import MaskedLanguageHead
from nn_kit import randomised, tiny_encoder
from tokenizer_kit import wrapped

TOKENIZER = wrapped("byte_level")
WITH_HEAD = [name for name, family in FAMILIES.items() if family.language_model is not None]


def untied_from_zero(head: MaskedLanguageHead) -> MaskedLanguageHead:
    """Every own tensor of a head drawn anew, so that each of them shows in the scores."""
    with torch.no_grad():
        for name, parameter in head.named_parameters():
            if name != "output.weight":
                parameter.copy_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(len(name))) * 0.3)
    return head


def scores(encoder: Encoder, head: MaskedLanguageHead) -> torch.Tensor:
    ids, valid = ragged()
    with torch.no_grad():
        found: torch.Tensor = head(encoder(ids.clamp(max=encoder.config.vocab_size - 1), valid))[valid]
    return found


@pytest.mark.parametrize("family", ["bert", "roberta", "modernbert"])
def test_transformers_opens_what_was_saved_and_gives_the_same_scores(family: str, tmp_path: Path) -> None:
    encoder, head, is_new = start_language_model(saved(their_model(family, "language model"), tmp_path / "theirs"))
    assert not is_new
    untied_from_zero(head)
    save_language_model(tmp_path / "ours", encoder, head, TOKENIZER, "# A card\n")
    assert (tmp_path / "ours" / "README.md").read_text() == "# A card\n"
    theirs = AutoModelForMaskedLM.from_pretrained(tmp_path / "ours").eval()
    ids, valid = ragged()
    assert (their_answer(theirs, ids, valid)[valid] - scores(encoder, head)).abs().max() <= 2e-5
    again = load_language_model(tmp_path / "ours")
    assert torch.equal(scores(*again), scores(encoder, head))
    assert again[1].output.weight is again[0].word.weight


def test_the_families_with_a_head_of_their_own() -> None:
    assert {"bert", "roberta", "modernbert"} <= set(WITH_HEAD), "those that are compared above"


@pytest.mark.parametrize("family", ["bert", "roberta", "modernbert"])
def test_a_head_that_starts_anew_is_of_the_family_and_opens_in_transformers(family: str, tmp_path: Path) -> None:
    encoder, head, is_new = start_language_model(saved(their_model(family, "encoder"), tmp_path / "theirs"))
    assert is_new
    assert head.output.weight is encoder.word.weight
    save_language_model(tmp_path / "ours", encoder, head, TOKENIZER)
    theirs = AutoModelForMaskedLM.from_pretrained(tmp_path / "ours").eval()
    ids, valid = ragged()
    assert (their_answer(theirs, ids, valid)[valid] - scores(encoder, head)).abs().max() <= 2e-5


@pytest.mark.parametrize("family", ["distilbert", "electra", "mpnet"])
def test_families_without_one_keep_it_beside_their_encoder(family: str, tmp_path: Path) -> None:
    encoder, head, is_new = start_language_model(saved(their_model(family, "encoder"), tmp_path / "theirs"))
    assert is_new
    untied_from_zero(head)
    save_language_model(tmp_path / "ours", encoder, head, TOKENIZER)
    again, head_again, is_new = start_language_model(tmp_path / "ours")
    assert not is_new
    assert again.config == encoder.config
    assert torch.equal(scores(again, head_again), scores(encoder, head))
    assert torch.equal(load_encoder(tmp_path / "ours").word.weight, encoder.word.weight)


@pytest.mark.parametrize(
    "changes",
    [
        {"position": {"kind": "rotary"}, "norm": "pre", "norm_kind": "rms"},
        {"position": {"kind": "alibi"}, "feed_forward": "gated", "activation": "silu"},
        {"position": {"kind": "sinusoidal"}, "embedding_width": 12},
        {"position": {"kind": "learned"}, "window": (None, 3)},
    ],
    ids=lambda changes: changes["position"]["kind"],
)
def test_encoders_of_our_own_come_back_with_positions_norms_and_head(changes: dict[str, Any], tmp_path: Path) -> None:
    encoder = tiny_encoder(vocab_size=70, **changes)
    head = untied_from_zero(new_language_head(encoder))
    save_language_model(tmp_path / "ours", encoder, head, TOKENIZER)
    again, head_again = load_language_model(tmp_path / "ours")
    assert again.config == encoder.config
    assert torch.equal(scores(again, head_again), scores(encoder, head))
    assert head_again.output.weight is again.word.weight
    described = json.loads((tmp_path / "ours" / "config.json").read_text())
    assert described["longdoc_language_head"]["activation"] == encoder.config.activation
    assert "longdoc.language_head.output.weight" not in load_file(tmp_path / "ours" / "model.safetensors"), "tied"


def test_a_last_layer_of_its_own_stays_its_own(tmp_path: Path) -> None:
    encoder = tiny_encoder(vocab_size=70)
    head = randomised(MaskedLanguageHead(16, 70))
    save_language_model(tmp_path / "ours", encoder, head, TOKENIZER)
    again, head_again = load_language_model(tmp_path / "ours")
    assert head_again.output.weight is not again.word.weight
    assert torch.equal(head_again.output.weight, head.output.weight)


def test_a_new_head_is_quiet_whatever_the_words(tmp_path: Path) -> None:
    for std in (0.02, 3.0):
        encoder = tiny_encoder(vocab_size=70)
        with torch.no_grad():
            encoder.word.weight.normal_(std=std, generator=torch.Generator().manual_seed(1))
        assert 0.01 < float(scores(encoder, new_language_head(encoder)).std()) < 2


def test_the_head_of_a_pretraining_class_is_found_whatever_its_name(tmp_path: Path) -> None:
    theirs = their_model("bert", "language model")
    folder = saved(theirs, tmp_path)
    reconfigure(folder, architectures=["BertForPreTraining"])
    encoder, head, is_new = start_language_model(folder)
    assert not is_new
    ids, valid = ragged()
    assert (their_answer(theirs, ids, valid)[valid] - scores(encoder, head)).abs().max() <= 2e-5


def test_an_impossible_head_is_refused(tmp_path: Path) -> None:
    encoder = tiny_encoder(vocab_size=70)
    save_language_model(tmp_path / "ours", encoder, new_language_head(encoder), TOKENIZER)
    reconfigure(tmp_path / "ours", longdoc_language_head={"activation": "sine", "depth": 3})
    with pytest.raises(CheckpointError) as caught:
        load_language_model(tmp_path / "ours")
    assert str(caught.value) == (
        "`config.json` must describe the head that guesses tokens, but these entries are impossible: activation, depth."
    )


def test_the_loss_is_that_of_transformers(tmp_path: Path) -> None:
    """The same ids, mask and targets: its BertForMaskedLM and our encoder, head and loss."""
    from longdoc.training.pretraining_data import MaskedBatch
    from longdoc.training.pretraining_loss import MaskedLanguageModel
    from nn_kit import batch_of

    theirs = their_model("bert", "language model")
    encoder, head, _ = start_language_model(saved(theirs, tmp_path))
    ids, valid = ragged()
    chosen = (torch.rand(ids.shape, generator=torch.Generator().manual_seed(3)) < 0.3) & valid
    targets = torch.where(chosen, ids, -100)
    with torch.no_grad():
        expected = theirs(**arguments(theirs, ids, valid), labels=targets).loss
        found = MaskedLanguageModel(encoder, head)(MaskedBatch(batch_of(ids, valid), targets))
    assert found.hidden == int(chosen.sum())
    assert abs(float(found.loss / found.hidden - expected)) <= 1e-5
    guessed = their_answer(theirs, ids, valid).argmax(-1)
    assert int(found.right) == int((guessed == ids)[chosen].sum())
