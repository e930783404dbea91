"""Which system calls a foreign program may make, as a filter.

Every call passes but those that reach what Landlock does not bound. Landlock bounds opening, making, linking,
renaming, removing and, from its third version on, truncating; what the kernel's Landlock does not bound is
refused here. Calls that are newer than `system_calls` do not exist for the program.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

from inference.sandbox import call_filter
from inference.sandbox.call_filter import FilterInstruction, any_bit, argument, at_least, equal, load
from inference.sandbox.system_calls import FIRST_UNJUDGED, numbers_of

REFUSED = {
    "the network": "socket",
    "other processes": (
        "pidfd_open pidfd_send_signal pidfd_getfd ptrace process_vm_readv process_vm_writev kcmp "
        "process_madvise process_mrelease setpriority ioprio_set"
    ),
    "what the kernel observes": (
        "perf_event_open bpf userfaultfd fanotify_init fanotify_mark inotify_init inotify_init1 "
        "inotify_add_watch lookup_dcookie"
    ),
    "keys": "add_key request_key keyctl",
    "namespaces and mounts": (
        "unshare setns mount umount2 pivot_root chroot open_tree move_mount fsopen fsconfig fsmount "
        "fspick mount_setattr"
    ),
    "files without their paths": "name_to_handle_at open_by_handle_at",
    "modes and owners of files": "chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat",
    "times of files": "utime utimes futimesat utimensat",
    "attributes of files": "setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr",
    "shared memory, semaphores and queues": (
        "shmget shmat shmctl msgget msgsnd msgrcv msgctl semget semop semtimedop semctl mq_open mq_unlink"
    ),
    "the computer": (
        "create_module init_module finit_module delete_module kexec_load kexec_file_load reboot swapon "
        "swapoff acct quotactl quotactl_fd syslog vhangup iopl ioperm settimeofday clock_settime "
        "clock_adjtime adjtimex sethostname setdomainname"
    ),
}
"""Names of calls that fail for want of a permission, by what they would reach."""

UNKNOWN = "io_uring_setup io_uring_enter io_uring_register io_setup clone3 openat2 memfd_create memfd_secret"
"""Calls that are said not to exist, so that libraries do without.

A filter does not see the arguments of `clone3` and `openat2`, nor what is queued for `io_uring`. No limit
bounds how many files in memory a program makes.
"""

UNSUPPORTED = "fallocate"
"""Said not to be supported: it can make a file larger than RLIMIT_FSIZE. Libraries write zeros instead."""

TRUNCATING = "truncate"
"""Refused where Landlock does not handle it; `ftruncate` needs a file that was opened for writing."""
LANDLOCK_TRUNCATES = 3

BY_PATH = (
    "rename renameat renameat2 unlink unlinkat rmdir link linkat symlink symlinkat mkdir mkdirat mknod "
    "mknodat creat bind"
)
"""Refused where neither Landlock nor a view of its own bounds what a program changes.

Opening a file to write cannot be refused by its path, and is lost there.
"""

LOCKS = "flock"
"""Refused where there is no Landlock to bound what is opened."""

OTHERS = (
    "prlimit64 sched_setaffinity sched_setscheduler sched_setparam sched_setattr migrate_pages move_pages"
)
"""The first argument names a process, which may be none but the caller's own."""

SIGNALS = "kill tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo"
"""Likewise, where Landlock does not bound them. What a program forks is not `own`: signals to it are lost."""
LANDLOCK_BOUNDS_SIGNALS = 6

_NEW_NAMESPACES = 0x7E020000  # flags of `clone`
_SET_ID = stat.S_ISUID | stat.S_ISGID
_UNIX, _DATAGRAMS = 1, 2  # a socket for datagrams sends them to whom it likes, though it comes in a pair
_MAKES = os.O_CREAT | 0o20000000  # __O_TMPFILE, which O_TMPFILE has beside O_DIRECTORY

