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

from inference.agent.counters import DISABLE, ENABLE

MEMORY_BYTES = 1 << 30
"""What foreign code may take beside what its process has from the start."""

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_SECCOMP = 22
_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP_MODE_FILTER = 2
_ADDRESSES, _DATA = 0, 5  # in /proc/self/statm
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
    ),
    "aarch64": (
        0xC00000B7,
        (
            *(63, 64, 57, 73),  # read write close ppoll
            *(222, 226, 215, 214, 216, 233),  # mmap mprotect munmap brk mremap madvise
            *(134, 135, 139, 132),  # rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack
            *(124, 101, 113, 115),  # sched_yield nanosleep clock_gettime clock_nanosleep
            *(172, 98, 278, 293),  # getpid futex getrandom rseq
            *(206, 207),  # sendto recvfrom
            *(93, 94),  # exit exit_group
        ),
    ),
}
"""Per machine: the kernel's number for its calling convention, and the calls that measuring needs."""

_REQUEST = {"x86_64": 16, "aarch64": 29}
"""The call `ioctl`, of which no more than two requests are needed: to count events, and to stop counting."""

_HARMLESS = {
    "x86_64": (
        *(5, 8, 72, 262),  # fstat lseek fcntl newfstatat
        *(63, 98, 99, 110, 186),  # uname getrusage sysinfo getppid gettid
        *(204, 234, 302, 324),  # sched_getaffinity tgkill prlimit64 membarrier
    ),
    "aarch64": (
        *(25, 62, 79, 80),  # fcntl lseek newfstatat fstat
        *(160, 165, 179, 173, 178),  # uname getrusage sysinfo getppid gettid
        *(123, 131, 261, 283),  # sched_getaffinity tgkill prlimit64 membarrier
    ),
}
"""Calls that libraries make by themselves and can do without: they fail. Any other ends the process."""

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
    with contextlib.suppress(OSError):  # where memory runs out, this process goes first
        Path("/proc/self/oom_score_adj").write_text("1000")
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NPROC: 0,
        resource.RLIMIT_DATA: _bytes_of(_DATA) + MEMORY_BYTES,
        resource.RLIMIT_AS: _bytes_of(_ADDRESSES) + MEMORY_BYTES,  # shared memory is not among the data
    }
    for limit, value in limits.items():
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(limit, (value, value))
    if not hasattr(_libc, "prctl"):
        return Confinement(no_new_privileges=False, system_calls=False)
    _libc.prctl(_PR_SET_DUMPABLE, 0)
    humble = _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    return Confinement(humble, humble and _filter_system_calls())


def close_all_but(descriptor: int) -> None:
    """Keep one open file and nothing else: neither the terminal nor what this process has inherited.

    Where standard input and output were, there is nothing to read and nobody reads.
    """
    kept = {0, 1, 2, descriptor}
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in {0, 1, 2} - {descriptor}:
        os.dup2(nothing, standard)
    for other in {int(name) for name in os.listdir("/proc/self/fd")} - kept:  # noqa: PTH208  names are wanted
        with contextlib.suppress(OSError):  # the list itself is among them
            os.close(other)


def _bytes_of(field: int) -> int:
    """What this process has already: a fork has all that its parent had, and the limits count it."""
    try:
        fields = Path("/proc/self/statm").read_text().split()
    except OSError:
        return 0
    return int(fields[field]) * resource.getpagesize()


def _filter_system_calls() -> bool:
    machine = platform.machine()
    if machine not in _SYSTEM_CALLS:
        return False
    program = _program(*_SYSTEM_CALLS[machine], _HARMLESS[machine], _REQUEST[machine])
    buffer = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(buffer))
    return bool(_libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.c_char_p(header), 0, 0) == 0)


def _program(architecture: int, allowed: tuple[int, ...], refused: tuple[int, ...], request: int) -> bytes:
    """A filter in the kernel's packet-filter language: some calls pass, some fail, any other is the end."""
    load, jump_equal, jump_at_least, answer = 0x20, 0x15, 0x35, 0x06
    answers = {"allow": _ALLOW, "refuse": _REFUSE, "kill": _KILL_PROCESS}
    questions: list[tuple[int, str, str, int]] = [
        (load, "", "", 4),  # the calling convention
        (jump_equal, "", "kill", architecture),
        (load, "", "", 0),  # the number of the call
        (jump_at_least, "kill", "", _X32),
        *((jump_equal, "allow", "", number) for number in allowed),
        *((jump_equal, "refuse", "", number) for number in refused),
        (jump_equal, "", "kill", request),
        (load, "", "", 24),  # its second argument
        (jump_equal, "allow", "", ENABLE),
        (jump_equal, "allow", "refuse", DISABLE),
    ]
    end = {name: len(questions) + k for k, name in enumerate(answers)}

    def jump(here: int, goal: str) -> int:
        return end[goal] - here - 1 if goal else 0

    lines = [
        (code, jump(here, if_so), jump(here, if_not), value)
        for here, (code, if_so, if_not, value) in enumerate(questions)
    ]
    lines += [(answer, 0, 0, value) for value in answers.values()]
    return b"".join(struct.pack("HBBI", *line) for line in lines)
