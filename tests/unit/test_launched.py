"""What a process of a launch knows of it, from its environment."""

from __future__ import annotations

import pytest

from longdoc.cli.common import closing_line
from longdoc.launched import in_launch, keeps_store, speaks_for_all


@pytest.mark.parametrize(
    ("environment", "first", "others", "store"),
    [
        ({}, True, False, False),
        ({"RANK": "0", "WORLD_SIZE": "1"}, True, False, False),
        ({"RANK": "0", "WORLD_SIZE": "2", "TORCHELASTIC_USE_AGENT_STORE": "True"}, True, True, True),
        ({"RANK": "1", "WORLD_SIZE": "2", "TORCHELASTIC_USE_AGENT_STORE": "False"}, False, True, False),
    ],
)
def test_a_process_knows_its_place(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], first: bool, others: bool, store: bool
) -> None:
    for name in ("RANK", "WORLD_SIZE", "TORCHELASTIC_USE_AGENT_STORE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert (speaks_for_all(), in_launch(), keeps_store()) == (first, others, store)


def test_one_process_of_a_launch_says_what_was_done(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    for rank in ("0", "1"):
        monkeypatch.setenv("RANK", rank)
        closing_line(f"done by {rank}")
    assert capsys.readouterr().out == "done by 0\n"
