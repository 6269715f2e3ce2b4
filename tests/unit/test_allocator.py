"""Freed memory is kept where training asks for it, and left to the user's own settings otherwise."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

from longdoc import allocator

ROUNDS = 40
PAGES = 16  # thousands of 4 KiB in each block

CHILD = f"""
import resource, sys, torch
from longdoc.allocator import kept_freed_memory

def faults(rounds):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(rounds):
        torch.empty({PAGES * 1024 * 1024}).fill_(0)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() // 2**20

before = resident()
with kept_freed_memory(sys.argv[1] == "keep") as kept:
    faults(10)
    print(kept, faults({ROUNDS}), resident() - before)
print(resident() - before)
"""


def child(word: str, **environment: str) -> tuple[str, int, int, int]:
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_", "LD_"))}
    done = subprocess.run(
        [sys.executable, "-c", CHILD, word], env=ours | environment, capture_output=True, text=True, check=True,
        timeout=120,
    )  # fmt: skip
    kept, *numbers = done.stdout.split()
    faults, inside, afterwards = map(int, numbers)
    return kept, faults, inside, afterwards


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="mallopt is glibc's")
def test_pages_are_taken_once_while_freed_memory_is_kept_and_given_back_at_the_end() -> None:
    _, usual, _, _ = child("leave")
    kept, faults, inside, afterwards = child("keep")
    assert kept == "True"
    assert faults < 100
    assert usual >= ROUNDS  # large pages are one fault for 2 MiB, small ones for 4 KiB
    assert inside > 50
    assert afterwards < 20


@pytest.mark.parametrize("told", [{"MALLOC_TRIM_THRESHOLD_": "131072"}, {"GLIBC_TUNABLES": "glibc.malloc.arena_max=1"}])
def test_what_the_environment_says_stays(told: dict[str, str]) -> None:
    assert child("keep", **told)[0] == "False"


def test_another_libc_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allocator.platform, "libc_ver", lambda: ("", ""))
    with allocator.kept_freed_memory() as kept:
        assert kept is False
