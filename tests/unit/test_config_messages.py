"""What people read when a configuration is wrong: the key, what it must be, the way out; never the value."""

from pathlib import Path

import pytest

from longdoc.config import load_config, position_config
from longdoc.errors import ConfigurationError
from task_kit import TASK_WORDS


def fault(*overrides: str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        load_config(overrides=overrides)
    return str(caught.value)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (
            "training.freeze=encoder",
            "`training.freeze` must be a list, but is a string instead. Write training.freeze=[...].",
        ),
        (
            "model.labels=[yes,no]",
            "`model.labels.0` must be a string, but is true or false (YAML reads yes, no, on and off so) instead. "
            "Put it in quotes.\n"
            "`model.labels.1` must be a string, but is true or false (YAML reads yes, no, on and off so) instead. "
            "Put it in quotes.",
        ),
        ("model.labels=[]", "`model.labels`: must name at least 1 label or be null, but is empty."),
        ("model.labels=[a,a,b]", "`model.labels`: must be distinct, but 1 of 3 come again."),
        ("training.seed=-1", "`training.seed` must be at least 0, but is less."),
        ("training.seed=1.5", "`training.seed` must be a whole number, but is a number with a fraction instead."),
        ("training.learning_rate=.inf", "`training.learning_rate` must be a finite number, but is NaN or infinite."),
        ("training.weight_decay=.nan", "`training.weight_decay` must be a finite number, but is NaN or infinite."),
        ("training.learning_rate=fast", "`training.learning_rate` must be a number, but is a string instead."),
        (
            "prediction.max_unknown_share=.nan",
            "`prediction.max_unknown_share` must be a finite number, but is NaN or infinite.",
        ),
        ("prediction.max_unknown_share=5", "`prediction.max_unknown_share` must be at most 1, but is more."),
        ("prediction.max_unknown_share=-1", "`prediction.max_unknown_share` must be at least 0, but is less."),
        ("model.task=ranking", f"`model.task` must be {TASK_WORDS}, but is not."),
        ("job.evidence=perhaps", "`job.evidence` must be true or false, but is not."),
        (
            "training=3",
            "`training` must hold keys of its own, but is a whole number instead. Set one of them: training.KEY=VALUE.",
        ),
        (
            "model.encoder.position.kind=spiral",
            None,
        ),
    ],
)
def test_the_sentence_names_key_bound_and_way_out(override: str, message: str | None) -> None:
    said = fault(override)
    if message is None:
        assert "must be of a known kind: " in said
        assert "rotary" in said
        assert "spiral" not in said
    else:
        assert said == message


def test_a_field_of_another_kind_is_not_suggested_for_itself() -> None:
    """`base` exists in some kinds of position encoding, but not in rotary: naming it as its own remedy helps nobody.
    The kind is not a key here, but what `--kind` names."""
    with pytest.raises(ConfigurationError) as caught:
        position_config("rotary", ["base=500"])
    said = str(caught.value)
    assert said.startswith(
        "`base` is not a key of the kind rotary, but of sinusoidal, weighted and axial. Known of rotary: layout, "
    )
    assert "theta" in said
    assert "Did you mean" not in said
    assert position_config("rotary", ["theta=500"]).theta == 500  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (
            "model.readout.max_answer_tokens=50",
            "`model.readout.max_answer_tokens` is not a key of the kind vectors, but of answers. Set "
            "`model.readout.kind=answers` too, or leave it out. Known of vectors: head, merger, pooling.",
        ),
        (
            "model.readout.merger={kind: mean, layers: 2}",
            "`model.readout.merger.layers` is not a key of the kind mean, but of hierarchical. Set "
            "`model.readout.merger.kind=hierarchical` too, or leave it out.",
        ),
        (
            "model.encoder.masks=[{kind: prefix, length: 3, step: 2}]",
            "`model.encoder.masks.0.step` is not a key of the kind prefix, but of dilated. Set "
            "`model.encoder.masks.0.kind=dilated` too, or leave it out. Known of prefix: length.",
        ),
        (
            "model.encoder.position={kind: none, base: 2}",
            "`model.encoder.position.base` is not a key of the kind none, but of sinusoidal, weighted and axial. Set "
            "`model.encoder.position.kind` to one of these too, or leave it out.",
        ),
        (
            "model.readout.merger.layers=2",
            "`model.readout.merger` must say its `kind`, but does not. Set `model.readout.merger.kind=hierarchical` "
            "too.",
        ),
    ],
)
def test_a_key_of_another_kind_is_said_with_its_kinds(override: str, message: str) -> None:
    assert fault(override) == message


def test_a_wrong_value_of_a_position_encoding_is_named_as_it_was_written() -> None:
    with pytest.raises(ConfigurationError, match=r"^`theta` must be a number, but is a string instead\.$"):
        position_config("rotary", ["theta=wide"])


