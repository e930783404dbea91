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
from inference.sandbox.call_filter import argument, equal, load
from inference.sandbox.kernel import close_all_but
from inference.sandbox.system_calls import MACHINES, number_of, numbers_of

MEMORY_BYTES = 1 << 30
"""What foreign code may take beside what its process has from the start."""

_STATUS_BYTES = 1 << 16
_STORE_BYPASS = "Speculation_Store_Bypass:"
_ADDRESSES, _DATA = 0, 5  # in /proc/self/statm

MEASURING = (
    "read write close poll ppoll mmap mprotect munmap brk mremap madvise rt_sigaction rt_sigprocmask "
    "rt_sigreturn sigaltstack sched_yield nanosleep clock_gettime clock_nanosleep getpid futex getrandom "
    "rseq sendto recvfrom exit exit_group"
)
"""The calls that measuring needs."""

_REQUEST = "ioctl"
"""Of which no more than two requests are needed: to count events, and to stop counting."""

HARMLESS = (
    "fstat lseek fcntl newfstatat uname getrusage sysinfo getppid gettid sched_getaffinity tgkill "
    "prlimit64 membarrier"
)
"""Calls that libraries make by themselves and can do without: they fail. Any other ends the process."""


@dataclass(frozen=True)
class Confinement:
    """What could be put in place, and whether that left stores and loads as they are (`store_bypass`)."""

    no_new_privileges: bool
    system_calls: bool
    store_bypass: str = ""

    @property
    def is_complete(self) -> bool:
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
    status = _open_file(Path("/proc/self/status"))  # nothing is opened any more once calls are filtered
    kernel.deny_inspection()
    humble = kernel.no_new_privileges()
    return Confinement(humble, humble and _filter_system_calls(), _store_bypass(status))


def keep_only(descriptor: int) -> None:
    """Keep one open file and nothing else: neither the terminal nor what this process has inherited.

    Where standard input and output were, there is nothing to read and nobody reads.
    """
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in {0, 1, 2} - {descriptor}:
        os.dup2(nothing, standard)
    close_all_but(0, 1, 2, descriptor)


def _bytes_of(field: int) -> int:
    """What this process has already: a fork has all that its parent had, and the limits count it."""
    try:
        fields = Path("/proc/self/statm").read_text().split()
    except OSError:
        return 0
    return int(fields[field]) * resource.getpagesize()


def _open_file(file: Path) -> int | None:
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
    machine = platform.machine()
    return machine in MACHINES and call_filter.install(filter_program(machine), allow_speculation=True)


def filter_program(machine: str) -> bytes:
    """Some calls pass, some fail, any other is the end."""
    request = number_of(_REQUEST, machine)
    assert request is not None, "every machine has it"
    questions = [
        load(call_filter.CONVENTION),
        equal(call_filter.CONVENTIONS[machine], "", "kill"),
        load(call_filter.NUMBER),
        *(equal(number, "allow") for number in numbers_of(MEASURING.split(), machine)),
        *(equal(number, "refuse") for number in numbers_of(HARMLESS.split(), machine)),
        equal(request, "", "kill"),
        load(argument(1)),
        equal(ENABLE, "allow"),
        equal(DISABLE, "allow", "refuse"),
    ]
    answers = {"allow": call_filter.ALLOW, "refuse": call_filter.REFUSE, "kill": call_filter.KILL}
    return call_filter.program(questions, answers)
