"""What is installed: versions, extras, and what torch was built for."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Iterator

from longdoc.cli.doctor.finding import Finding

__all__ = ["devices", "extras", "versions"]


def versions() -> Iterator[Finding]:
    """Python, longdoc, and every library that it needs, beside the version that it asks for."""
    from packaging.requirements import Requirement

    from longdoc.version import __version__

    yield Finding("python", "ok", f"{platform.python_version()} on {platform.system()} {platform.machine()}")
    yield Finding("longdoc", "ok", __version__)
    for requirement in map(Requirement, importlib.metadata.requires("longdoc") or ()):
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        install = f'Run: pip install "{requirement.name}{requirement.specifier}"'
        try:
            found = importlib.metadata.version(requirement.name)
        except importlib.metadata.PackageNotFoundError:
            yield Finding(requirement.name, "fail", "is not installed", install)
            continue
        if requirement.specifier.contains(found, prereleases=True):
            yield Finding(requirement.name, "ok", found)
        else:
            yield Finding(requirement.name, "fail", f"{found}, but must be {requirement.specifier}", install)


def extras() -> Iterator[Finding]:
    """What the extras bring, and how to get those that are absent."""
    from packaging.requirements import Requirement

    requirements = [Requirement(line) for line in importlib.metadata.requires("longdoc") or ()]
    for extra in sorted(importlib.metadata.metadata("longdoc").get_all("Provides-Extra") or ()):
        own = [r for r in requirements if r.marker is not None and r.marker.evaluate({"extra": extra})]
        own = [r for r in own if not r.marker or not r.marker.evaluate({"extra": ""})]
        if extra == "dev" or any(requirement.name == "longdoc" for requirement in own):
            continue  # for those who work on longdoc; or made of other extras
        absent = [requirement.name for requirement in own if not _is_installed(requirement.name)]
        if absent:
            install = f'If you need it, run: pip install "longdoc[{extra}]"'
            yield Finding(f"extra {extra}", "warn", f"absent ({', '.join(absent)})", install)
        else:
            yield Finding(f"extra {extra}", "ok", "installed")


def _is_installed(distribution: str) -> bool:
    try:
        importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def devices() -> Iterator[Finding]:
    """The device and number format that `auto` chooses, and whether there are as many threads as cores."""
    import torch

    from longdoc.nn.compiled.library import library
    from longdoc.precision import choose_placement

    built = f"CUDA {torch.version.cuda}" if torch.version.cuda else "the CPU alone"
    yield Finding("torch build", "ok", f"{torch.__version__} for {built}")
    placement = choose_placement()
    names = [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())]
    yield Finding("device", "ok", f"{placement.name}: {placement.reason}" + "".join(f"; {name}" for name in names))
    if torch.version.cuda and not names:
        yield Finding("gpu", "warn", "this torch is for CUDA, but sees no GPU", "Check the driver, or use a CPU build.")
    kernels, why = library()
    if kernels is None:
        way_out = "Training is slower without it. Install again where there is a C++ compiler (g++)."
        could = platform.machine().lower() in ("x86_64", "amd64")
        yield Finding("compiled attention", "warn" if could else "ok", f"none: {why}", way_out if could else "")
    else:
        yield Finding("compiled attention", "ok", f"{', '.join(str(level.name) for level in kernels.levels)}: {why}")
    cores, threads = _cores(), torch.get_num_threads()
    if threads > cores:
        way_out = f"Set OMP_NUM_THREADS={cores}: more threads than cores take turns."
        yield Finding("threads", "warn", f"{threads} for {cores} cores", way_out)
    else:
        yield Finding("threads", "ok", f"{threads} for {cores} cores")


def _cores() -> int:
    """Cores that this process may use: of its affinity and of its container."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    try:
        with open("/sys/fs/cgroup/cpu.max", encoding="ascii") as file:  # noqa: PTH123  one line of the kernel
            quota, period = file.read().split()
    except (OSError, ValueError):
        return cores
    return cores if quota == "max" else max(1, min(cores, round(int(quota) / int(period))))
