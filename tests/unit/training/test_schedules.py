"""Learning rates against those of transformers, step by step."""

from __future__ import annotations

import pytest
import torch
import transformers

from longdoc.config import load_config
from longdoc.errors import ConfigurationError
from longdoc.training.schedules import ConstantConfig, CosineConfig, LinearConfig, Schedule, ScheduleShape

THEIRS = {
    "linear": lambda o, w, t: transformers.get_linear_schedule_with_warmup(o, w, t),
    "cosine": lambda o, w, t: transformers.get_cosine_schedule_with_warmup(o, w, t),
    "constant": lambda o, w, t: transformers.get_constant_schedule_with_warmup(o, w),
}
SHAPES = {"linear": LinearConfig(), "cosine": CosineConfig(), "constant": ConstantConfig()}


def optimizer() -> torch.optim.Optimizer:
    groups = [{"params": [torch.nn.Parameter(torch.zeros(1))], "lr": rate} for rate in (2e-5, 3e-4)]
    return torch.optim.SGD(groups)


def their_rates(kind: str, warmup: int, total: int) -> list[list[float]]:
    """Of steps 0 ... total."""
    theirs = optimizer()
    schedule = THEIRS[kind](theirs, warmup, total)
    rates = []
    for _ in range(total + 1):
        rates.append([group["lr"] for group in theirs.param_groups])
        theirs.step()
        schedule.step()
    return rates


@pytest.mark.parametrize("kind", THEIRS)
@pytest.mark.parametrize(("total", "ratio"), [(1, 0.0), (7, 0.0), (40, 0.1), (40, 0.5), (9, 0.9)])
def test_rates_are_those_of_transformers_and_the_warm_up_is_one_step_ahead(kind: str, total: int, ratio: float) -> None:
    ours = optimizer()
    schedule = Schedule(ours, total, ratio, SHAPES[kind])
    warmup = round(total * ratio)
    theirs = their_rates(kind, warmup, total)
    for step in range(total):
        schedule.before_step()
        found = [group["lr"] for group in ours.param_groups]
        assert found == pytest.approx(theirs[step + 1 if step < warmup else step], rel=1e-12), step
        assert schedule.learning_rate == found[0] > 0


def test_a_run_that_is_all_warm_up_ends_at_the_full_rate() -> None:
    assert [Schedule(optimizer(), 4, 1.0).factor(step) for step in range(4)] == [0.25, 0.5, 0.75, 1.0]


def test_a_shape_is_said_by_its_word() -> None:
    def chosen(word: str) -> ScheduleShape:
        return load_config(None, [f"training.schedule={word}"]).training.schedule

    assert [chosen(kind) for kind in SHAPES] == list(SHAPES.values())
    assert load_config(None, []).training.schedule == LinearConfig()


def test_another_word_is_refused() -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_config(None, ["training.schedule=sawtooth"])
    assert str(caught.value) == "`training.schedule` must be of a known kind: linear, cosine, constant. Correct `kind`."