_FCNTL = {
    "F_DUPFD": 0,
    "F_GETFD": 1,
    "F_SETFD": 2,
    "F_GETFL": 3,
    "F_SETFL": 4,
    "F_DUPFD_CLOEXEC": 1030,
    "F_GETPIPE_SZ": 1032,
    "F_GET_SEALS": 1034,
}
"""All that a program may do to a descriptor: no leases, no watches, no signals to whom it names."""
_LOCKING = {
    "F_GETLK": 5,
    "F_SETLK": 6,
    "F_SETLKW": 7,
    "F_OFD_GETLK": 36,
    "F_OFD_SETLK": 37,
    "F_OFD_SETLKW": 38,
}
"""Where Landlock says what can be opened."""
_IOCTL = {
    "TCGETS": 0x5401,
    "TIOCGPGRP": 0x540F,
    "TIOCGWINSZ": 0x5413,
    "TCGETS2": 0x802C542A,
    "FIONREAD": 0x541B,
    "FIONBIO": 0x5421,
    "FIONCLEX": 0x5450,
    "FIOCLEX": 0x5451,
}
"""File systems have hundreds more, with which flags, versions and whole trees are changed."""


def filter_program(machine: str, own: int, landlock: int, *, mounts: bool) -> bytes:
    """The filter for a process with the id `own` on a machine with this version of Landlock, 0 without.

    `mounts`: in the process's view of the files, all but its own are read-only.
    """
    refused = [names.split() for names in REFUSED.values()]
    refused.append(TRUNCATING.split() if landlock < LANDLOCK_TRUNCATES else [])
    refused.append([] if landlock or mounts else BY_PATH.split())
    refused.append([] if landlock else LOCKS.split())
    signals = [] if landlock >= LANDLOCK_BOUNDS_SIGNALS else SIGNALS.split()
    goals = {
        "refuse": [name for names in refused for name in names],
        "unknown": UNKNOWN.split(),
        "unsupported": UNSUPPORTED.split(),
        "process": [*OTHERS.split(), *signals],
        "open": ["open"],
        "openat": ["openat"],
        "second is a mode": ["creat", "mknod"],
        "third is a mode": ["mknodat"],
        "fcntl": ["fcntl"],
        "ioctl": ["ioctl"],
        "clone": ["clone"],
        "socketpair": ["socketpair"],
    }
    labels: dict[int, str] = {}
    for label, names in goals.items():
        for number in numbers_of(names, machine):
            labels.setdefault(number, label)
    *most, (last, label) = labels.items()
    locks = _LOCKING.values() if landlock else ()
    questions = [
        load(call_filter.CONVENTION),
        equal(call_filter.CONVENTIONS[machine], "", "unknown"),
        load(call_filter.NUMBER),
        at_least(FIRST_UNJUDGED, "unknown"),
        *(equal(number, label) for number, label in most),
        equal(last, label, "allow"),
        *_opening("open", 1, landlock),
        *_opening("openat", 2, landlock),
        load(argument(1), "second is a mode"),
        any_bit(_SET_ID, "refuse", "allow"),
        load(argument(2), "third is a mode"),
        any_bit(_SET_ID, "refuse", "allow"),
        load(argument(0), "clone"),
        any_bit(_NEW_NAMESPACES, "refuse", "allow"),
        load(argument(0), "socketpair"),
        equal(_UNIX, "", "refuse"),
        load(argument(1)),
        any_bit(_DATAGRAMS, "refuse", "allow"),
        load(argument(0), "process"),
        *_only((0, own), "refuse"),
        load(argument(1), "fcntl"),
        *_only((*_FCNTL.values(), *locks), "refuse"),
        load(argument(1), "ioctl"),
        *_only(_IOCTL.values(), "no terminal"),
    ]
    answers = {
        "allow": call_filter.ALLOW,
        "refuse": call_filter.REFUSE,
        "unknown": call_filter.UNKNOWN,
        "unsupported": call_filter.UNSUPPORTED,
        "no terminal": call_filter.NO_TERMINAL,
    }
    return call_filter.program(questions, answers)


def _opening(label: str, flags: int, landlock: int) -> list[FilterInstruction]:
    """Refuses new files with a set-user-ID bit, and truncating by opening to read, which old Landlocks allow.

    `flags`: which argument has the flags; the next one has the mode.
    """
    truncating = [any_bit(os.O_TRUNC, "", label + " makes"), any_bit(os.O_ACCMODE, "", "refuse")]
    return [
        load(argument(flags), label),
        *(truncating if landlock < LANDLOCK_TRUNCATES else ()),
        load(argument(flags), label + " makes"),
        any_bit(_MAKES, "", "allow"),
        load(argument(flags + 1)),
        any_bit(_SET_ID, "refuse", "allow"),
    ]


def _only(values: Iterable[int], otherwise: str) -> list[FilterInstruction]:
    *most, last = values
    return [*(equal(value, "allow") for value in most), equal(last, "allow", otherwise)]
