"""How a program that nobody here has written is kept from everything that is not its business.

It computes, reads what it was given, starts programs of its own, and prints. It opens nothing else, has no
network, reaches no process but those that it started, and gets no further rights. What of this a host lacks
is left out, and named by `abilities`.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from inference.sandbox import call_filter, files, kernel, stranger_calls, users
from inference.sandbox.system_calls import MACHINES

SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store", "/gnu/store"),
    *("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives"),
)
"""Where programs and libraries are that packages have put there."""

USUAL = (
    *("/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/localtime", "/etc/locale.alias"),
    *("/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/version", "/proc/filesystems", "/proc/self"),
    *("/sys/devices/system/cpu", "/sys/devices/system/node", "/sys/fs/cgroup"),
    *("/dev/urandom", "/dev/random"),
)
"""What programs look at to know where they are. Of /proc/self, a program that was started sees its own."""

DEVICES = ("/dev/null", "/dev/zero", "/dev/full")

LIBRARIES = (
    *("/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/local/lib"),
    *("/nix/store", "/gnu/store", "/etc/ld.so.cache"),
)
"""What a program needs to start."""


@dataclass(frozen=True)
class Abilities:
    """What this host lets a process give up.

    `landlock` is the version of that interface, 0 without. `mounts`: a view of the files in which nothing can
    be changed, and a scratch folder of a bounded size. `unprivileged`: programs do not run as root.
    """

    landlock: int
    system_calls: bool
    namespaces: bool
    mounts: bool
    unprivileged: bool


@dataclass(frozen=True)
class Places:
    """What a program may open: `reads` to read and execute, `writes` to change as well.

    `scratch` is the one among `writes` that is its alone, or "", and `scratch_bytes` how much may be in it.
    """

    reads: Sequence[str]
    writes: Sequence[str]
    scratch: str
    scratch_bytes: int

    @property
    def caches(self) -> list[str]:
        """What it may change that stays when it ends."""
        return [place for place in self.writes if place != self.scratch]


def abilities() -> Abilities:
    """Found by trying it in a fork; to be called where there is a single thread."""
    return Abilities(
        landlock=files.landlock_version(),
        system_calls=_works(lambda: _filter_calls(mounted=False)),
        namespaces=_works(kernel.enter_namespaces),
        mounts=_works(_close_files),
        unprivileged=not users.is_root() or _works(users.try_unprivileged),
    )


def confine(places: Places, host: Abilities) -> None:
    """Keep this process, and what it executes, from all but these files; see the module.

    To be followed by the execution of the program. Raises `OSError` where something fails that worked when
    the host was tried: then the program must not run. The kernel forgets `end_with_parent` on the way.
    """
    if host.namespaces:
        kernel.enter_namespaces()
    if host.mounts:
        files.close_files(places.scratch, places.scratch_bytes, places.caches)
    if not users.is_root():
        kernel.pass_no_capabilities_on()
    elif host.unprivileged:
        users.hand_over(places.scratch, places.caches)
        users.become_unprivileged(reads_anything=_needs_to_read_anything(places.reads, host))
    else:
        kernel.no_capabilities()
    if not kernel.no_new_privileges():
        raise OSError("this kernel keeps its programs from no privileges")
    files.restrict(places.reads, (*places.writes, *DEVICES))
    if host.system_calls:
        _filter_calls(mounted=host.mounts)


def _needs_to_read_anything(reads: Sequence[str], host: Abilities) -> bool:
    """Whether root's own directories are on the way to `reads`, where Landlock closes all else in them."""
    return bool(host.landlock) and any(users.is_closed(place) for place in reads if os.path.exists(place))  # noqa: PTH110


def _close_files() -> None:
    kernel.enter_namespaces()
    files.close_files("", 0, ())


def _works(attempt: Callable[[], None]) -> bool:
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            attempt()
            status = 0
        finally:
            os._exit(status)
    return os.waitpid(pid, 0)[1] == 0


def _filter_calls(*, mounted: bool) -> None:
    """Raises `OSError` where the kernel has no filters, or none for this machine."""
    machine = platform.machine()
    if machine not in MACHINES:
        raise OSError(f"system calls of {machine} are not known")
    program = stranger_calls.filter_program(machine, os.getpid(), files.landlock_version(), mounts=mounted)
    if not (kernel.no_new_privileges() and call_filter.install(program)):
        raise OSError("the kernel refuses a filter of system calls")
