"""Models that are too big for the device: their layers lie in main memory or on the disk until they are needed.

Accelerate's device map (`accelerate.dispatch_model`) brings each layer to the device when its turn comes and lets it go
afterwards; all else of a model, embeddings and readout, stays on the device. The numbers are the same, the time is that
of moving every such layer once a batch.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path

import torch
from pydantic import Field
from torch import nn

from longdoc.errors import ConfigurationError
from longdoc.files import check_folder_output
from longdoc.model import LongDocModel
from longdoc.schema import Config

__all__ = ["DeviceMapConfig", "is_spread", "places_of_layers", "spread"]

_GB = 1e9
_DISK = "disk"


class DeviceMapConfig(Config):
    """How much of the encoder's layers may lie where. The first layers come first, in the order of the fields."""

    device_gb: float | None = Field(default=None, ge=0)
    """Gigabytes (1e9 bytes) of layers on the device; None: nine tenths of what is free there when the model comes."""
    memory_gb: float | None = Field(default=None, ge=0)
    """Gigabytes of further layers in main memory, where the device is a GPU; None: nine tenths of what is free."""
    folder: str | None = None
    """Where a hidden folder is made for the layers that are left, until the pipeline is gone; None: that for temporary
    files."""


def spread(model: LongDocModel, device: torch.device, settings: DeviceMapConfig) -> LongDocModel:
    """The model, ready to predict: its layers where they may lie, and all else on the device.

    Args:
        model: in main memory.

    Raises:
        ConfigurationError: its encoder has no layers that could lie elsewhere.
        UsageError, CannotWriteError: `settings.folder` cannot be used.
    """
    from accelerate import dispatch_model

    layers = getattr(model.encoder, "layers", None)
    if not isinstance(layers, nn.ModuleList) or not len(layers):
        raise ConfigurationError(
            "`prediction.device_map` needs an encoder whose `layers` are a list of modules, but this one has none. Set "
            "it to null."
        )
    model.encoder.layers = nn.ModuleList()
    model.to(device).eval()
    model.encoder.layers = layers
    sizes = [sum(t.numel() * t.element_size() for t in layer.state_dict().values()) for layer in layers]
    places = places_of_layers(sizes, device, settings)
    folder = None
    if _DISK in places:
        if settings.folder is not None:
            check_folder_output(Path(settings.folder), "prediction.device_map.folder")
            Path(settings.folder).mkdir(parents=True, exist_ok=True)
        # Always a new one: Accelerate takes files that are there for those of this model.
        folder = tempfile.mkdtemp(prefix=".longdoc-layers-", dir=settings.folder)
        weakref.finalize(model, shutil.rmtree, folder, ignore_errors=True)
    kinds = sorted({type(layer).__name__ for layer in layers})
    dispatch_model(
        layers.eval(),
        {str(number): place for number, place in enumerate(places)},
        main_device=device,
        offload_dir=folder,
        # A layer comes as a whole: its products may be used without being called.
        preload_module_classes=kinds,
    )
    if is_spread(model):
        _one_at_a_time(model.encoder)
    return model


def _one_at_a_time(encoder: nn.Module) -> None:
    """Whoever calls meanwhile, from another thread, waits: Accelerate takes a layer away when the first is through."""
    turn = threading.Lock()
    encoder.register_forward_pre_hook(lambda *_: turn.acquire() and None)
    encoder.register_forward_hook(lambda *_: turn.release(), always_call=True)


def places_of_layers(sizes: Sequence[int], device: torch.device, settings: DeviceMapConfig) -> list[torch.device | str]:
    """A place for each layer: the device while there is room, then main memory, then the disk; never back again.

    Args:
        sizes: bytes of each layer.
    """
    rooms: list[tuple[torch.device | str, float]] = [(device, _room(settings.device_gb, device))]
    if device.type != "cpu":
        rooms.append(("cpu", _room(settings.memory_gb, torch.device("cpu"))))
    rooms.append((_DISK, float("inf")))
    found: list[torch.device | str] = []
    for size in sizes:
        while rooms[0][1] < size:
            rooms.pop(0)
        place, room = rooms[0]
        rooms[0] = (place, room - size)
        found.append(place)
    return found


def is_spread(model: nn.Module) -> bool:
    """Whether weights of it lie elsewhere, so that it can predict and nothing else."""
    return any(parameter.is_meta for parameter in model.parameters())


def _room(asked: float | None, device: torch.device) -> float:
    if asked is not None:
        return asked * _GB
    from accelerate.utils import get_max_memory

    free = get_max_memory()
    key = "cpu" if device.type == "cpu" else device.index if device.index is not None else device.type
    if key == "cuda":
        key = torch.cuda.current_device()
    return 0.9 * float(free.get(key, 0))
