"""Calls of the Linux kernel that Python has no functions for, and open files that are handed on to nobody.

Without such a kernel they do nothing.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import signal
import struct
from pathlib import Path

from inference.sandbox.system_calls import number_of

_NEW_USER, _NEW_NETWORK, _NEW_IPC, _NEW_NAMES = 0x10000000, 0x40000000, 0x08000000, 0x04000000
_NEW_MOUNTS = 0x00020000


def enter_namespaces() -> None:
    """Leave the others' network and shared memory, and every right over them. Raises `OSError`.

    Files belong to whom they did. Root needs no namespace of users for it, and keeps its rights until it
    becomes another user (`users`); anybody else is called as before. Many hosts keep namespaces from ordinary
    users: AppArmor on Ubuntu, containers, services with RestrictNamespaces.
    """
    user, group = os.geteuid(), os.getegid()
    flags = _NEW_NETWORK | _NEW_IPC | _NEW_NAMES
    if user == 0:
        _unshare(flags)
        return
    close_to_others(closed=False)  # else /proc/self is root's, and the maps cannot be written
    _unshare(flags | _NEW_USER)
    own = Path("/proc/self")
    (own / "setgroups").write_text("deny")
    (own / "uid_map").write_text(f"{user} {user} 1")
    (own / "gid_map").write_text(f"{group} {group} 1")


def enter_mount_namespace() -> None:
    """Let what this process mounts be its own business; after `enter_namespaces`. Raises `OSError`."""
    _unshare(_NEW_MOUNTS)


def _unshare(flags: int) -> None:
    number = number_of("unshare")
    if number is None:
        raise OSError(f"{platform.machine()} is not known")
    call(number, flags)


_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38

_PR_SET_KEEPCAPS = 8
_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, _PR_CAP_AMBIENT_CLEAR_ALL = 47, 2, 4

_CAPABILITIES = struct.pack("Ii", 0x20080522, 0)  # the version with 64 of them, of this process
READ_ANYTHING = 2
"""The capability CAP_DAC_READ_SEARCH: permissions of files do not matter for reading them."""

_libc = ctypes.CDLL(None, use_errno=True)


def control(*arguments: object) -> bool:
    """One `prctl`; whether it did what it should."""
    return hasattr(_libc, "prctl") and _libc.prctl(*arguments) == 0


def call(number: int, *arguments: object) -> int:
    """A system call by its number. Raises `OSError`."""
    words = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    found = int(_libc.syscall(ctypes.c_long(number), *words))
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


def no_capabilities(*, but: int | None = None) -> None:
    """Give up root's rights over what is not root's, `but` for one, if any. Raises `OSError`.

    After `no_new_privileges`, a program that root executes has none either; that one it has, whoever executes
    it.
    """
    if (number := number_of("capset")) is None:
        return
    bits = 0 if but is None else 1 << but
    call(
        number, ctypes.c_char_p(_CAPABILITIES), ctypes.c_char_p(struct.pack("6I", bits, bits, bits, 0, 0, 0))
    )
    if but is not None and not control(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, but, 0, 0):
        raise OSError("this kernel passes no capability on to programs")


def pass_no_capabilities_on() -> None:
    """Let a program that anybody but root executes have none; after `no_new_privileges`."""
    control(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)


def keep_capabilities() -> bool:
    """Do not lose root's rights by becoming another user, until they are given up."""
    return control(_PR_SET_KEEPCAPS, 1, 0, 0, 0)


def close_all_but(*descriptors: int) -> None:
    """Close every other open file, however high its number. Raises `OSError` without /proc.

    For a process with a single thread: another one might open files meanwhile.
    """
    for number in map(int, os.listdir("/proc/self/fd")):  # noqa: PTH208  names are wanted
        if number not in descriptors:
            with contextlib.suppress(OSError):  # the list itself is among them
                os.close(number)
