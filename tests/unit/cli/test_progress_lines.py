"""What a command says of its progress where there is no terminal."""

from __future__ import annotations

import pytest

from longdoc.cli.common import show_progress
from longdoc.cli.progress_lines import ProgressLines
from longdoc.cli.training_display import EVERY_SECONDS


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_line_comes_now_and_then_with_counts_and_the_time_left() -> None:
    clock, said = Clock(), []
    tell = ProgressLines("predict", "documents", said.append, clock)
    for done in range(20, 31):  # 20 were done by an earlier run
        tell(done, 40, int(done > 24))
        clock.now += 10
    assert said == [
        "predict: 23 of 40 documents, about 3 min left",
        "predict: 26 of 40 documents, 1 failed, about 2 min left",
        "predict: 29 of 40 documents, 1 failed, about 2 min left",
    ]


def test_where_nobody_knows_how_many_there_are_the_done_ones_are_counted() -> None:
    clock, said = Clock(), []
    tell = ProgressLines("explain", "documents", said.append, clock)
    clock.now += EVERY_SECONDS - 1
    tell(3, None)
    clock.now += 1
    tell(4, None)
    tell(5, None)
    assert said == ["explain: 4 documents"]


def test_another_round_has_a_speed_of_its_own() -> None:
    clock, said = Clock(), []
    tell = ProgressLines("explain", "documents", said.append, clock)
    for done in (0, 1, 2):
        tell(done, 2)
        clock.now += 20
    tell(0, 4)
    clock.now += EVERY_SECONDS
    tell(1, 4)
    assert said == ["explain: 2 of 2 documents", "explain: 1 of 4 documents, about 2 min left"]


def test_the_end_has_no_time_left() -> None:
    clock, said = Clock(), []
    tell = ProgressLines("embed", "documents", said.append, clock)
    tell(0, 2)
    clock.now += EVERY_SECONDS
    tell(2, 2)
    assert said == ["embed: 2 of 2 documents"]


@pytest.mark.parametrize("terminal", ["", "dumb"])
def test_without_a_terminal_lines_are_written_to_standard_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], terminal: str
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal == "dumb", raising=False)
    monkeypatch.setenv("TERM", terminal)
    monkeypatch.setattr("longdoc.cli.progress_lines.EVERY_SECONDS", 0.0)
    with show_progress("evaluate") as tell:
        tell(1, 3)
    assert capsys.readouterr() == ("", "evaluate: 1 of 3 documents\n")
