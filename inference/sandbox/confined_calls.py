"""The filter of system calls for foreign programs.

All calls are allowed except those that reach what Landlock does not restrict. Landlock restricts opening,
creating, linking, renaming, removing and, from its third version on, truncating; what the kernel's version
lacks is refused here. Calls that are newer than `system_calls` fail as unknown ones.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

from inference.sandbox import call_filter
from inference.sandbox.call_filter import FilterInstruction, any_bit, argument, at_least, equal, load
from inference.sandbox.system_calls import FIRST_UNREVIEWED, numbers_of

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
"""{what they would reach: names of calls that fail with EPERM}."""

HIDDEN = "io_uring_setup io_uring_enter io_uring_register io_setup clone3 openat2 memfd_create memfd_secret"
"""Calls that fail as unknown ones, so that libraries use older ones.

A filter does not see the arguments of `clone3` and `openat2`, nor what is queued for `io_uring`. No limit
restricts the number of memory files of a program.
"""

UNSUPPORTED = "fallocate"
"""Fails with EOPNOTSUPP: it can make a file larger than RLIMIT_FSIZE. Libraries write zeros instead."""

TRUNCATING = "truncate"
"""Refused where Landlock does not handle it; `ftruncate` needs a file that was opened for writing."""

LANDLOCK_TRUNCATES = 3  # the version from which on Landlock restricts truncation

BY_PATH = (
    "rename renameat renameat2 unlink unlinkat rmdir link linkat symlink symlinkat mkdir mkdirat mknod "
    "mknodat creat bind"
)
"""Refused where neither Landlock nor mounts restrict what a program changes.

Opening a file for writing cannot be refused by its path: without either, it is allowed.
"""

LOCKS = "flock"
"""Refused without Landlock, where any file could be opened and locked."""

PROCESS_FIRST = (
    "prlimit64 sched_setaffinity sched_setscheduler sched_setparam sched_setattr migrate_pages move_pages"
)
"""Calls whose first argument is a process, which may only be the caller itself."""

SIGNALS = "kill tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo"
"""Likewise, where Landlock does not restrict signals. A forked process differs from `pid`: signals to it
fail."""

LANDLOCK_BOUNDS_SIGNALS = 6  # the version from which on Landlock restricts signals

_NEW_NAMESPACES = 0x7E020000  # flags of `clone`
_SET_ID = stat.S_ISUID | stat.S_ISGID
_UNIX, _DATAGRAMS = 1, 2  # a socket for datagrams sends them to whom it likes, though it comes in a pair
_CREATES = os.O_CREAT | 0o20000000  # __O_TMPFILE, which O_TMPFILE has beside O_DIRECTORY

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
"""All that a program may do to a descriptor: no leases, no watches, no signals to other processes."""

_LOCKING = {
    "F_GETLK": 5,
    "F_SETLK": 6,
    "F_SETLKW": 7,
    "F_OFD_GETLK": 36,
    "F_OFD_SETLK": 37,
    "F_OFD_SETLKW": 38,
}
"""Allowed with Landlock, which restricts the files that can be opened."""

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
"""All allowed ones: file systems have hundreds more, which change flags, versions and subvolumes."""


def filter_program(machine: str, pid: int, landlock: int, *, mounts: bool) -> bytes:
    """The filter for a process.

    Args:
        machine: One of `call_filter.CONVENTIONS`.
        pid: The process's id, the only one that it may signal or schedule.
        landlock: The version of Landlock, 0 without.
        mounts: In the process's view of the file system, all files but its own are read-only.
    """
    refused = [names.split() for names in REFUSED.values()]
    refused.append(TRUNCATING.split() if landlock < LANDLOCK_TRUNCATES else [])
    refused.append([] if landlock or mounts else BY_PATH.split())
    refused.append([] if landlock else LOCKS.split())
    signals = [] if landlock >= LANDLOCK_BOUNDS_SIGNALS else SIGNALS.split()
    names_by_label = {
        "refuse": [name for names in refused for name in names],
        "unknown": HIDDEN.split(),
        "unsupported": UNSUPPORTED.split(),
        "process": [*PROCESS_FIRST.split(), *signals],
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
    for label, names in names_by_label.items():
        for number in numbers_of(names, machine):
            labels.setdefault(number, label)
    *preceding, (last, label) = labels.items()
    locks = _LOCKING.values() if landlock else ()
    questions = [
        load(call_filter.CONVENTION),
        equal(call_filter.CONVENTIONS[machine], "", "unknown"),
        load(call_filter.NUMBER),
        at_least(FIRST_UNREVIEWED, "unknown"),
        *(equal(number, label) for number, label in preceding),
        equal(last, label, "allow"),
        *_checks_of_opening("open", 1, landlock),
        *_checks_of_opening("openat", 2, landlock),
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
        *_allow_only((0, pid), "refuse"),
        load(argument(1), "fcntl"),
        *_allow_only((*_FCNTL.values(), *locks), "refuse"),
        load(argument(1), "ioctl"),
        *_allow_only(_IOCTL.values(), "no terminal"),
    ]
    answers = {
        "allow": call_filter.ALLOW,
        "refuse": call_filter.REFUSE,
        "unknown": call_filter.UNKNOWN,
        "unsupported": call_filter.UNSUPPORTED,
        "no terminal": call_filter.NO_TERMINAL,
    }
    return call_filter.program(questions, answers)


def _checks_of_opening(label: str, flags: int, landlock: int) -> list[FilterInstruction]:
    """Refuses new files with a set-user-ID bit, and read-only opening that truncates.

    Old versions of Landlock allow the latter.

    `flags`: the index of the argument with the flags; the next argument is the mode.
    """
    truncating = [any_bit(os.O_TRUNC, "", label + " makes"), any_bit(os.O_ACCMODE, "", "refuse")]
    return [
        load(argument(flags), label),
        *(truncating if landlock < LANDLOCK_TRUNCATES else ()),
        load(argument(flags), label + " makes"),
        any_bit(_CREATES, "", "allow"),
        load(argument(flags + 1)),
        any_bit(_SET_ID, "refuse", "allow"),
    ]


def _allow_only(values: Iterable[int], otherwise: str) -> list[FilterInstruction]:
    *preceding, last = values
    return [*(equal(value, "allow") for value in preceding), equal(last, "allow", otherwise)]
