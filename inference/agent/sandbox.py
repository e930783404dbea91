"""Confines the process that runs foreign machine code to computing and talking to its agent.

Measures that the kernel lacks are omitted and reported in `Confinement`; the agent decides what follows.
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
"""Bytes of memory that foreign code may use in addition to those of its process."""

_STATUS_BYTES = 1 << 16  # at most, of what the confined process reports about itself
_STORE_BYPASS = "Speculation_Store_Bypass:"
_ADDRESSES, _DATA = 0, 5  # in /proc/self/statm

MEASURING = (
    "read write close poll ppoll mmap mprotect munmap brk mremap madvise rt_sigaction rt_sigprocmask "
    "rt_sigreturn sigaltstack sched_yield nanosleep clock_gettime clock_nanosleep getpid futex getrandom "
    "rseq sendto recvfrom exit exit_group riscv_flush_icache"
)
"""System calls that measuring needs."""

_REQUEST = "ioctl"
"""Allowed for two requests only: to enable and to disable counters."""

HARMLESS = (
    "fstat lseek fcntl newfstatat uname getrusage sysinfo getppid gettid sched_getaffinity tgkill "
    "prlimit64 membarrier"
)
"""Calls that libraries make by themselves and can do without: they fail. Any other ends the process."""


@dataclass(frozen=True)
class Confinement:
    """The measures in force. `store_bypass`: the kernel's word on speculative store bypass, "" if unknown."""

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
    """Change to a user without any groups; does nothing where this is the user already.

    The kernel resets `die_with_parent`.
    """
    entry = pwd.getpwnam(user)
    if os.geteuid() == entry.pw_uid:
        return
    os.setgroups([])
    os.setgid(entry.pw_gid)
    os.setuid(entry.pw_uid)


def confine() -> Confinement:
    """Confine this process irrevocably: limits on memory, files and processes, and the seccomp filter."""
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
    """Close all files but one, inherited ones included; standard input and output become /dev/null."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in {0, 1, 2} - {descriptor}:
        os.dup2(nothing, standard)
    close_all_but(0, 1, 2, descriptor)


def _bytes_of(field: int) -> int:
    """Bytes that this process has already, including those inherited by the fork, which limits count."""
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
    """The seccomp filter: allows `MEASURING`, fails `HARMLESS`, and kills the process for any other call."""
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
