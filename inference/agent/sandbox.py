"""What the process that runs foreign machine code may still do: compute, and talk to its agent.

Whatever a kernel lacks is left out and named in `Confinement`; it is up to the agent what that means.
"""

from __future__ import annotations

import contextlib
import os
import platform
import pwd
import resource
from dataclasses import dataclass
from pathlib import Path

from inference.agent.counters import DISABLE, ENABLE
from inference.sandbox import call_filter, kernel
from inference.sandbox.call_filter import argument, at_least, equal, load

MEMORY_BYTES = 1 << 30
"""What foreign code may take beside what its process has from the start."""

_STATUS_BYTES = 1 << 16
_STORE_BYPASS = "Speculation_Store_Bypass:"
_ADDRESSES, _DATA = 0, 5  # in /proc/self/statm

_SYSTEM_CALLS = {
    "x86_64": (
        *(0, 1, 3, 7),  # read write close poll
        *(9, 10, 11, 12, 25, 28),  # mmap mprotect munmap brk mremap madvise
        *(13, 14, 15, 131),  # rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack
        *(24, 35, 228, 230),  # sched_yield nanosleep clock_gettime clock_nanosleep
        *(39, 202, 318, 334),  # getpid futex getrandom rseq
        *(44, 45),  # sendto recvfrom
        *(60, 231),  # exit exit_group
    ),
    "aarch64": (
        *(63, 64, 57, 73),  # read write close ppoll
        *(222, 226, 215, 214, 216, 233),  # mmap mprotect munmap brk mremap madvise
        *(134, 135, 139, 132),  # rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack
        *(124, 101, 113, 115),  # sched_yield nanosleep clock_gettime clock_nanosleep
        *(172, 98, 278, 293),  # getpid futex getrandom rseq
        *(206, 207),  # sendto recvfrom
        *(93, 94),  # exit exit_group
    ),
}
"""The calls that measuring needs."""

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


@dataclass(frozen=True)
class Confinement:
    """What could be put in place, and whether that left stores and loads as they are (`store_bypass`)."""

    no_new_privileges: bool
    system_calls: bool
    store_bypass: str = ""

    @property
    def is_complete(self) -> bool:
        """Whether nothing is missing."""
        return self.no_new_privileges and self.system_calls


def die_with_parent(parent: int) -> bool:
    """Let the kernel end this process when its parent dies; False where the parent is gone already."""
    kernel.end_with_parent()
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
    status = _opened(Path("/proc/self/status"))  # nothing is opened any more once calls are filtered
    kernel.close_to_others()
    humble = kernel.no_new_privileges()
    return Confinement(humble, humble and _filter_system_calls(), _store_bypass(status))


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


def _opened(file: Path) -> int | None:
    try:
        return os.open(file, os.O_RDONLY)
    except OSError:
        return None


def _store_bypass(status: int | None) -> str:
    """Whether loads of this process may pass stores speculatively, as the kernel puts it; "" if unknown.

    Where they may not ("mitigated"), a load that follows a store takes longer than the core needs.
    """
    if status is None:
        return ""
    lines = os.read(status, _STATUS_BYTES).decode(errors="replace").splitlines()
    os.close(status)
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(_STORE_BYPASS)), "")


def _filter_system_calls() -> bool:
    convention = call_filter.convention()
    if convention is None:
        return False
    machine = platform.machine()
    return call_filter.install(
        _program(convention, _SYSTEM_CALLS[machine], _HARMLESS[machine], _REQUEST[machine]),
        speculating=True,
    )


def _program(convention: int, allowed: tuple[int, ...], refused: tuple[int, ...], request: int) -> bytes:
    """Some calls pass, some fail, any other is the end."""
    questions = [
        load(call_filter.CONVENTION),
        equal(convention, "", "kill"),
        load(call_filter.NUMBER),
        at_least(call_filter.X32, "kill"),
        *(equal(number, "allow") for number in allowed),
        *(equal(number, "refuse") for number in refused),
        equal(request, "", "kill"),
        load(argument(1)),
        equal(ENABLE, "allow"),
        equal(DISABLE, "allow", "refuse"),
    ]
    answers = {"allow": call_filter.ALLOW, "refuse": call_filter.REFUSE, "kill": call_filter.KILL}
    return call_filter.program(questions, answers)
