"""Where a model runs and in which number format: decided once, by capability, and said aloud.

bfloat16 is used only where the device multiplies it natively; elsewhere it is slower than float32 and less exact.
LayerNorm, softmax, pooling and merging stay in float32 inside either way.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import torch

from longdoc.errors import ConfigurationError
from longdoc.nn import Encoder
from longdoc.nn.compiled.attention import choose_level, compiled_attention
from longdoc.nn.compiled.library import Level, library
from longdoc.nn.packed import kernel_works
from longdoc.nn.products import packed_products, packs_products
from longdoc.schema import Config
from longdoc.text.batching import BatchingConfig

__all__ = [
    "ComputePath",
    "Placement",
    "PrecisionConfig",
    "choose_placement",
    "compute_path",
    "cpu_multiplies_bfloat16",
]


_LANES = {"cuda": 2}
_HALF = (torch.bfloat16, torch.float16)
_SHORT = {torch.float32: "fp32", torch.bfloat16: "bf16", torch.float16: "fp16"}


class PrecisionConfig(Config):
    """The device and number format asked for."""

    device: str = "auto"
    """`auto` (a GPU where there is one), `cpu`, `cuda`, `cuda:1`, `mps`."""
    dtype: Literal["auto", "fp32", "bf16"] = "auto"
    """`auto`: bf16 where the device multiplies it natively, else fp32."""
    attention: Literal["auto", "torch"] = "auto"
    """`auto`: the compiled kernel where there is one and it is faster, on a GPU the one for texts of unequal length,
    else torch's `scaled_dot_product_attention`. `torch`: always that."""
    threads: int | None = None
    """Threads of one operation on a CPU; None leaves torch's own choice (one a core)."""


@dataclass(frozen=True)
class Placement:
    """The decision: device, number format, the reason in words, and whether attention may be any but torch's usual."""

    device: torch.device
    dtype: torch.dtype
    reason: str
    compiled: bool = True
    most_lanes: int | None = None
    """Batches that may be under way at once at most; None = as many as suit the device."""

    @contextlib.contextmanager
    def inference(self) -> Iterator[None]:
        """Inside: no gradients, and products in the chosen number format."""
        packed = self.dtype if packs_products(self.device, self.dtype) else None
        with torch.inference_mode(), self.autocast(), packed_products(packed):
            yield

    @contextlib.contextmanager
    def autocast(self) -> Iterator[None]:
        """Inside: products in the chosen number format, attention by the chosen kernels."""
        reduced = self.dtype != torch.float32
        dtype = self.dtype if reduced else torch.bfloat16
        with torch.autocast(self.device.type, dtype=dtype, enabled=reduced), compiled_attention(self.compiled):
            yield

    @property
    def lanes(self) -> int:
        """Batches that are under way at once while predicting: on a CPU one a core, each alone on its core; on a GPU
        one that is computed and one that is made ready."""
        fitting = torch.get_num_threads() if self.device.type == "cpu" else _LANES.get(self.device.type, 1)
        return fitting if self.most_lanes is None else min(fitting, self.most_lanes)

    @property
    def packs(self) -> bool:
        """Whether rows are computed as texts behind each other, without a mask, where an encoder takes them so."""
        return self.compiled and self.dtype in _HALF and self.device.type == "cuda" and not kernel_works(self.device)

    @property
    def name(self) -> str:
        """Short and stable, for fingerprints: `cpu-fp32`; `cpu-bf16-amx` where predictions take a compiled kernel."""
        level = self.compiled_level()
        return f"{self.device.type}-{_SHORT[self.dtype]}" + (f"-{level.name}".lower() if level else "")

    def compiled_level(self, dropout: float = 0.0, records: bool = False) -> Level | None:
        """The compiled attention that is taken here, or None: torch's."""
        if self.device.type != "cpu":
            return None
        with compiled_attention(self.compiled):
            return choose_level(self.dtype, dropout, records)


@dataclass(frozen=True)
class ComputePath:
    """How rows of chunks are computed, and why so: for people and for tests. Each field is a value or a sentence.

    Attributes:
        device, dtype: `cpu`, `fp32`.
        reason: of the number format.
        lanes: batches that are under way at once, each with one thread of its own.
        attention: the kernel.
        training: the kernel while training with dropout on attention, and why it is no compiled one.
        products: how weights lie in memory.
        batches: how chunks stand side by side.
        repeats: what becomes of a chunk that stands in the documents more than once.
    """

    device: str
    dtype: str
    reason: str
    lanes: int
    attention: str
    training: str
    products: str
    batches: str
    repeats: str


