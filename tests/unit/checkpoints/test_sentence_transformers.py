"""What folders of sentence-transformers say, and what cannot be done with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from longdoc.checkpoints.sentence_transformers import SentenceSettings, read_sentence_settings
from longdoc.errors import CheckpointError

TYPES = ("Transformer", "Pooling", "Normalize")


def folder(path: Path, modules: Any = TYPES, pooling: Any = None, **files: Any) -> Path:
    entries = modules
    if isinstance(modules, tuple):
        entries = [
            {
                "idx": number,
                "name": str(number),
                "path": f"{number}_{kind}" if number else "",
                "type": f"sentence_transformers.models.{kind}",
            }
            for number, kind in enumerate(modules)
        ]
    (path / "modules.json").write_text(json.dumps(entries))
    (path / "1_Pooling").mkdir()
    (path / "1_Pooling" / "config.json").write_text(json.dumps(pooling or {"pooling_mode_mean_tokens": True}))
    for name, content in files.items():
        (path / f"{name}.json").write_text(json.dumps(content))
    return path


def test_the_embedded_default(minilm_folder: Path) -> None:
    assert read_sentence_settings(minilm_folder) == SentenceSettings(pooling="mean", normalize=True, max_tokens=256)


def test_a_folder_that_says_nothing_is_pooled_by_the_mean(tmp_path: Path) -> None:
    assert read_sentence_settings(tmp_path) == SentenceSettings()


@pytest.mark.parametrize(
    ("pooling", "expected"),
    [
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "cls"),
        ({"pooling_mode_max_tokens": True}, "max"),
        ({"pooling_mode": "mean"}, "mean"),
    ],
)
def test_poolings(tmp_path: Path, pooling: dict[str, Any], expected: str) -> None:
    found = read_sentence_settings(folder(tmp_path, ("Transformer", "Pooling"), pooling))
    assert (found.pooling, found.normalize) == (expected, False)


def test_lengths_and_prompts(tmp_path: Path) -> None:
    told = {"prompts": {"query": "q: "}, "default_prompt_name": "query"}
    pooling = {"pooling_mode_mean_tokens": True, "include_prompt": False}
    made = folder(tmp_path, TYPES, pooling, sentence_bert_config={"max_seq_length": 128},
                  config_sentence_transformers=told)  # fmt: skip
    assert read_sentence_settings(made) == SentenceSettings(
        "mean", True, 128, {"query": "q: "}, "query", pools_prompt=False
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"modules": ("Transformer", "Pooling", "Dense")},
            "must name Transformer, Pooling and Normalize only, but names Dense. Its vectors cannot be made without it",
        ),
        (
            {"pooling": {"pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": True}},
            "must choose one pooling of mean, max, cls, but chooses mean, max instead.",
        ),
        (
            {"pooling": {"pooling_mode_lasttoken": True}},
            "must choose one pooling of mean, max, cls, but chooses lasttoken instead.",
        ),
        ({"sentence_bert_config": {"do_lower_case": True}}, "must be false, but is true: texts would be changed"),
        ({"modules": {"0": "Transformer"}}, "must be a list of modules with `type` and `path`, but is not."),
        (
            {"modules": [{"type": "a.Pooling", "path": "../elsewhere"}]},
            "must name folders inside its own, but does not.",
        ),
    ],
)
def test_what_cannot_be_done_is_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(CheckpointError) as caught:
        read_sentence_settings(folder(tmp_path, **changes))
    assert message in str(caught.value)
