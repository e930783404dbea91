"""Calls of the Linux kernel that Python lacks, and closing of inherited files.

On other kernels they do nothing.
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
"""Flags of unshare (CLONE_NEW…)."""

_NEW_MOUNTS = 0x00020000  # CLONE_NEWNS


def enter_namespaces() -> None:
    """Leave the shared network, IPC and host names, and all rights over them. Raises `OSError`.

    Owners of files stay the same. Root needs no user namespace for it, and keeps its rights until it becomes
    another user (`users`); other users keep their ids. Many hosts deny namespaces to ordinary users: AppArmor
    on Ubuntu, containers, services with RestrictNamespaces.
    """
    user, group = os.geteuid(), os.getegid()
    flags = _NEW_NETWORK | _NEW_IPC | _NEW_NAMES
    if user == 0:
        _unshare(flags)
        return
    deny_inspection(closed=False)  # else /proc/self is root's, and the maps cannot be written
    _unshare(flags | _NEW_USER)
    process = Path("/proc/self")
    (process / "setgroups").write_text("deny")
    (process / "uid_map").write_text(f"{user} {user} 1")
    (process / "gid_map").write_text(f"{group} {group} 1")


def enter_mount_namespace() -> None:
    """Make mounts of this process invisible to others; after `enter_namespaces`. Raises `OSError`."""
    _unshare(_NEW_MOUNTS)


def _unshare(flags: int) -> None:
    number = number_of("unshare")
    if number is None:
        raise OSError(f"system calls of {platform.machine()} are unknown")
    system_call(number, flags)


_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38

_PR_SET_KEEPCAPS = 8
_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, _PR_CAP_AMBIENT_CLEAR_ALL = 47, 2, 4

_CAPABILITIES = struct.pack("Ii", 0x20080522, 0)  # the version with 64 of them, of this process
READ_ALL_FILES = 2
"""The capability CAP_DAC_READ_SEARCH: reading files regardless of their permissions."""

_libc = ctypes.CDLL(None, use_errno=True)


def prctl(*arguments: object) -> bool:
    """One `prctl`; whether it succeeded."""
    return hasattr(_libc, "prctl") and _libc.prctl(*arguments) == 0


def system_call(number: int, *arguments: object) -> int:
    """A system call by its number. Raises `OSError`."""
    words = [ctypes.c_long(argument) if isinstance(argument, int) else argument for argument in arguments]
    return_value = int(_libc.syscall(ctypes.c_long(number), *words))
    if return_value < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"system call {number} fails")
    return return_value


def end_with_parent() -> bool:
    """Make the kernel kill this process when the thread that started it ends."""
    return prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def adopt_orphans() -> bool:
    """Become the parent of all descendants whose own parent ends."""
    return prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def deny_inspection(*, closed: bool = True) -> bool:
    """Deny other processes of the same user access to this one's memory, environment and open files.

    /proc/PID/mem, environ and fd then belong to root, debuggers are refused and no core is dumped. Forked
    processes inherit it; executed programs do not.
    """
    return prctl(_PR_SET_DUMPABLE, int(not closed), 0, 0, 0)


def protect_process_memory() -> None:
    """Deny inspection of a process of the site, unless it is started for debugging (`PMWEB_DEBUG=1`)."""
    if os.environ.get("PMWEB_DEBUG", "") != "1":
        deny_inspection()


def no_new_privileges() -> bool:
    """Deny further rights to all programs executed from now on: no set-user-id, no sudo."""
    return prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def no_capabilities(*, but: int | None = None) -> None:
    """Give up all capabilities of root except `but`, if given. Raises `OSError`.

    After `no_new_privileges`, a program that root executes has none either; it keeps the excepted one,
    whichever user executes it.
    """
    if (number := number_of("capset")) is None:
        return
    bits = 0 if but is None else 1 << but
    system_call(
        number, ctypes.c_char_p(_CAPABILITIES), ctypes.c_char_p(struct.pack("6I", bits, bits, bits, 0, 0, 0))
    )
    if but is not None and not prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, but, 0, 0):
        raise OSError("this kernel does not support ambient capabilities")


def pass_no_capabilities_on() -> None:
    """Clear ambient capabilities, so that programs executed by other users than root have none."""
    prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)


def keep_capabilities() -> bool:
    """Keep root's capabilities when becoming another user, until they are given up."""
    return prctl(_PR_SET_KEEPCAPS, 1, 0, 0, 0)


def close_all_but(*descriptors: int) -> None:
    """Close all other open files, however high their numbers. Raises `OSError` without /proc.

    For a process with a single thread: another thread might open files meanwhile.
    """
    for number in map(int, os.listdir("/proc/self/fd")):  # noqa: PTH208  names are wanted
        if number not in descriptors:
            with contextlib.suppress(OSError):  # the list itself is among them
                os.close(number)
