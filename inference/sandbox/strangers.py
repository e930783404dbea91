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
from pathlib import Path

from inference.sandbox import call_filter, kernel, landlock
from inference.sandbox.call_filter import any_bit, argument, at_least, equal, load

# Directories with things that foreign programs must not see, whatever lies beside them.


_places: list[Path] = []


def shield(*places: str | os.PathLike[str]) -> None:
    """From now on no directory counts as a program's own that has one of these in it."""
    _places.extend(Path(place).resolve() for place in places)


def shielded() -> tuple[Path, ...]:
    """All of them."""
    return tuple(_places)


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

_NEW_NAMESPACES = 0x7E020000
"""Flags of `clone`."""


@dataclass(frozen=True)
class _Calls:
    """Numbers of system calls, for one machine.

    `refused` fail. `unknown` are told not to exist, so that libraries do without. Of `others` the first
    argument, of `others_second` the second names a process, which may be none but the caller's own; of
    `signals` likewise where Landlock does not bound them.
    """

    refused: tuple[int, ...]
    unknown: tuple[int, ...]
    others: tuple[int, ...]
    others_second: tuple[int, ...]
    signals: tuple[int, ...]
    clone: int


_CALLS = {
    "x86_64": _Calls(
        refused=(
            *(41, 434, 424, 438),  # socket pidfd_open pidfd_send_signal pidfd_getfd
            *(
                101,
                310,
                311,
                312,
                440,
                448,
            ),  # ptrace process_vm_readv, _writev kcmp process_madvise, _mrelease
            *(298, 321, 323, 300, 212),  # perf_event_open bpf userfaultfd fanotify_init lookup_dcookie
            *(248, 249, 250),  # add_key request_key keyctl
            *(272, 308, 165, 166, 155, 161),  # unshare setns mount umount2 pivot_root chroot
            *(
                428,
                429,
                430,
                431,
                432,
                433,
                442,
            ),  # open_tree move_mount fsopen, -config, -mount, -pick mount_setattr
            *(303, 304),  # name_to_handle_at open_by_handle_at
            *(
                175,
                313,
                176,
                246,
                320,
                169,
            ),  # init_module finit_module delete_module kexec_load, _file_load reboot
            *(167, 168, 163, 179, 443, 103, 153),  # swapon swapoff acct quotactl, _fd syslog vhangup
            *(172, 173, 164, 227, 305, 159, 170, 171),  # iopl ioperm, the clock, sethostname setdomainname
            *(29, 68, 64, 240),  # shmget msgget semget mq_open
            *(90, 268, 452, 92, 93, 94, 260),  # chmod fchmodat, -2 chown fchown lchown fchownat
            *(132, 235, 261, 280),  # utime utimes futimesat utimensat
            *(188, 189, 190, 197, 198, 199, 463, 466),  # setting and removing extended attributes
        ),
        unknown=(425, 426, 427, 435),  # io_uring_setup, _enter, _register clone3
        others=(302, 203, 144, 142, 314, 256, 279),  # prlimit64 sched_set… migrate_pages move_pages
        others_second=(141, 251),  # setpriority ioprio_set
        signals=(62, 200, 234, 129, 297),  # kill tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo
        clone=56,
    ),
    "aarch64": _Calls(
        refused=(
            *(198, 434, 424, 438),
            *(117, 270, 271, 272, 440, 448),
            *(241, 280, 282, 262, 18),
            *(217, 218, 219),
            *(97, 268, 40, 39, 41, 51),
            *(428, 429, 430, 431, 432, 433, 442),
            *(264, 265),
            *(105, 273, 106, 104, 294, 142),
            *(224, 225, 89, 60, 443, 116, 58),
            *(170, 112, 266, 171, 161, 162),
            *(194, 186, 190, 180),
            *(53, 452, 55, 54),
            88,
            *(5, 6, 7, 14, 15, 16, 463, 466),
        ),
        unknown=(425, 426, 427, 435),
        others=(261, 122, 119, 118, 274, 238, 239),
        others_second=(140, 30),
        signals=(129, 130, 131, 138, 240),
        clone=220,
    ),
}


@dataclass(frozen=True)
class Abilities:
    """What this host lets a process give up; `landlock` is the version of that interface, 0 without."""

    landlock: int
    system_calls: bool
    namespaces: bool


def abilities() -> Abilities:
    """Found by trying it in a fork; to be called where there is a single thread."""
    return Abilities(
        landlock=landlock.version(),
        system_calls=_works(lambda: kernel.no_new_privileges() and _filter_calls()),
        namespaces=_works(_leave),
    )


def confine(reads: Sequence[str], writes: Sequence[str], host: Abilities) -> None:
    """Keep this process, and what it executes, from all but these files; see the module.

    To be followed by the execution of the program. Raises `OSError` where something fails that worked when
    the host was tried: then the program must not run.
    """
    if host.namespaces:
        kernel.enter_namespaces()
    if not kernel.no_new_privileges():
        raise OSError("this kernel keeps its programs from no privileges")
    kernel.no_capabilities()
    landlock.restrict(reads, (*writes, *DEVICES))
    if host.system_calls and not _filter_calls():
        raise OSError("the kernel refuses a filter of system calls")


def _leave() -> bool:
    kernel.enter_namespaces()
    return True


def _works(attempt: Callable[[], bool]) -> bool:
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            status = 0 if attempt() else 1
        finally:
            os._exit(status)
    return os.waitpid(pid, 0)[1] == 0


def _filter_calls() -> bool:
    convention = call_filter.convention()
    if convention is None:
        return False
    return call_filter.install(_filter(convention, _CALLS[platform.machine()], os.getpid()))


def _filter(convention: int, calls: _Calls, own: int) -> bytes:
    """Every call passes but some. What a program forks is not `own`, and signals to that are lost."""
    signals = () if landlock.bounds_signals() else calls.signals
    questions = [
        load(call_filter.CONVENTION),
        equal(convention, "", "unknown"),
        load(call_filter.NUMBER),
        at_least(call_filter.X32, "unknown"),
        *(equal(number, "refuse") for number in calls.refused),
        *(equal(number, "unknown") for number in calls.unknown),
        *(equal(number, "first") for number in (*calls.others, *signals)),
        *(equal(number, "second") for number in calls.others_second),
        equal(calls.clone, "flags", "allow"),
        load(argument(0), "flags"),
        any_bit(_NEW_NAMESPACES, "refuse", "allow"),
        load(argument(1), "second"),
        equal(0, "allow"),
        equal(own, "allow", "refuse"),
        load(argument(0), "first"),
        equal(0, "allow"),
        equal(own, "allow", "refuse"),
    ]
    answers = {"allow": call_filter.ALLOW, "refuse": call_filter.REFUSE, "unknown": call_filter.UNKNOWN}
    return call_filter.program(questions, answers)
