"""What every checkpoint family promises, for every family of the list, against random models of transformers.

A new family is covered by being in the list; give it a tiny configuration in `family_kit.TINY`. What is equal number
by number stands in `tests/parity/test_family_numbers.py`.
"""

from __future__ import annotations

import copy
import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModel, AutoModelForSequenceClassification, PreTrainedModel

from family_kit import TINY, arguments, pad_id_of, ragged, saved, their_model
from longdoc.checkpoints import load_encoder, open_checkpoint
from longdoc.checkpoints.classifiers import load_classifier
from longdoc.checkpoints.native import load_model, save_encoder, save_model
from longdoc.checkpoints.opening import FAMILIES
from longdoc.errors import CheckpointError
from longdoc.text.tokenizing import DocumentTokenizer
from nn_kit import batch_of
from tokenizer_kit import toy


@dataclass
class Case:
    family: str
    folder: Path
    theirs: PreTrainedModel


@pytest.fixture(scope="module", params=[name for name in FAMILIES if name in TINY])
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    theirs = their_model(request.param)
    return Case(request.param, saved(theirs, tmp_path_factory.mktemp(request.param)), theirs)


@pytest.fixture(scope="module")
def tokenizer() -> DocumentTokenizer:
    return toy()


def copied(case: Case, tmp_path: Path) -> Path:
    """A folder of the family's whose files a test may change."""
    for name in ("config.json", "model.safetensors"):
        (tmp_path / name).write_bytes((case.folder / name).read_bytes())
    return tmp_path


def test_gradients_equal_those_of_transformers(case: Case, tmp_path: Path) -> None:
    ids, valid = ragged((30, 12), pad_id_of(case.family))
    ours = load_encoder(case.folder).double()
    theirs = copy.deepcopy(case.theirs).double()
    theirs(**arguments(theirs, ids, valid)).last_hidden_state[valid].square().sum().backward()
    ours(ids, valid)[valid].square().sum().backward()
    # Their gradients in the place of their parameters, read by us: every name meets its partner.
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.copy_(torch.zeros_like(parameter) if parameter.grad is None else parameter.grad)
    expected = {name: tensor.detach() for name, tensor in load_encoder(saved(theirs, tmp_path)).named_parameters()}
    loudest = max(float(tensor.abs().max()) for tensor in expected.values())
    for name, parameter in ours.named_parameters():
        assert (parameter.grad - expected[name]).abs().max() <= 1e-6 * loudest, name


def test_saved_again_transformers_opens_the_same_bits(case: Case, tmp_path: Path, tokenizer: DocumentTokenizer) -> None:
    save_encoder(tmp_path / "ours", load_encoder(case.folder), tokenizer)
    again, report = AutoModel.from_pretrained(tmp_path / "ours", output_loading_info=True)
    assert not any(report[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    expected = case.theirs.state_dict()
    assert again.state_dict().keys() == expected.keys()
    assert all(torch.equal(tensor, expected[name]) for name, tensor in again.state_dict().items())
    before, after = case.theirs.config.to_dict(), again.config.to_dict()
    deciding = set(before) - {"architectures", "dtype", "transformers_version", "_name_or_path", "initializer_range"}
    deciding -= {f"{name}_token_id" for name in ("bos", "eos", "cls", "sep", "mask")}  # the tokenizer's business
    assert {name: before[name] for name in deciding} == {name: after.get(name) for name in deciding}


def test_our_own_layout_holds_every_family_too(case: Case, tmp_path: Path, tokenizer: DocumentTokenizer) -> None:
    encoder = load_encoder(case.folder)
    encoder.config = encoder.config.model_copy(update={"family": None})
    save_encoder(tmp_path / "ours", encoder, tokenizer)
    again = load_encoder(tmp_path / "ours")
    assert again.config == encoder.config
    assert all(torch.equal(tensor, again.state_dict()[name]) for name, tensor in encoder.state_dict().items())


def test_a_classifier_saved_again_answers_the_same_in_transformers_and_here(
    case: Case, tmp_path: Path, tokenizer: DocumentTokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DocumentTokenizer, "from_folder", lambda folder: tokenizer)  # opening one takes longest here
    theirs = their_model(case.family, "classifier", num_labels=3)
    model, settings = load_classifier(saved(theirs, tmp_path / "theirs"))
    save_model(tmp_path / "ours", model, settings, tokenizer, "a card")
    again = AutoModelForSequenceClassification.from_pretrained(tmp_path / "ours").eval()
    assert all(torch.equal(tensor, theirs.state_dict()[name]) for name, tensor in again.state_dict().items())
    assert again.config.id2label == theirs.config.id2label
    loaded, loaded_settings, _ = load_model(tmp_path / "ours")
    assert loaded_settings == settings
    ids, valid = ragged((9, 5), pad_id_of(case.family))
    with torch.no_grad():
        assert torch.equal(loaded(batch_of(ids, valid)), model(batch_of(ids, valid)))


def test_every_fault_of_a_checkpoint_is_told_at_once(case: Case, tmp_path: Path) -> None:
    folder = copied(case, tmp_path)
    tensors = load_file(folder / "model.safetensors")
    keys, fix_name = FAMILIES[case.family].keys, FAMILIES[case.family].fix_name
    name_of = {keys.to_ours(fix_name(name)): name for name in tensors}
    output = "layers.{}.feed_forward.output.weight"
    missing = FAMILIES[case.family].spell("word.weight")
    assert missing.endswith(name_of["word.weight"])
    del tensors[name_of["word.weight"]]
    tensors["surprise.weight"] = torch.zeros(2)
    tensors[name_of[output.format(0)]] = torch.zeros(3, 48)
    tensors[name_of[output.format(1)]] = torch.full((48, 96), float("nan"))
    tensors[name_of[output.format(2)]] = torch.zeros(48, 96, dtype=torch.int64)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    message = (
        f"`{folder}` must hold exactly the tensors that its configuration describes, but does not. Missing: "
        f"{missing}. Unexpected: surprise.weight. Of the wrong shape: {name_of[output.format(0)]} (3x48 instead "
        f"of 48x96). Not floating numbers: {name_of[output.format(2)]}. Not finite (NaN or infinity): "
        f"{name_of[output.format(1)]}. Check that `config.json` and the weights belong together, and fetch the "
        "checkpoint again if it is damaged."
    )
    with pytest.raises(CheckpointError, match=f"^{re.escape(message)}$"):
        load_encoder(folder)


def test_code_of_the_checkpoint_is_named_and_never_run(
    case: Case, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = copied(case, tmp_path)
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


def test_keys_that_a_file_leaves_out_have_the_defaults_of_transformers(case: Case) -> None:
    family = FAMILIES[case.family]
    theirs = type(case.theirs.config)
    try:
        full = theirs(**NOT_DEFAULT.get(case.family, {})).to_dict()
    except ValueError:
        pytest.skip("transformers has no defaults for this family")
    assert family.config_from_hf(NOT_DEFAULT.get(case.family, {})) == family.config_from_hf(full)


NOT_DEFAULT: dict[str, dict[str, object]] = {
    "deberta-v2": {
        "relative_attention": True,
        "position_buckets": 256,
        "norm_rel_ebd": "layer_norm",
        "share_att_key": True,
        "pos_att_type": "p2c|c2p",
        "position_biased_input": False,
    }
}
"""What a family's checkpoints say without exception, though the defaults say otherwise."""
