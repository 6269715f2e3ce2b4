"""The processes of a launch whose launcher was killed as they started do not wait for it."""

from __future__ import annotations

from datetime import timedelta

import pytest
import torch
from accelerate.state import PartialState

from longdoc import launched
from longdoc.errors import InterruptedTrainingError
from longdoc.training import processes


def test_a_launcher_that_is_gone_is_not_waited_for(monkeypatch: pytest.MonkeyPatch, lost_launcher: None) -> None:
    monkeypatch.setattr(launched, "LAUNCHER_ANSWERS", timedelta(seconds=0.5))
    monkeypatch.setattr(PartialState, "_shared_state", {})
    with pytest.raises(InterruptedTrainingError) as caught:
        processes.start_accelerator(torch.device("cpu"), torch.float32, 0)
    assert str(caught.value) == (
        "the launch of this process has ended (DistNetworkError), so it stops too. Run the same command again."
    )
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("error", [torch.distributed.DistBackendError("NCCL"), RuntimeError("[gloo/pair.cc] closed")])
def test_a_process_that_was_killed_is_said_by_the_others(error: RuntimeError) -> None:
    with pytest.raises(InterruptedTrainingError) as caught, processes.unless_others_are_gone(2):
        raise error
    assert str(caught.value) == (
        "another of the 2 processes of this launch has ended, so this one stops too. The same command goes on from the "
        "last checkpoint, or starts over where there is none."
    )
    assert caught.value.__cause__ is None
    with pytest.raises(RuntimeError) as alone, processes.unless_others_are_gone(1):
        raise error
    assert alone.value is error, "a process that is alone has no others"


def test_other_faults_of_a_library_stay_what_they_are() -> None:
    fault = RuntimeError("shapes do not fit")
    with pytest.raises(RuntimeError) as caught, processes.unless_others_are_gone(2):
        raise fault
    assert caught.value is fault
