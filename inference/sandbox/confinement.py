"""Confines a foreign program to its own files and processes.

It computes, reads its input, starts child processes, and prints. It opens no other files, has no network,
reaches no processes but its children, and gets no further rights. Means that a host lacks are skipped, and
listed by `abilities`.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from inference.sandbox import call_filter, confined_calls, files, kernel, users
from inference.sandbox.system_calls import MACHINES

SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store", "/gnu/store"),
    *("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives"),
)
"""Directories of packaged programs and libraries."""

COMMON_FILES = (
    *("/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/localtime", "/etc/locale.alias"),
    *("/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/version", "/proc/filesystems", "/proc/self"),
    *("/sys/devices/system/cpu", "/sys/devices/system/node", "/sys/fs/cgroup"),
    *("/dev/urandom", "/dev/random"),
)
"""Files that programs read to learn about their system. Of /proc/self, a started program sees its own."""

DEVICES = ("/dev/null", "/dev/zero", "/dev/full")

LIBRARIES = (
    *("/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/local/lib"),
    *("/nix/store", "/gnu/store", "/etc/ld.so.cache"),
)
"""Directories that a program needs to start."""


@dataclass(frozen=True)
class Abilities:
    """The means of confinement that this host has.

    Attributes:
        landlock: Version of that interface, 0 without.
        system_calls: Filters work.
        mounts: Read-only views of the file system, and scratch folders of limited size.
        unprivileged: Programs do not run as root.
    """

    landlock: int
    system_calls: bool
    namespaces: bool
    mounts: bool
    unprivileged: bool


@dataclass(frozen=True)
class AllowedFiles:
    """What a program may open: `reads` to read and execute, `writes` to change as well.

    `scratch` is the one among `writes` that only this program uses, or "", and `scratch_bytes` its size.
    """

    reads: Sequence[str]
    writes: Sequence[str]
    scratch: str
    scratch_bytes: int

    @property
    def caches(self) -> list[str]:
        """The changeable places that stay when the program ends."""
        return [place for place in self.writes if place != self.scratch]


def abilities() -> Abilities:
    """Determine the host's abilities by trying each in a fork; call it before starting threads."""
    return Abilities(
        landlock=files.landlock_version(),
        system_calls=_succeeds_in_fork(lambda: _filter_calls(has_mounts=False)),
        namespaces=_succeeds_in_fork(kernel.enter_namespaces),
        mounts=_succeeds_in_fork(_close_files),
        unprivileged=not users.is_root() or _succeeds_in_fork(users.try_unprivileged),
    )


def confine(places: AllowedFiles, abilities: Abilities) -> None:
    """Confine this process, and the program that it executes next, to these files.

    Raises `OSError` where something fails that worked in `abilities`: then the program must not run. Becoming
    another user resets `end_with_parent`.
    """
    if abilities.namespaces:
        kernel.enter_namespaces()
    if abilities.mounts:
        files.make_files_read_only(places.scratch, places.scratch_bytes, places.caches)
    if not users.is_root():
        kernel.pass_no_capabilities_on()
    elif abilities.unprivileged:
        users.transfer_ownership(places.scratch, places.caches)
        users.become_unprivileged(keep_read_capability=_needs_read_capability(places.reads, abilities))
    else:
        kernel.no_capabilities()
    if not kernel.no_new_privileges():
        raise OSError("this kernel does not support no_new_privs")
    files.restrict(places.reads, (*places.writes, *DEVICES))
    if abilities.system_calls:
        _filter_calls(has_mounts=abilities.mounts)


def _needs_read_capability(reads: Sequence[str], host: Abilities) -> bool:
    """Whether `reads` lie in root's own directories. Landlock closes everything else in them."""
    return bool(host.landlock) and any(users.is_closed(place) for place in reads if os.path.exists(place))  # noqa: PTH110


def _close_files() -> None:
    kernel.enter_namespaces()
    files.make_files_read_only("", 0, ())


def _succeeds_in_fork(attempt: Callable[[], None]) -> bool:
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            attempt()
            status = 0
        finally:
            os._exit(status)
    return os.waitpid(pid, 0)[1] == 0


def _filter_calls(*, has_mounts: bool) -> None:
    """Raise `OSError` where the kernel has no filters, or none are known for this machine."""
    machine = platform.machine()
    if machine not in MACHINES:
        raise OSError(f"system calls of {machine} are unknown")
    program = confined_calls.filter_program(machine, os.getpid(), files.landlock_version(), mounts=has_mounts)
    if not (kernel.no_new_privileges() and call_filter.install(program)):
        raise OSError("the kernel refuses a filter of system calls")
