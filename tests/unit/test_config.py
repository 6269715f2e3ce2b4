from pathlib import Path

import pytest
import yaml

from longdoc.config import RunConfig, dump_resolved, load_config, position_config
from longdoc.errors import ConfigurationError
from longdoc.nn.position import AlibiConfig, LearnedConfig, RotaryConfig
from longdoc.nn.position.scaling import LinearScaling


def fault(overrides: list[str] | None = None, tree: dict | None = None) -> str:
    with pytest.raises(ConfigurationError) as caught:
        load_config(overrides=overrides or (), base=tree)
    return str(caught.value)


def test_a_wrong_key_names_itself_and_the_nearest_right_one() -> None:
    assert fault(["training.learning_rat=1e-3"]) == (
        "`training.learning_rat` is not a configuration key. Did you mean `training.learning_rate`?"
    )


def test_a_key_in_the_wrong_section_is_found_where_it_lives() -> None:
    assert fault(["overlap=3"]) == "`overlap` is not a configuration key. Did you mean `chunking.overlap`?"
    assert fault(["model.merger={kind: mean}"]) == (
        "`model.merger` is not a configuration key. Did you mean `model.readout.merger`?"
    )


def test_a_key_like_no_other_is_answered_with_what_exists() -> None:
    assert (
        fault(["chunking.zzzzz=3"])
        == "`chunking.zzzzz` is not a configuration key. Known here: axes, borders, keep, languages, overlap, size."
    )


def test_a_key_inside_a_kind_is_named_as_it_was_written() -> None:
    message = fault(["model.readout.poolin=cls"])
    assert message == "`model.readout.poolin` is not a configuration key. Did you mean `model.readout.pooling`?"


def test_values_are_never_shown() -> None:
    assert "canary" not in fault(["chunking.size=canary"])
    assert "canary" not in fault(tree={"training": {"learning_rate": "canary"}})


@pytest.mark.parametrize("overlap", [-1, 510, 512])
def test_an_impossible_overlap_is_refused_while_reading_the_configuration(overlap: int) -> None:
    message = fault([f"chunking.overlap={overlap}"])
    assert "chunking" in message
    assert "509" in message or overlap < 0, "the largest allowed value is named"


def test_later_values_win_and_sections_are_merged(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text("training: {learning_rate: 1.0e-3, seed: 7}\n")
    config = load_config(path, ["training.learning_rate=3e-5"])
    assert config.training.learning_rate == 3e-5
    assert config.training.seed == 7


def test_another_kind_does_not_inherit_the_fields_of_the_old_one() -> None:
    config = load_config(
        base={"model": {"encoder": {"width": 8, "layers": 1, "heads": 2, "position": {"kind": "rotary", "base": 5.0}}}},
        overrides=["model.encoder.position.kind=sinusoidal"],
    )
    assert config.model.encoder is not None
    assert config.model.encoder.position.kind == "sinusoidal"


@pytest.mark.parametrize("where", ["file", "override"])
def test_a_kind_that_was_said_by_a_word_has_fields_all_the_same(tmp_path: Path, where: str) -> None:
    more = ["model.readout.merger=logsumexp", "model.readout.merger.sharpness=3"]
    (tmp_path / "run.yaml").write_text("model: {readout: logits}\n" if where == "file" else "")
    words = [] if where == "file" else ["model.readout=logits"]
    readout = load_config(tmp_path / "run.yaml", [*words, *more]).model.readout
    assert (readout.kind, readout.merger.kind, readout.merger.sharpness) == ("logits", "logsumexp", 3)


def test_the_resolved_configuration_loads_to_itself(tmp_path: Path) -> None:
    config = load_config(overrides=["training.seed=5", "chunking.size=128", "chunking.overlap=32"])
    path = tmp_path / "config.resolved.yaml"
    path.write_text(dump_resolved(config))
    assert load_config(path) == config


@pytest.mark.parametrize("text", ["[1, 2]", "a: [", "\x80"])
def test_a_file_that_is_no_configuration_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigurationError, match=r"bad\.yaml"):
        load_config(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"^`--config` must name a YAML file, but there is no .*none\.yaml\.$"):
        load_config(tmp_path / "none.yaml")


def test_an_override_needs_a_key_and_a_value() -> None:
    assert fault(["training.seed"]) == "`--set` must be dotted.key=value, but has no = instead."
    assert fault(["=3"]) == "`--set` must be dotted.key=value, but has no key instead."
    assert fault(["training.seed=1", "training.seed.deep=3"]) == (
        "`--set training.seed.deep` goes through `training.seed`, which holds a value, not keys."
    )


def test_what_is_set_in_a_section_that_is_off_turns_it_on() -> None:
    config = load_config(overrides=["chunking.borders.tolerance=9"], base={"chunking": {"borders": None}})
    assert config.chunking.borders is not None
    assert config.chunking.borders.tolerance == 9
    assert config.chunking.borders.prefer == ("section", "paragraph", "sentence")
    assert load_config(overrides=["chunking.borders={}"]).chunking.borders is not None
    assert load_config().chunking.borders is None


def test_defaults_are_valid() -> None:
    assert yaml.safe_load(dump_resolved(RunConfig()))["chunking"] == {
        "size": 512,
        "overlap": 128,
        "keep": "all",
        "axes": [],
        "languages": [],
        "borders": None,
    }


def test_a_word_stands_for_a_kind_wherever_there_are_kinds(tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text("model: {encoder: {position: rotary}, readout: {kind: vectors, head: dense}}\n")
    config = load_config(tmp_path / "run.yaml", ["model.encoder.position.scaling={kind: linear, factor: 2}"])
    assert config.model.encoder is not None
    assert config.model.encoder.position == RotaryConfig(scaling=LinearScaling(factor=2))
    assert config.model.readout.head.kind == "dense"  # type: ignore[union-attr]
    assert position_config("stacked", ["parts=[learned, alibi]"]).parts == (LearnedConfig(), AlibiConfig())  # type: ignore[union-attr]
    assert position_config("tree", ["order=rotary"]).order == RotaryConfig()  # type: ignore[union-attr]
    assert position_config("language_gate", ["shared=learned"]).shared == LearnedConfig()  # type: ignore[union-attr]


def test_fields_are_set_over_an_encoding_of_the_same_kind_and_over_no_other() -> None:
    base = RotaryConfig(layout="interleaved")
    assert position_config("rotary", ["theta=7"], base) == RotaryConfig(layout="interleaved", theta=7)
    assert position_config(None, ["theta=7"], base) == RotaryConfig(layout="interleaved", theta=7)
    assert position_config("learned", (), base) == LearnedConfig()
