"""The random states of one process as tensors: what must be put back for a run to go on as it would have."""

from __future__ import annotations

import random

import numpy as np
import torch

__all__ = ["random_states", "replay", "set_random_states"]


def random_states(device: torch.device) -> dict[str, torch.Tensor]:
    """Of torch (CPU, and the GPU where `device` is one), numpy and Python."""
    _, keys, place, has_gauss, gauss = np.random.get_state(legacy=True)
    version, words, python_gauss = random.getstate()
    states = {
        "torch": torch.get_rng_state(),
        "numpy.keys": torch.from_numpy(np.asarray(keys, dtype=np.int64)),
        "numpy.rest": torch.tensor([place, has_gauss, gauss], dtype=torch.float64),
        "python.words": torch.tensor([version, *words], dtype=torch.int64),
        "python.gauss": torch.tensor([] if python_gauss is None else [python_gauss], dtype=torch.float64),
    }
    if device.type == "cuda":
        states["cuda"] = torch.cuda.get_rng_state(device)
    return states


def set_random_states(device: torch.device, states: dict[str, torch.Tensor]) -> None:
    """Put back what `random_states` gave."""
    replay(device, states)
    place, has_gauss, gauss = states["numpy.rest"].tolist()
    np.random.set_state(("MT19937", states["numpy.keys"].numpy().astype(np.uint32), int(place), int(has_gauss), gauss))
    version, *words = states["python.words"].tolist()
    python_gauss = states["python.gauss"].tolist()
    random.setstate((version, tuple(words), python_gauss[0] if python_gauss else None))


def replay(device: torch.device, states: dict[str, torch.Tensor]) -> None:
    """Put back the states of torch alone, which the network draws from."""
    torch.set_rng_state(states["torch"])
    if device.type == "cuda" and "cuda" in states:
        torch.cuda.set_rng_state(states["cuda"], device)
