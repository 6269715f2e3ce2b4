"""The embedded default encoder on real text: our numbers are those of transformers."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers import AutoTokenizer, BertModel

from longdoc.checkpoints import load_encoder, resolve_checkpoint
from longdoc.checkpoints.native import save_model
from longdoc.model import LongDocModel
from longdoc.text.tokenizing import DocumentTokenizer

OWN_TEXTS = [
    "Either party may terminate this agreement by giving ninety days' written notice to the other party.",
    "The patient was admitted with chest pain and discharged on the third day on aspirin 100 mg.",
    "Permission is granted, free of charge, to any person obtaining a copy of this software. " * 30,
    "Größe, naïve, 東京, 42 °C.",
]


def real_texts() -> list[str]:
    """Licences of real projects where their package is installed, and paragraphs of our own."""
    try:
        from importlib.resources import files

        folder = files("licensedcode") / "data" / "licenses"
        names = ["mit.LICENSE", "apache-2.0.LICENSE", "bsd-new.LICENSE", "gpl-2.0.LICENSE"]
        licences = [(folder / name).read_text(encoding="utf-8") for name in names]
    except (ModuleNotFoundError, OSError):
        licences = []
    return [*OWN_TEXTS, *licences]


@pytest.fixture(scope="module")
def theirs(minilm_folder: Path) -> BertModel:
    return BertModel.from_pretrained(minilm_folder).eval()


@pytest.fixture(scope="module")
def batches(minilm_folder: Path) -> list[dict[str, torch.Tensor]]:
    tokenizer = AutoTokenizer.from_pretrained(minilm_folder)
    texts = real_texts()
    return [
        tokenizer(texts[start : start + 4], padding=True, truncation=True, max_length=512, return_tensors="pt")
        for start in range(0, len(texts), 4)
    ]


def test_hidden_states_on_ragged_batches_of_real_text(
    theirs: BertModel, batches: list[dict[str, torch.Tensor]]
) -> None:
    ours = load_encoder("default")
    shifted = 0.0
    for batch in batches:
        valid = batch["attention_mask"].bool()
        assert not valid.all()
        with torch.no_grad():
            expected = theirs(**batch).last_hidden_state
            found = ours(batch["input_ids"], valid)
            moved = ours(batch["input_ids"][:, :400], valid[:, :400], torch.arange(400)[None] + 1)
        assert (found - expected)[valid].abs().max() <= 1e-5
        shifted = max(shifted, float((moved - expected[:, :400])[valid[:, :400]].abs().max()))
    assert shifted > 1e-2, "positions that are one off must show"


def test_float64_leaves_nothing_but_round_off(theirs: BertModel, batches: list[dict[str, torch.Tensor]]) -> None:
    ours = load_encoder("default").double()
    batch = {name: tensor[:, :96] for name, tensor in batches[0].items()}
    valid = batch["attention_mask"].bool()
    with torch.no_grad():
        expected = theirs.double()(**batch).last_hidden_state
        assert (ours(batch["input_ids"], valid) - expected)[valid].abs().max() <= 1e-10
    theirs.float()


def test_there_and_back_is_bit_equal(theirs: BertModel, tmp_path: Path) -> None:
    from longdoc.checkpoints.native import ModelSettings

    folder = resolve_checkpoint("default")
    encoder = load_encoder(folder)
    settings = ModelSettings(labels=("yes", "no"), source="default")
    model = LongDocModel(encoder, settings.readout.build(encoder.config.width, 2))
    save_model(tmp_path / "model", model, settings, DocumentTokenizer.from_folder(folder), "a card")
    again = BertModel.from_pretrained(tmp_path / "model")
    expected = theirs.state_dict()
    assert again.state_dict().keys() == expected.keys()
    assert all(torch.equal(tensor, expected[name]) for name, tensor in again.state_dict().items())
    text = OWN_TEXTS[3]
    opened = AutoTokenizer.from_pretrained(tmp_path / "model")
    assert opened(text).input_ids == AutoTokenizer.from_pretrained(folder)(text).input_ids
    assert opened.model_max_length == 512
