"""How far training is, for those who call it from a program or a notebook: numbers only."""

from __future__ import annotations

from collections.abc import Callable

from longdoc.training.progress import TrainingProgress

__all__ = ["EpochLines"]


class EpochLines:
    """A line for each epoch that has learned, and one for every tenth that a frozen encoder has read.

    Args:
        say: what becomes of a line.
    """

    def __init__(self, say: Callable[[str], object]) -> None:
        self.say = say
        self.said: tuple[str, int] | None = None

    def __call__(self, state: TrainingProgress) -> None:
        if state.phase == "rows":
            mark, line = 10 * state.done // max(1, state.total), f"encode: {state.done} of {state.total} texts"
        elif state.phase == "train":
            if state.done < state.total:
                return
            loss = "" if state.loss is None else f", loss {state.loss:.4f}"
            mark, line = state.epoch, f"epoch {state.epoch} of {state.epochs}{loss}"
        elif state.phase == "validate" and state.metric is not None:
            mark, line = state.epoch, f"validation: {state.score.replace('_', ' ')} {state.metric:.4f}"
        else:
            return
        if self.said != (state.phase, mark):
            self.said = (state.phase, mark)
            self.say(line)
