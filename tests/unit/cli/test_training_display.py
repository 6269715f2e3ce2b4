"""What a training run shows: numbers only, a live picture on a terminal, plain lines elsewhere."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from longdoc.cli.training_display import EVERY_SECONDS, LivePicture, PlainLines, duration, show_training, sparkline
from longdoc.training.progress import TrainingProgress

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def trained(step: int, loss: float = 0.5, speed: float = 2345.6) -> TrainingProgress:
    epoch = (step - 1) // 10 + 1
    return TrainingProgress(
        "train", epoch, 4, step - 10 * (epoch - 1), 10, loss=loss, tokens_per_second=speed, step=step, steps=40
    )


def measured(epoch: int, score: float, improved: bool) -> TrainingProgress:
    return TrainingProgress("validate", epoch, 4, 6, 6, metric=score, improved=improved, step=10 * epoch, steps=40,
                            score="macro_f1")  # fmt: skip


def test_plain_lines_come_now_and_then_and_say_all() -> None:
    clock, said = Clock(), []
    tell = PlainLines(said.append, clock)
    for step in range(1, 11):
        clock.now += 10
        tell(trained(step))
    assert said == [
        "train: epoch 1 of 4, 3 of 10, loss 0.5000, 2,346 tokens/s, about 6 min left",
        "train: epoch 1 of 4, 6 of 10, loss 0.5000, 2,346 tokens/s, about 6 min left",
        "train: epoch 1 of 4, 9 of 10, loss 0.5000, 2,346 tokens/s, about 5 min left",
    ]
    tell(measured(1, 0.25, True))
    tell(measured(2, 0.2, False))
    assert said[3:] == ["epoch 1 of 4: macro_f1 0.2500, the best so far"]
    clock.now += EVERY_SECONDS
    tell(measured(2, 0.2, False))
    assert said[4:] == ["validate: epoch 2 of 4, 6 of 6, macro f1 0.2000, about 5 min left"]
    assert not CONTROL.search("".join(said))


def test_the_best_epoch_of_a_fast_run_is_said_too() -> None:
    """Epochs of a tenth of a second each: the best one, the fourth, had no line."""
    clock, said = Clock(), []
    tell = PlainLines(said.append, clock)
    for epoch in range(1, 5):
        tell(measured(epoch, epoch / 10, True))
        clock.now += 0.1
    assert said == ["epoch 1 of 4: macro_f1 0.1000, the best so far"]
    tell.lasting.end()
    assert said[1:] == ["epoch 4 of 4: macro_f1 0.4000, the best so far"]
    tell.lasting.end()
    clock.now += 2
    tell(measured(2, 0.2, True))
    assert said[2:] == ["epoch 2 of 4: macro_f1 0.2000, the best so far"], "slow ones have a line each"


def test_a_run_that_goes_on_says_so_and_counts_only_its_own_time() -> None:
    clock, said = Clock(), []
    tell = PlainLines(said.append, clock)
    tell(TrainingProgress("resume", 3, 4, 30, 40, step=30, steps=40))
    assert said == ["the run goes on after step 30 of 40"]
    for step in (31, 32):
        clock.now += 30
        tell(trained(step))
    assert said[-1].endswith("about 4 min left"), "eight steps of 30 seconds"


def test_the_rows_of_a_frozen_encoder_have_a_line_too() -> None:
    clock, said = Clock(), []
    tell = PlainLines(said.append, clock)
    clock.now += EVERY_SECONDS
    tell(TrainingProgress("rows", 0, 4, 3, 9, steps=40))
    assert said == ["encode: the frozen encoder's rows, once, 3 of 9"]
    clock.now += EVERY_SECONDS
    tell(TrainingProgress("rows", 0, 4, 5, 9, steps=40))
    assert said[1:] == ["encode: the frozen encoder's rows, once, 5 of 9, about 60 s left"]
    clock.now += EVERY_SECONDS
    tell(trained(1))
    assert said[2:] == ["train: epoch 1 of 4, 1 of 10, loss 0.5000, 2,346 tokens/s"], "its time is another one"


def test_the_picture_shows_loss_score_speed_and_time_left() -> None:
    clock, screen = Clock(), io.StringIO()
    console = Console(file=screen, force_terminal=True, width=110, height=10, color_system=None)
    with LivePicture(console, clock) as picture:
        for step in range(1, 12):
            clock.now += 1
            picture(trained(step, loss=1 / step))
            if step == 10:
                clock.now += 5
                picture(measured(1, 0.25, True))
                picture(measured(1, 0.2, False))
    with console.capture() as capture:
        console.print(picture.drawn(trained(11, loss=1 / 11)))
    first, second = capture.get().splitlines()[:2]
    assert first.split() == ["train", *first.split()[1:2], *"11 of 40 epoch 2 of 4 about 44 s left".split()]
    assert second.startswith("loss 0.0909 █")
    assert "macro f1 0.2000 (best 0.2500, epoch 1)   2,346 tokens/s" in second
    assert "epoch 1 of 4: macro_f1 0.2500, the best so far" in screen.getvalue()


def test_the_picture_without_unicode_has_no_curve() -> None:
    raw = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="replace")
    console = Console(file=raw, force_terminal=True, width=110, color_system=None)
    picture = LivePicture(console, Clock())
    picture.loss = 0.5
    picture.losses.append(0.5)
    with console.capture() as capture:
        console.print(picture.drawn(trained(3)))
    assert capture.get().splitlines()[1].strip() == "loss 0.5000"


@pytest.mark.parametrize("terminal", ["dumb", "xterm"])
def test_dumb_terminals_and_pipes_get_plain_lines(terminal: str, monkeypatch, capsys) -> None:
    monkeypatch.setenv("TERM", terminal)
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal == "dumb", raising=False)
    with show_training() as tell:
        assert isinstance(tell, PlainLines)
        tell(measured(1, 0.25, True))
    assert capsys.readouterr().err == "epoch 1 of 4: macro_f1 0.2500, the best so far\n"


def test_durations_and_curves_are_short() -> None:
    assert [duration(s) for s in (0, 89, 90, 3600, 11100)] == ["0 s", "89 s", "2 min", "60 min", "3 h 5 min"]
    assert sparkline([0.0, 1.0, 2.0]) == "▁▅█"  # type: ignore[arg-type]
    assert sparkline([3.0]) == "▁"  # type: ignore[arg-type]
