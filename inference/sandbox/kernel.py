"""Calls of the Linux kernel that Python has no functions for. Without such a kernel they do nothing."""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import struct
from pathlib import Path

# A user, a network and shared memory of its own for a process (user namespaces).
#
# Many hosts keep them from ordinary users: AppArmor on Ubuntu, containers, services with RestrictNamespaces.
# `starter` finds that out by trying.


_UNSHARE = {"x86_64": 272, "aarch64": 97}
_NEW_USER, _NEW_NETWORK, _NEW_IPC, _NEW_NAMES = 0x10000000, 0x40000000, 0x08000000, 0x04000000
_NOBODY = 65534


def enter_namespaces() -> None:
    """Leave the others' network and shared memory, and every right over them. Raises `OSError`.

    Files belong to whom they did. Root is nobody inside, so that a program which is executed has no
    capabilities even there; anybody else is called as before.
    """
    number = _UNSHARE.get(platform.machine())
    if number is None:
        raise OSError(f"{platform.machine()} is not known")
    user, group = os.geteuid(), os.getegid()
    close_to_others(closed=False)  # else /proc/self is root's, and the maps cannot be written
    call(number, _NEW_USER | _NEW_NETWORK | _NEW_IPC | _NEW_NAMES)
    own = Path("/proc/self")
    (own / "setgroups").write_text("deny")
    (own / "uid_map").write_text(f"{user or _NOBODY} {user} 1")
    (own / "gid_map").write_text(f"{group or _NOBODY} {group} 1")


_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38

_CAPSET = {"x86_64": 126, "aarch64": 91}
_CAPABILITIES = struct.pack("Ii", 0x20080522, 0)  # the version with 64 of them, of this process

_libc = ctypes.CDLL(None, use_errno=True)


def control(*arguments: object) -> bool:
    """One `prctl`; whether it did what it should."""
    return hasattr(_libc, "prctl") and _libc.prctl(*arguments) == 0


def call(number: int, *arguments: object) -> int:
    """A system call by its number. Raises `OSError`."""
    found = int(_libc.syscall(ctypes.c_long(number), *arguments))
    if found < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"system call {number} fails")
    return found


def end_with_parent() -> bool:
    """Let the kernel end this process when the thread that started it ends."""
    return control(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def adopt_orphans() -> bool:
    """Become the parent of whatever loses its own among the descendants of this process."""
    return control(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def close_to_others(*, closed: bool = True) -> bool:
    """Keep processes of the same user from this one's memory, environment and open files.

    /proc/PID/mem, environ and fd belong to root then, debuggers are refused and no core is dumped. What this
    process forks inherits it; a program that it executes does not.
    """
    return control(_PR_SET_DUMPABLE, int(not closed), 0, 0, 0)


def hold_secrets() -> None:
    """Close a process of the site to others, unless it is started to be debugged (`PMWEB_DEBUG`)."""
    if os.environ.get("PMWEB_DEBUG", "") != "1":
        close_to_others()


def no_new_privileges() -> bool:
    """No program executed from now on gets more rights than this process has: no set-user-id, no sudo."""
    return control(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def no_capabilities() -> None:
    """Give up root's rights over what is not root's. Raises `OSError`.

    After `no_new_privileges`, a program that root executes has none either.
    """
    if (number := _CAPSET.get(platform.machine())) is not None:
        call(number, ctypes.c_char_p(_CAPABILITIES), ctypes.c_char_p(bytes(24)))