def compute_path(placement: Placement, batching: BatchingConfig, encoder: Encoder) -> ComputePath:
    """The way that predictions of this encoder take."""
    positions = torch.arange(2, device=encoder.word.weight.device)[None]
    with torch.no_grad():
        plan = encoder.position.plan(positions, torch.float32)
    attention = "torch's fused kernel, without a mask where no chunk of a batch is padded"
    level = placement.compiled_level()
    if plan.value_term(0) is not None:
        attention = "written out, since the position encoding speaks to the values"
    elif level is not None:
        attention = f"the compiled kernel for {level.name}"
    elif placement.packs and encoder.takes_packing:
        attention = "torch's kernel for texts of unequal length behind each other, without a mask"
    fixed, amounts = batching.deterministic, batching.amounts(placement.device.type)
    return ComputePath(
        device=str(placement.device),
        dtype=_SHORT[placement.dtype],
        reason=placement.reason,
        lanes=placement.lanes,
        attention=attention,
        training=_while_training(placement),
        products=(
            f"weights once in {_SHORT[placement.dtype]}, in the order that the products want"
            if packs_products(placement.device, placement.dtype)
            else "as torch does them"
        ),
        batches=(
            "fixed shapes by length: the same bits whatever stands beside a chunk"
            if fixed
            else f"by length, up to {amounts.tokens} tokens: equal to rounding whatever stands beside a chunk"
        ),
        repeats="encoded once" if fixed and batching.reuse_repeats else "encoded each time",
    )


def _while_training(placement: Placement) -> str:
    if placement.device.type != "cpu":
        return "torch's fused kernel"
    level = placement.compiled_level(dropout=0.1, records=True)
    if level is not None:
        return f"the compiled kernel for {level.name}"
    why = f"the compiled kernel: {library()[1]}" if placement.compiled else "`precision.attention` asks for torch's"
    return f"products written out ({why})"


def cpu_multiplies_bfloat16() -> bool:
    """Whether this CPU has instructions (AMX or AVX512-BF16) that multiply bfloat16."""
    probes = ("_is_amx_tile_supported", "_is_avx512_bf16_supported")
    return any(bool(getattr(torch.cpu, probe, lambda: False)()) for probe in probes)


def choose_placement(settings: PrecisionConfig | None = None) -> Placement:
    """Decide where and how to compute.

    Raises:
        ConfigurationError: the device asked for is not there, or is not a device.
    """
    settings = settings or PrecisionConfig()
    if settings.threads is not None:
        if settings.threads < 1:
            raise ConfigurationError(f"`precision.threads` must be at least 1, but is {settings.threads} instead.")
        torch.set_num_threads(settings.threads)
    device = _choose_device(settings.device)
    if device.type == "cuda":
        native = torch.cuda.is_bf16_supported(including_emulation=False)
    elif device.type == "cpu":
        native = cpu_multiplies_bfloat16()
    else:
        native = False
    if settings.dtype == "auto":
        dtype = torch.bfloat16 if native else torch.float32
        reason = f"{device.type} {'multiplies' if native else 'does not multiply'} bfloat16 natively"
    else:
        dtype = torch.bfloat16 if settings.dtype == "bf16" else torch.float32
        reason = f"`precision.dtype` asks for {settings.dtype}"
    return Placement(device, dtype, reason, settings.attention == "auto")


def _choose_device(name: str) -> torch.device:
    if name in ("auto", "cuda") and torch.cuda.is_available():
        return torch.device("cuda", torch.cuda.current_device())  # other threads of the process have another default
    if name == "auto":
        return torch.device("cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ConfigurationError(
            f"`precision.device` must be auto, cpu, cuda, cuda:N or mps, but is {name!r} instead."
        ) from None
    present = {
        "cpu": True,
        "cuda": torch.cuda.is_available() and (device.index or 0) < torch.cuda.device_count(),
        "mps": torch.backends.mps.is_available(),
    }
    if not present.get(device.type, False):
        raise ConfigurationError(
            f"`precision.device` is {name!r}, but this machine has no such device. Use `auto` or `cpu`."
        )
    return device
