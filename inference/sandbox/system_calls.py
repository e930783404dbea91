"""Numbers of Linux's system calls, by name: those that the sandbox filters, and those that it makes.

Tests compare them with the kernel's own headers where these are installed.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable

MACHINES = ("x86_64", "aarch64", "riscv64")

FIRST_UNREVIEWED = 463
"""Calls from this number on have not been reviewed: mseal (462, Linux 6.10) is the last reviewed one.

From 424 on all machines have the same numbers.
"""


def number_of(name: str, machine: str = "") -> int | None:
    """The number of a call on a machine, by default this one.

    None where the machine has no such call, or is none of `MACHINES`. Raises `KeyError` for a name that is
    not in the table.
    """
    machine = machine or platform.machine()
    if name in _RISCV:
        return _RISCV[name] if machine == "riscv64" else None
    x86, generic = _NUMBERS[name]
    return {"x86_64": x86, "aarch64": generic, "riscv64": generic}.get(machine)


def numbers_of(names: Iterable[str], machine: str = "") -> tuple[int, ...]:
    """The numbers of the calls that a machine has; it skips the others."""
    numbers = (number_of(name, machine) for name in names)
    return tuple(number for number in numbers if number is not None)


_RISCV = {"riscv_hwprobe": 258, "riscv_flush_icache": 259}
"""Calls of RISC-V alone."""

_NUMBERS: dict[str, tuple[int | None, int | None]] = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "adjtimex": (159, 171),
    "bind": (49, 200),
    "bpf": (321, 280),
    "brk": (12, 214),
    "capset": (126, 91),
    "chmod": (90, None),
    "chown": (92, None),
    "chroot": (161, 51),
    "clock_adjtime": (305, 266),
    "clock_gettime": (228, 113),
    "clock_nanosleep": (230, 115),
    "clock_settime": (227, 112),
    "clone": (56, 220),
    "clone3": (435, 435),
    "close": (3, 57),
    "creat": (85, None),
    "create_module": (174, None),
    "delete_module": (176, 106),
    "exit": (60, 93),
    "exit_group": (231, 94),
    "fallocate": (285, 47),
    "fanotify_init": (300, 262),
    "fanotify_mark": (301, 263),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "fchown": (93, 55),
    "fchownat": (260, 54),
    "fcntl": (72, 25),
    "finit_module": (313, 273),
    "flock": (73, 32),
    "fremovexattr": (199, 16),
    "fsconfig": (431, 431),
    "fsetxattr": (190, 7),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "fstat": (5, 80),
    "futex": (202, 98),
    "futimesat": (261, None),
    "getpid": (39, 172),
    "getppid": (110, 173),
    "getrandom": (318, 278),
    "getrusage": (98, 165),
    "gettid": (186, 178),
    "init_module": (175, 105),
    "inotify_add_watch": (254, 27),
    "inotify_init": (253, None),
    "inotify_init1": (294, 26),
    "io_setup": (206, 0),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioctl": (16, 29),
    "ioperm": (173, None),
    "iopl": (172, None),
    "ioprio_set": (251, 30),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "kill": (62, 129),
    "lchown": (94, None),
    "link": (86, None),
    "linkat": (265, 37),
    "lookup_dcookie": (212, 18),
    "lremovexattr": (198, 15),
    "lseek": (8, 62),
    "lsetxattr": (189, 6),
    "madvise": (28, 233),
    "membarrier": (324, 283),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "migrate_pages": (256, 238),
    "mkdir": (83, None),
    "mkdirat": (258, 34),
    "mknod": (133, None),
    "mknodat": (259, 33),
    "mmap": (9, 222),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "move_pages": (279, 239),
    "mprotect": (10, 226),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    "mremap": (25, 216),
    "msgctl": (71, 187),
    "msgget": (68, 186),
    "msgrcv": (70, 188),
    "msgsnd": (69, 189),
    "munmap": (11, 215),
    "name_to_handle_at": (303, 264),
    "nanosleep": (35, 101),
    "newfstatat": (262, 79),
    "open": (2, None),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "openat": (257, 56),
    "openat2": (437, 437),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424),
    "pivot_root": (155, 41),
    "poll": (7, None),
    "ppoll": (271, 73),
    "prlimit64": (302, 261),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "read": (0, 63),
    "reboot": (169, 142),
    "recvfrom": (45, 207),
    "removexattr": (197, 14),
    "rename": (82, None),
    "renameat": (264, 38),
    "renameat2": (316, 276),
    "request_key": (249, 218),
    "rmdir": (84, None),
    "rseq": (334, 293),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigqueueinfo": (129, 138),
    "rt_sigreturn": (15, 139),
    "rt_tgsigqueueinfo": (297, 240),
    "sched_getaffinity": (204, 123),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "sched_yield": (24, 124),
    "seccomp": (317, 277),
    "semctl": (66, 191),
    "semget": (64, 190),
    "semop": (65, 193),
    "semtimedop": (220, 192),
    "sendto": (44, 206),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "setpriority": (141, 140),
    "settimeofday": (164, 170),
    "setxattr": (188, 5),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "shmget": (29, 194),
    "sigaltstack": (131, 132),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "symlink": (88, None),
    "symlinkat": (266, 36),
    "sysinfo": (99, 179),
    "syslog": (103, 116),
    "tgkill": (234, 131),
    "tkill": (200, 130),
    "truncate": (76, 45),
    "umount2": (166, 39),
    "uname": (63, 160),
    "unlink": (87, None),
    "unlinkat": (263, 35),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
    "utime": (132, None),
    "utimensat": (280, 88),
    "utimes": (235, None),
    "vhangup": (153, 58),
    "write": (1, 64),
}

NAMES = (*_NUMBERS, *_RISCV)
"""The names of all calls in the tables."""
