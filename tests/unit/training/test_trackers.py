"""What leaves a run for an experiment tracker: its numbers, and not a word of the user's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from accelerate import tracking

from longdoc.api import train_with_report
from longdoc.config import load_config
from longdoc.errors import ConfigurationError
from longdoc.training.trackers import check_tracker, parameters
from longdoc.types import Document

CONFIG = Path(__file__).parents[3] / "configs" / "debug_tiny.yaml"
CANARY = "zebrafinch"


class Heard(tracking.GeneralTracker):  # type: ignore[misc]
    """Keeps everything that it is told."""

    name = "heard"
    requires_logging_directory = False
    told: list[Any]

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__()
        self.told.append([given, options])

    @property
    def tracker(self) -> None:
        return None

    def store_init_configuration(self, values: dict[str, Any]) -> None:
        self.told.append(values)

    def log(self, values: dict[str, Any], step: int | None = None, **options: Any) -> None:
        self.told.append([values, step, options])

    def finish(self) -> None:
        self.told.append("finished")


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    monkeypatch.setattr(Heard, "told", [], raising=False)
    monkeypatch.setitem(tracking.LOGGER_TYPE_TO_CLASS, "heard", Heard)
    monkeypatch.setattr(tracking, "get_available_trackers", lambda: ["heard"])
    return Heard.told


@pytest.mark.usefixtures("minilm_folder")
def test_numbers_of_every_line_go_out_and_no_word_of_the_user(heard: list[Any], tmp_path: Path) -> None:
    labels = (f"{CANARY} label", "other")
    documents = [
        Document(id=f"{CANARY}{n}", text=f"{CANARY} text {n} " * 9, labels=labels[: 1 + n % 2]) for n in range(4)
    ]
    overrides = [
        "training.tracker=heard",
        "model.task=multi_label",
        "training.num_train_epochs=1",
        f"training.rows_folder={tmp_path / CANARY}",
        "training.freeze=[encoder.layers.0]",
    ]
    config = load_config(CONFIG, overrides, {"training": {"pos_weight": {labels[0]: 2.0}}})
    output = tmp_path / CANARY / "run"
    output.parent.mkdir()
    train_with_report(config, output, documents[:2], documents[2:])
    (given, options), settings, *lines, last = heard
    assert (given, options, last) == (("longdoc",), {}, "finished")
    assert settings["learning_rate"] == config.training.learning_rate
    assert (settings["loss.kind"], settings["schedule.kind"], settings["seed"]) == ("cross_entropy", "linear", 0)
    written = [json.loads(line) for line in (output / "metrics.jsonl").read_text().splitlines()]
    assert [step for _, step, _ in lines] == [line["step"] for line in written]
    assert lines[0][0]["train/loss"] == written[0]["loss"]
    assert lines[-1][0]["validation/loss"] == written[-1]["loss"]
    assert {type(value) for values, _, _ in lines for value in values.values()} <= {int, float}
    assert CANARY not in repr(heard)
    assert str(tmp_path) not in repr(heard)


def test_parameters_are_numbers_and_words_of_closed_lists() -> None:
    found = parameters(load_config(None, ["training.loss={kind: focal, gamma: 1.5}"]).training)
    assert (found["loss.kind"], found["loss.gamma"]) == ("focal", 1.5)
    assert {key for key, value in found.items() if isinstance(value, str)} == {"loss.kind", "schedule.kind"}


def test_an_unknown_tracker_is_refused_with_the_known_ones(heard: list[Any]) -> None:
    with pytest.raises(ConfigurationError) as caught:
        check_tracker(CANARY)
    known = ", ".join(sorted(tracking.LOGGER_TYPE_TO_CLASS))
    assert str(caught.value) == f"`training.tracker` must be null or one of {known}, but is not."


def test_a_missing_package_is_named(heard: list[Any]) -> None:
    with pytest.raises(ConfigurationError) as caught:
        check_tracker("comet_ml")
    assert str(caught.value) == (
        "`training.tracker: comet_ml` needs the package of that tracker, which is not installed. Run: pip install "
        "comet-ml"
    )