def test_a_value_that_is_no_yaml_is_refused_wherever_it_is_set() -> None:
    assert fault("training.seed=[") == "`--set training.seed=...` must hold a YAML value, but does not. Quote it."
    with pytest.raises(ConfigurationError, match=r"^`--set theta=\.\.\.` must hold a YAML value, but does not\."):
        position_config("rotary", ["theta=["])


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("training: {seed: 1}\nread: {}\ntraining: {seed: 2}\n", 3),
        ("training:\n  seed: 1\n  seed: 2\n", 3),
    ],
)
def test_a_key_that_comes_twice_is_refused(text: str, line: int, tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        load_config(path)
    assert str(caught.value) == (
        f"`--config` must name each key once, but line {line} of {path} repeats one of the same section. Join them."
    )


def test_yaml_references_still_work(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text("data: {train: &files [a.jsonl], validation: *files}\n")
    assert load_config(path).data.validation == ("a.jsonl",)


def test_a_folder_is_no_configuration_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_config(tmp_path)
    assert str(caught.value) == (
        f"`--config` must name a YAML file that can be read, but {tmp_path} is none (IsADirectoryError)."
    )


def refused(kind: str, *options: str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        position_config(kind, options)
    return str(caught.value)


KNOWN = (
    "learned, sinusoidal, weighted, rotary, alibi, shaw, buckets, disentangled, axial, axial_rotary, tree, depth, "
    "language, language_gate, none, stacked"
)


@pytest.mark.parametrize(
    ("kind", "option", "message"),
    [
        ("stacked", "parts=[nope, alibi]", f"`parts.0` must be of a known kind: {KNOWN}. Correct `kind`."),
        (
            "stacked",
            "parts=[5, alibi]",
            f"`parts.0` must be of a known kind, but is a whole number instead. Write one of {KNOWN}.",
        ),
        ("stacked", "parts=[]", "`parts` must have at least 1 entry, but has fewer."),
        ("stacked", "parts=[learned, {kind: alibi, rows: 3}]", "`parts.1.rows` is not a key of the kind alibi, but "),
        ("stacked", "parts=[{kind: learned, offset: -1}]", "`parts.0.offset` must be at least 0, but is less."),
        ("rotary", "theta=[0]", "`theta.0` must be at least 1, but is less."),
        ("rotary", "theta=[]", "`theta` must have at least 1 entry, but has fewer."),
        (
            "rotary",
            "theta=true",
            "`theta` must be a number, but is true or false (YAML reads yes, no, on and off so) instead.",
        ),
        (
            "rotary",
            "theta=[500, true]",
            "`theta.1` must be a number, but is true or false (YAML reads yes, no, on and off so) instead.",
        ),
        ("none", "x=1", "`x` is not a configuration key. There is nothing to set here."),
        ("rotary", "kind=alibi", "`kind` is not a field of the encoding, but what `--kind` names. Give it there."),
    ],
)
def test_one_sentence_says_what_is_wrong_with_a_position_encoding(kind: str, option: str, message: str) -> None:
    said = refused(kind, option)
    assert said == message or (message[-1] != "." and said.startswith(message) and "\n" not in said)


def test_an_entry_of_a_list_is_named_as_it_is_set() -> None:
    masks = "model.encoder.masks=[prefix, {kind: dilated, radius: 2, step: 0}]"
    assert fault(masks) == (
        "`model.encoder.masks.0.length` must be given, but is not.\n"
        "`model.encoder.masks.1.step` must be at least 1, but is less."
    )
    encoder = load_config(
        overrides=[masks, "model.encoder.masks.0.length=3", "model.encoder.masks.1.step=2"]
    ).model.encoder
    assert encoder is not None
    assert [rule.model_dump() for rule in encoder.masks] == [
        {"kind": "prefix", "length": 3},
        {"kind": "dilated", "radius": 2, "step": 2},
    ]
    assert fault("model.encoder.masks=[prefix]", "model.encoder.masks.1.length=3") == (
        "`--set model.encoder.masks.1.length` must name an entry of `model.encoder.masks` by its number, from 0, but "
        "the list has 1. Set the whole list."
    )
    assert fault("model.encoder.window=true") == (
        "`model.encoder.window` must be a whole number, but is true or false (YAML reads yes, no, on and off so) "
        "instead."
    )


def test_null_leaves_weights_out_as_it_does_other_keys() -> None:
    training = load_config(overrides=["training.class_weights=null", "training.pos_weight=null"]).training
    assert (training.class_weights, training.pos_weight) == ("none", "none")
    assert fault("training.class_weights=often") == "`training.class_weights` must be none or balanced, but is not."


def test_a_word_of_one_key_alone_leads_to_it() -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_config(None, ["training.epochs=3"])
    assert str(caught.value).endswith(
        "`training.epochs` is not a configuration key. Did you mean `training.num_train_epochs`?"
    )
    with pytest.raises(ConfigurationError) as caught:
        load_config(None, ["training.rate=3"])
    assert "Known here: " in str(caught.value), "several keys have the word"


@pytest.mark.parametrize(
    ("said", "meant"),
    [("lr", "learning_rate"), ("train_batch_size", "per_device_train_batch_size"), ("grad_norm", "max_grad_norm")],
)
def test_first_letters_and_several_words_lead_to_their_key(said: str, meant: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_config(None, [f"training.{said}=3"])
    assert str(caught.value) == (f"`training.{said}` is not a configuration key. Did you mean `training.{meant}`?")
