"""The processes of a launch whose launcher was killed as they started do not wait for it."""

from __future__ import annotations

import pytest
import torch
from accelerate.state import PartialState

from longdoc.errors import InterruptedTrainingError
from longdoc.training import processes


def test_a_launcher_that_is_gone_is_not_waited_for(monkeypatch: pytest.MonkeyPatch, lost_launcher: None) -> None:
    monkeypatch.setattr(processes, "_STORE_SECONDS", 0.5)
    monkeypatch.setattr(PartialState, "_shared_state", {})
    with pytest.raises(InterruptedTrainingError) as caught:
        processes.start_accelerator(torch.device("cpu"), torch.float32, 0)
    assert str(caught.value) == (
        "the launch of this process has ended (DistNetworkError), so it stops too. Run the same command again."
    )
    assert caught.value.__cause__ is None
