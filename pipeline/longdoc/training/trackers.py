"""A run's numbers in an experiment tracker, by any name that Accelerate knows: `tensorboard`, `wandb`, `mlflow` ...

Numbers go out, and nothing else: no text, no label, no path. What a tracker's own package gathers about the machine is
not ours; wandb is asked to gather nothing, unless its environment variables say otherwise.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from accelerate import tracking

from longdoc.errors import ConfigurationError
from longdoc.training.settings import TrainingConfig

__all__ = ["check_tracker", "parameters", "tracked"]

_PROJECT = "longdoc"
_SILENT = {
    "WANDB_SILENT": "true",
    "WANDB_CONSOLE": "off",
    "WANDB_DISABLE_GIT": "true",
    "WANDB_DISABLE_CODE": "true",
    "WANDB_X_DISABLE_META": "true",
}
_PRIVATE = frozenset({"pos_weight", "freeze", "rows_folder", "tracker", "metric_for_best_model"})
"""Settings that may hold labels, names or places of the user's."""


def check_tracker(name: str | None) -> None:
    """Refuse a tracker that Accelerate does not know, or whose package is missing.

    Raises:
        ConfigurationError: so it is.
    """
    known = sorted(tracking.LOGGER_TYPE_TO_CLASS)
    if name is None:
        return
    if name not in known:
        raise ConfigurationError(f"`training.tracker` must be null or one of {', '.join(known)}, but is not.")
    if name not in {str(getattr(kind, "value", kind)) for kind in tracking.get_available_trackers()}:
        raise ConfigurationError(
            f"`training.tracker: {name}` needs the package of that tracker, which is not installed. Run: pip install "
            f"{name.replace('_', '-')}"
        )


def parameters(settings: TrainingConfig) -> dict[str, float | bool | str]:
    """The settings that are numbers, or words of a closed list, by their dotted names."""
    found: dict[str, float | bool | str] = {}
    for name, value in settings.model_dump(mode="json").items():
        if name in _PRIVATE:
            continue
        fields = value.items() if isinstance(value, Mapping) else [("", value)]
        for key, each in fields:
            if isinstance(each, bool | int | float) or key == "kind":
                found[f"{name}.{key}" if key else name] = each
    return found


@contextmanager
def tracked(settings: TrainingConfig, output: Path, active: bool) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Inside, what is called with a line of `metrics.jsonl` sends its numbers to the tracker.

    Args:
        output: the run's folder; trackers that write files write them below it.
        active: False on processes that write nothing.

    Raises:
        ConfigurationError: as `check_tracker`.
    """
    check_tracker(settings.tracker)
    if settings.tracker is None or not active:
        yield _say_nothing
        return
    for variable, value in _SILENT.items():
        os.environ.setdefault(variable, value)
    kind = tracking.LOGGER_TYPE_TO_CLASS[settings.tracker]
    folder = {"logging_dir": str(output / "tracker")} if kind.requires_logging_directory else {}
    tracker = kind(_PROJECT, **folder)
    if hasattr(tracker, "start"):
        tracker.start()
    tracker.store_init_configuration(parameters(settings))

    def tell(line: Mapping[str, Any]) -> None:
        prefix = f"{line['split']}/" if "split" in line else "train/"
        numbers = {prefix + key: value for key, value in line.items() if key != "step" and _is_number(value)}
        tracker.log(numbers, step=line["step"])

    try:
        yield tell
    finally:
        tracker.finish()


def _say_nothing(line: Mapping[str, Any]) -> None:
    """Where there is no tracker."""


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
