"""What the process that runs foreign machine code may still do: compute, and talk to its agent.

Nothing here is needed for measuring, so whatever a kernel lacks is left out and named in `Confinement`.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import pwd
import resource
import signal
import struct
from dataclasses import dataclass
from pathlib import Path

MEMORY_BYTES = 1 << 30
"""What foreign code may take beside what its process has from the start."""

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_SECCOMP = 22
_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP_MODE_FILTER = 2
_KILL_PROCESS = 0x80000000
_ALLOW = 0x7FFF0000
_REFUSE = 0x00050000 | 1  # the system call fails with EPERM
_X32 = 0x40000000

_SYSTEM_CALLS = {
    "x86_64": (
        0xC000003E,
        (
            *(0, 1, 3, 7),  # read write close poll
            *(9, 10, 11, 12, 25, 28),  # mmap mprotect munmap brk mremap madvise
            *(13, 14, 15, 131),  # rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack
            *(24, 35, 228, 230),  # sched_yield nanosleep clock_gettime clock_nanosleep
            *(39, 202, 318, 334),  # getpid futex getrandom rseq
            *(44, 45),  # sendto recvfrom
            *(60, 231),  # exit exit_group
        ),
    )
}
"""Per machine: the kernel's number for its calling convention, and the calls that measuring needs."""

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Confinement:
    """What could be put in place."""

    no_new_privileges: bool
    system_calls: bool


def die_with_parent(parent: int) -> bool:
    """Let the kernel end this process when its parent dies; False where the parent is gone already."""
    if hasattr(_libc, "prctl"):
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    return os.getppid() == parent


def become(user: str) -> None:
    """Give up root's rights for those of a user without any groups; nothing where this is that user.

    The kernel forgets `die_with_parent` on the way.
    """
    entry = pwd.getpwnam(user)
    if os.geteuid() == entry.pw_uid:
        return
    os.setgroups([])
    os.setgid(entry.pw_gid)
    os.setuid(entry.pw_uid)


def confine() -> Confinement:
    """Give up whatever is not needed any more. There is no way back."""
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_DATA: _data_bytes() + MEMORY_BYTES,
    }
    for limit, value in limits.items():
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(limit, (value, value))
    if not hasattr(_libc, "prctl"):
        return Confinement(no_new_privileges=False, system_calls=False)
    _libc.prctl(_PR_SET_DUMPABLE, 0)
    humble = _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    return Confinement(humble, humble and _filter_system_calls())


def _data_bytes() -> int:
    """What this process has already: a fork has all that its parent had, and the limit counts it."""
    try:
        fields = Path("/proc/self/statm").read_text().split()
    except OSError:
        return 0
    return int(fields[5]) * resource.getpagesize()


def _filter_system_calls() -> bool:
    known = _SYSTEM_CALLS.get(platform.machine())
    if known is None:
        return False
    program = _program(*known)
    buffer = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(buffer))
    return bool(_libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.c_char_p(header), 0, 0) == 0)


def _program(architecture: int, allowed: tuple[int, ...]) -> bytes:
    """A filter in the kernel's packet-filter language: the listed calls pass, the others fail."""
    load, jump_equal, jump_at_least, answer = 0x20, 0x15, 0x35, 0x06
    lines = [
        (load, 0, 0, 4),  # the calling convention
        (jump_equal, 1, 0, architecture),
        (answer, 0, 0, _KILL_PROCESS),
        (load, 0, 0, 0),  # the number of the call
        (jump_at_least, len(allowed), 0, _X32),
    ]
    for position, number in enumerate(allowed):
        lines.append((jump_equal, len(allowed) - position, 0, number))
    lines.append((answer, 0, 0, _REFUSE))
    lines.append((answer, 0, 0, _ALLOW))
    return b"".join(struct.pack("HBBI", *line) for line in lines)
