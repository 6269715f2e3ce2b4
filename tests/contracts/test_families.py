"""What every checkpoint family promises, for every family of the list, against random models of transformers.

A new family is covered by being in the list; give it a tiny configuration in `family_kit.TINY`.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModel, AutoModelForSequenceClassification

from family_kit import ragged, saved, their_model
from longdoc.checkpoints import load_encoder, open_checkpoint
from longdoc.checkpoints.classifiers import load_classifier
from longdoc.checkpoints.native import load_model, save_encoder, save_model
from longdoc.checkpoints.opening import FAMILIES
from longdoc.errors import CheckpointError
from longdoc.text.tokenizing import DocumentTokenizer
from nn_kit import batch_of

every_family = pytest.mark.parametrize("family", FAMILIES)


@pytest.fixture(scope="module")
def tokenizer(minilm_folder: Path) -> DocumentTokenizer:
    return DocumentTokenizer.from_folder(minilm_folder)


def difference(one: torch.Tensor, other: torch.Tensor, valid: torch.Tensor) -> float:
    return float((one - other)[valid].abs().max())


@every_family
@pytest.mark.parametrize(("dtype", "std", "bound"), [(torch.float32, 0.15, 1e-5), (torch.float64, 0.35, 1e-10)])
def test_hidden_states_equal_those_of_transformers(
    family: str, dtype: torch.dtype, std: float, bound: float, tmp_path: Path
) -> None:
    theirs = their_model(family, std=std).to(dtype)
    ours = load_encoder(saved(theirs, tmp_path))
    ids, valid = ragged()
    with torch.no_grad():
        expected = theirs(input_ids=ids, attention_mask=valid.long()).last_hidden_state
        found = ours(ids, valid)
        assert found.dtype == dtype
        assert difference(found, expected, valid) <= bound
        alone = theirs(input_ids=ids[:1]).last_hidden_state
        assert difference(ours(ids[:1]), alone, valid[:1]) <= bound


@every_family
@pytest.mark.parametrize("labels", [1, 3])
def test_logits_of_the_classifier_equal_those_of_transformers(family: str, labels: int, tmp_path: Path) -> None:
    theirs = their_model(family, classifier=True, num_labels=labels)
    model, settings = load_classifier(saved(theirs, tmp_path))
    assert settings.labels == tuple(f"LABEL_{n}" for n in range(labels))
    assert settings.task == ("regression" if labels == 1 else "single_label")
    ids, valid = ragged()
    with torch.no_grad():
        expected = theirs(input_ids=ids, attention_mask=valid.long()).logits
        found = model(batch_of(ids, valid))
    assert (found - expected).abs().max() <= 1e-5


@every_family
def test_gradients_equal_those_of_transformers(family: str, tmp_path: Path) -> None:
    theirs = their_model(family).double()
    ours = load_encoder(saved(theirs, tmp_path))
    ids, valid = ragged()
    theirs(input_ids=ids, attention_mask=valid.long()).last_hidden_state[valid].square().sum().backward()
    ours(ids, valid)[valid].square().sum().backward()
    keys = FAMILIES[family].keys
    expected = {keys.to_ours(FAMILIES[family].fix_name(name)): p.grad for name, p in theirs.named_parameters()}
    for name, parameter in ours.named_parameters():
        assert torch.allclose(parameter.grad, expected[name], rtol=1e-8, atol=1e-8), name


@every_family
@pytest.mark.parametrize("part", ["activation", "position", "one bias", "eps"])
def test_a_wrong_model_is_told_from_round_off(family: str, part: str, tmp_path: Path) -> None:
    theirs = their_model(family)
    ours = load_encoder(saved(theirs, tmp_path))
    ids, valid = ragged()
    positions = None
    if part == "activation":
        for layer in ours.layers:
            layer.feed_forward.activation = lambda x: torch.nn.functional.gelu(x, approximate="tanh")
    elif part == "position":
        positions = torch.arange(ids.shape[1])[None] + 1
    elif part == "one bias":
        torch.nn.init.zeros_(ours.layers[3].attention.output.bias)
    else:
        for module in ours.modules():
            if isinstance(module, torch.nn.LayerNorm):
                module.eps = 1e-2
    with torch.no_grad():
        expected = theirs(input_ids=ids, attention_mask=valid.long()).last_hidden_state
        assert difference(ours(ids, valid, positions), expected, valid) > 1e-4


@every_family
def test_saved_again_transformers_opens_the_same_bits(
    family: str, tmp_path: Path, tokenizer: DocumentTokenizer
) -> None:
    theirs = their_model(family)
    save_encoder(tmp_path / "ours", load_encoder(saved(theirs, tmp_path / "theirs")), tokenizer)
    again, report = AutoModel.from_pretrained(tmp_path / "ours", output_loading_info=True)
    assert not any(report[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    expected = theirs.state_dict()
    assert again.state_dict().keys() == expected.keys()
    assert all(torch.equal(tensor, expected[name]) for name, tensor in again.state_dict().items())
    before, after = theirs.config.to_dict(), again.config.to_dict()
    deciding = set(before) - {"architectures", "dtype", "transformers_version", "_name_or_path", "initializer_range"}
    assert {name: before[name] for name in deciding} == {name: after.get(name) for name in deciding}


@every_family
def test_a_classifier_saved_again_answers_the_same_in_transformers_and_here(
    family: str, tmp_path: Path, tokenizer: DocumentTokenizer
) -> None:
    theirs = their_model(family, classifier=True, num_labels=3)
    model, settings = load_classifier(saved(theirs, tmp_path / "theirs"))
    save_model(tmp_path / "ours", model, settings, tokenizer, "a card")
    again = AutoModelForSequenceClassification.from_pretrained(tmp_path / "ours").eval()
    assert all(torch.equal(tensor, theirs.state_dict()[name]) for name, tensor in again.state_dict().items())
    assert again.config.id2label == theirs.config.id2label
    loaded, loaded_settings, _ = load_model(tmp_path / "ours")
    assert loaded_settings == settings
    ids, valid = ragged()
    with torch.no_grad():
        assert torch.equal(loaded(batch_of(ids, valid)), model(batch_of(ids, valid)))


@every_family
def test_every_fault_of_a_checkpoint_is_told_at_once(family: str, tmp_path: Path) -> None:
    folder = saved(their_model(family), tmp_path)
    tensors = load_file(folder / "model.safetensors")
    keys = FAMILIES[family].keys
    name_of = {keys.to_ours(FAMILIES[family].fix_name(name)): name for name in tensors}
    del tensors[name_of["word.weight"]]
    tensors["surprise.weight"] = torch.zeros(2)
    tensors[name_of["layers.0.attention.query.weight"]] = torch.zeros(3, 48)
    tensors[name_of["layers.1.attention.key.bias"]] = torch.full((48,), float("nan"))
    tensors[name_of["layers.2.attention.value.bias"]] = torch.zeros(48, dtype=torch.int64)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    message = (
        f"`{folder}` must hold exactly the tensors that its configuration describes, but does not. Missing: "
        "word.weight. Unexpected: surprise.weight. Of the wrong shape: layers.0.attention.query.weight (3x48 instead "
        "of 48x48). Not floating numbers: layers.2.attention.value.bias. Not finite (NaN or infinity): "
        "layers.1.attention.key.bias. Check that `config.json` and the weights belong together, and fetch the "
        "checkpoint again if it is damaged."
    )
    with pytest.raises(CheckpointError, match=f"^{re.escape(message)}$"):
        load_encoder(folder)


@every_family
def test_sixteen_bit_checkpoints_are_loaded_as_float32(family: str, tmp_path: Path) -> None:
    theirs = their_model(family).to(torch.bfloat16)
    ours = load_encoder(saved(theirs, tmp_path))
    ids, valid = ragged()
    with torch.no_grad():
        expected = theirs.float()(input_ids=ids, attention_mask=valid.long()).last_hidden_state
        assert difference(ours(ids, valid), expected, valid) <= 1e-5


@every_family
def test_code_of_the_checkpoint_is_named_and_never_run(
    family: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = saved(their_model(family), tmp_path)
    config = json.loads((folder / "config.json").read_text())
    config["auto_map"] = {"AutoModel": "modeling_evil.EvilModel"}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "modeling_evil.py").write_text("raise SystemExit('run')")
    with caplog.at_level("WARNING", logger="longdoc"):
        open_checkpoint(folder)
    assert [record.getMessage() for record in caplog.records] == [
        f"`auto_map` in {folder / 'config.json'} names code of the checkpoint's own (AutoModel). It is ignored: no "
        "code of a checkpoint is run."
    ]
