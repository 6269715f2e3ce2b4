"""Compiled attention for tests: what was compiled at installation, and tiles that are emulated where there are none."""

from __future__ import annotations

import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from longdoc.nn import compiled
from longdoc.nn.compiled.library import Kernels, Level, library, open_library


@functools.cache
def emulated() -> Kernels | None:
    """The library with its tile instructions written out; None without a compiler or AVX-512."""
    kernels, _ = library()
    compiler = shutil.which("g++") or shutil.which("c++")
    if kernels is None or Level.AVX512 not in kernels.levels or compiler is None:
        return None
    source = Path(compiled.__file__).parent / "attention.cpp"
    file = Path(tempfile.mkdtemp()) / "emulated.so"
    command = [compiler, "-std=c++17", "-O2", "-w", "-shared", "-fPIC", "-DLONGDOC_EMULATE_TILES", "-o", file, source]
    subprocess.run(command, check=True, timeout=300)
    return open_library(file)


def kernels_for(level: Level) -> Kernels:
    """A library that runs this kernel here; skips where there is none."""
    kernels, why = library()
    if kernels is None:
        pytest.skip(f"no compiled attention: {why}")
    if level in kernels.levels:
        return kernels
    if level == Level.AMX and (written_out := emulated()) is not None:
        return written_out
    pytest.skip(f"this processor has no {level.name}")
