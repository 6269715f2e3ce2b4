"""A filter of system calls for a process that parses strangers' files (Linux on x86-64 and 64-bit ARM).

It holds for native code too, which the refusals inside Python do not: no network, no other program or process, no
writing to, creating, renaming or removing files. The numbers are those of the kernel's tables for the two machines
(arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h); the programs are classic BPF as the
kernel's Documentation/userspace-api/seccomp_filter.rst has them.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from typing import NamedTuple

__all__ = ["forbid_system_calls"]

_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER_MODE = 38, 22, 2
_ALLOW, _REFUSE, _UNKNOWN_CALL = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _MACHINE, _ARGUMENTS = 0, 4, 16  # places in `struct seccomp_data`
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_THREAD = 0x00010000  # CLONE_THREAD


class _Machine(NamedTuple):
    """`code`: AUDIT_ARCH_*. `refused`: calls by number. `opening`: calls and which argument has their flags."""

    code: int
    refused: tuple[int, ...]
    opening: tuple[tuple[int, int], ...]
    clone: int


_MACHINES = {
    "x86_64": _Machine(
        code=0xC000003E,
        refused=(
            *(41, 42, 49, 53),  # socket, connect, bind, socketpair
            *(57, 58, 59, 322, 62, 101, 310, 311),  # fork, vfork, execve(at), kill, ptrace, process_vm_readv/writev
            *(76, 82, 83, 84, 85, 86, 87, 88, 90, 92),  # truncate, rename ... symlink, chmod, chown
            *(258, 260, 263, 264, 265, 266, 268, 316),  # the same with `at`
            *(304, 425),  # open_by_handle_at, io_uring_setup
        ),
        opening=((2, 1), (257, 2)),
        clone=56,
    ),
    "aarch64": _Machine(
        code=0xC00000B7,
        refused=(
            *(198, 199, 200, 203),
            *(221, 281, 129, 117, 270, 271),
            *(34, 35, 36, 37, 38, 45, 53, 54, 276),
            *(265, 425),
        ),
        opening=((56, 2),),
        clone=220,
    ),
}
_NEWER_CALLS = (435, 437)  # clone3 and openat2 keep their flags where no filter can see them; libraries do without


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def forbid_system_calls() -> bool:
    """Install the filter for this process and all its threads; False where the system has no such filter."""
    machine = _MACHINES.get(platform.machine())
    if sys.platform != "linux" or machine is None or sys.maxsize < 1 << 32:
        return False
    program = _program(machine)
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    prctl.argtypes = (ctypes.c_int, *[ctypes.c_ulong] * 4)
    if prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
        return False
    filter_ = _Program(len(program) // 8, program)
    return bool(prctl(_SET_SECCOMP, _FILTER_MODE, ctypes.addressof(filter_), 0, 0) == 0)


def _program(machine: _Machine) -> bytes:
    """Instructions of 8 bytes each. `jt` and `jf` are how many to skip if true and if false."""
    lines = [
        (_LOAD, 0, 0, _MACHINE),
        (_JUMP_EQUAL, 1, 0, machine.code),
        (_RETURN, 0, 0, _REFUSE),
        (_LOAD, 0, 0, _NUMBER),
        (_JUMP_AT_LEAST, 0, 1, 0x40000000),  # calls of the x32 interface have numbers of their own
        (_RETURN, 0, 0, _REFUSE),
    ]
    for number in machine.refused:
        lines += [(_JUMP_EQUAL, 0, 1, number), (_RETURN, 0, 0, _REFUSE)]
    for number in _NEWER_CALLS:
        lines += [(_JUMP_EQUAL, 0, 1, number), (_RETURN, 0, 0, _UNKNOWN_CALL)]
    for number, argument in machine.opening:
        flags = (_LOAD, 0, 0, _ARGUMENTS + 8 * argument)
        lines += [(_JUMP_EQUAL, 0, 4, number), flags, (_JUMP_ANY_BIT, 0, 1, _WRITING), (_RETURN, 0, 0, _REFUSE)]
        lines += [(_RETURN, 0, 0, _ALLOW)]
    flags = (_LOAD, 0, 0, _ARGUMENTS)
    lines += [(_JUMP_EQUAL, 0, 3, machine.clone), flags, (_JUMP_ANY_BIT, 1, 0, _THREAD), (_RETURN, 0, 0, _REFUSE)]
    lines += [(_RETURN, 0, 0, _ALLOW)]
    return b"".join(struct.pack("=HBBI", *line) for line in lines)
