"""Configurations that contradict the weights beside them: each is told in one true sentence with the way out."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSequenceClassification

from family_kit import ragged, reconfigure, saved, their_model
from longdoc.checkpoints import load_encoder
from longdoc.checkpoints.answerers import holds_answerer
from longdoc.checkpoints.classifiers import holds_classifier, load_classifier
from longdoc.checkpoints.native import load_model
from longdoc.checkpoints.taggers import holds_tagger, load_span_finder
from longdoc.errors import CheckpointError
from nn_kit import batch_of


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    theirs = their_model("bert", "classifier", num_labels=3, num_hidden_layers=1)
    return saved(theirs, tmp_path_factory.mktemp("published"))


@pytest.fixture
def folder(published: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(published, tmp_path / "bert"))


def told(folder: Path) -> str:
    with pytest.raises(CheckpointError) as error:
        load_model(folder)
    return str(error.value)


def renamed(folder: Path, prefix: str) -> None:
    tensors = {prefix + name: tensor for name, tensor in load_file(folder / "model.safetensors").items()}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def test_the_family_of_the_class_is_another_one(folder: Path) -> None:
    reconfigure(folder, model_type="roberta")
    assert told(folder) == (
        f"`model_type` and `architectures` in `{folder / 'config.json'}` must be of one family, but are `roberta` and "
        "BertForSequenceClassification (of `bert`) instead. The tensors have the names of `bert`. Correct the one that "
        "is wrong."
    )


def test_the_family_of_the_weights_is_another_one(folder: Path) -> None:
    reconfigure(folder, model_type="roberta", architectures=["RobertaForSequenceClassification"])
    assert told(folder).endswith(" `model_type` is `roberta`, but the tensors have the names of `bert`.")


def test_a_string_is_no_list_of_classes(folder: Path) -> None:
    reconfigure(folder, architectures="BertForSequenceClassification")
    assert told(folder) == (
        f"`architectures` in `{folder / 'config.json'}` must be a list of names of classes, but is the string "
        "'BertForSequenceClassification' instead. Write it as [\"...\"]."
    )
    reconfigure(folder, architectures={"0": "BertForSequenceClassification"})
    assert "but is of type dict instead" in told(folder)


def test_without_architectures_the_tensors_say_which_class_it_is(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    reconfigure(folder, architectures=None)
    assert holds_classifier(folder)
    assert not holds_tagger(folder)
    ours, settings = load_classifier(folder)
    assert settings.labels == ("LABEL_0", "LABEL_1", "LABEL_2")
    theirs = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    ids, valid = ragged((9, 5))
    with torch.no_grad():
        expected = theirs(input_ids=ids, attention_mask=valid.long()).logits
        for row, score in enumerate(expected):
            assert torch.allclose(ours(batch_of(ids, valid))[row], score, atol=1e-5)
    assert (
        caplog.messages.count(
            f"`architectures` in {folder / 'config.json'} is not there; by its tensors it is taken to be "
            "BertForSequenceClassification."
        )
        == 1
    )
    reconfigure(folder, id2label={"0": "O", "1": "B-LOC", "2": "I-LOC"})
    assert holds_tagger(folder)
    assert not holds_classifier(folder)
    assert load_span_finder(folder)[1].labels == ("LOC",)


def test_names_of_another_head_and_none_at_all(folder: Path) -> None:
    tensors = load_file(folder / "model.safetensors")
    bare = {name: tensor for name, tensor in tensors.items() if not name.startswith("classifier.")}
    reconfigure(folder, architectures=None)
    save_file(bare, folder / "model.safetensors", metadata={"format": "pt"})
    assert "names none: an encoder without a head that does. Train one on it first" in told(folder)
    heads = {f"qa_outputs.{leaf}": tensors[f"classifier.{leaf}"][:2].clone() for leaf in ("weight", "bias")}
    save_file(bare | heads, folder / "model.safetensors", metadata={"format": "pt"})
    assert holds_answerer(folder)


def test_a_class_that_hides_the_head_is_named(folder: Path) -> None:
    reconfigure(folder, architectures=["MyClassifier"])
    assert told(folder) == (
        f"`architectures` in `{folder / 'config.json'}` must name the class whose head the weights hold, as "
        "BertForSequenceClassification, but names MyClassifier instead. Correct `config.json`."
    )


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ({"0": "a", "1": "b"}, "names 2 labels instead"),
        (None, "is not there, which stands for 2 labels"),
    ],
)
def test_another_number_of_labels_than_the_head_has(folder: Path, names: dict[str, str] | None, said: str) -> None:
    reconfigure(folder, id2label=names, label2id=None)
    wanted = (
        f"`id2label` in `{folder / 'config.json'}` must name a label for each row of classifier.weight (3x48), but "
        f"{said}. Correct `config.json`, or fetch the checkpoint again."
    )
    assert told(folder) == wanted
    reconfigure(folder, architectures=["BertForTokenClassification"])
    assert told(folder) == wanted


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ({"0": "a", "1": 7, "2": "c"}, "has 7 under 1"),
        ({"0": "a", "1": "b", "2": " "}, "has an empty name under 2"),
        ({"0": "a", "1": "b", "3": "c"}, "has no number 2"),
        ({"0": "a", "1": "b", "2": "a"}, 'has "a" under 2 a second time'),
    ],
)
def test_labels_that_are_no_names(folder: Path, names: dict[str, object], said: str) -> None:
    reconfigure(folder, id2label=names)
    assert told(folder) == (
        f"`id2label` must name 3 different labels under the numbers from 0, but {said}. Give each label a name of its "
        "own, in quotation marks, in `config.json`."
    )


def test_a_list_of_labels_and_a_kind_of_problem_that_there_is_not(folder: Path) -> None:
    reconfigure(folder, id2label=["a", "b", "c"])
    assert told(folder) == (
        "`id2label` must be an object with the names of the labels under the numbers from 0, but is of type list "
        'instead. Write it as {"0": ..., "1": ...} in `config.json`.'
    )
    reconfigure(folder, id2label={"0": "a", "1": "b", "2": "c"}, problem_type="foo")
    assert re.fullmatch(
        r"`problem_type` must be one of (\w+, )+\w+ or null, but is \"foo\" instead\. Correct `config\.json`\.",
        told(folder),
    )


def test_a_pointer_in_the_place_of_the_weights(folder: Path) -> None:
    weights = folder / "model.safetensors"
    weights.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n")
    message = (
        f"`{weights}` must be a safetensors file, but is a pointer of Git LFS to one. Fetch the weights themselves: "
        "`git lfs pull` in that folder, or download the file from the hub."
    )
    assert told(folder) == message
    with pytest.raises(CheckpointError, match=re.escape(message)):
        load_encoder(folder)


@pytest.mark.parametrize("prefix", ["module.", "_orig_mod."])
def test_weights_of_a_model_inside_another(folder: Path, prefix: str) -> None:
    renamed(folder, prefix)
    assert told(folder).endswith(
        f" All of them begin with '{prefix}': they were saved from a model inside another (`DistributedDataParallel`, "
        f"`torch.compile`). Save the one that is inside (`model.{prefix[:-1]}`) again."
    )
