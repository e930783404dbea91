"""Files that a process may open, by Landlock, and those that it may change, by mounts of its own.

Landlock (Linux 5.13): a process may open only files below given directories. It restricts opening, creating,
linking and removing; open files stay open. From Linux 6.7 on it denies TCP as well, from 6.12 on signals to
processes that are not restricted in the same way. Processes outside cannot be traced, so that their
/proc/PID/environ and mem are closed, by every version.

Mounts: a view of the file system in which a process can change nothing but its scratch folder, which is in
memory. They protect what Landlock does not: modes, times and attributes, and kernels without Landlock. The
scratch folder has a limited size and number of files, and ends with the last process that sees it.
"""

from __future__ import annotations

import contextlib
import os
import stat
import struct
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from inference.sandbox import kernel
from inference.sandbox.system_calls import number_of

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same numbers on every machine
_ASK_VERSION = 1  # LANDLOCK_CREATE_RULESET_VERSION
_BENEATH = 1  # LANDLOCK_RULE_PATH_BENEATH

_EXECUTE, _WRITE, _READ, _LIST = 1 << 0, 1 << 1, 1 << 2, 1 << 3  # rights of linux/landlock.h
_FIRST_RIGHTS = (1 << 13) - 1  # all of version 1
_REFER, _TRUNCATE, _DEVICES = 1 << 13, 1 << 14, 1 << 15
_FILE_RIGHTS = _EXECUTE | _WRITE | _READ | _TRUNCATE | _DEVICES
_TCP = 0b11  # binding and connecting
_SCOPES = 0b11  # abstract sockets, signals
_RIGHTS_SINCE = ((1, _FIRST_RIGHTS), (2, _REFER), (3, _TRUNCATE), (5, _DEVICES))
"""(version of Landlock, the rights that it added)."""

_TCP_SINCE, _SCOPES_SINCE = 4, 6  # versions of Landlock


@cache
def landlock_version() -> int:
    """The version of Landlock's interface; 0 where the kernel has none or it is switched off."""
    try:
        return kernel.system_call(_CREATE, None, 0, _ASK_VERSION)
    except OSError:
        return 0


def restrict(reads: Iterable[str], writes: Iterable[str]) -> bool:
    """Restrict this process to reading and executing below `reads`, and to changing below `writes`.

    Args:
        reads: Directories or files; missing ones are ignored.
        writes: Likewise.

    Returns:
        False where the kernel has no Landlock: then nothing is restricted.

    Raises:
        OSError: The kernel has Landlock but refuses. It needs `no_new_privileges`.
    """
    version = landlock_version()
    if not version:
        return False
    rights = 0
    for since, added in _RIGHTS_SINCE:
        rights |= added if version >= since else 0
    attributes = struct.pack(
        "QQQ", rights, _TCP if version >= _TCP_SINCE else 0, _SCOPES if version >= _SCOPES_SINCE else 0
    )
    size = 24 if version >= _SCOPES_SINCE else 16 if version >= _TCP_SINCE else 8
    ruleset = kernel.system_call(_CREATE, attributes, size, 0)
    try:
        for path in reads:
            _allow(ruleset, path, rights & (_EXECUTE | _READ | _LIST))
        for path in writes:
            _allow(ruleset, path, rights)
        kernel.system_call(_RESTRICT, ruleset, 0)
    finally:
        os.close(ruleset)
    return True


def _allow(ruleset: int, path: str, rights: int) -> None:
    with contextlib.suppress(FileNotFoundError, NotADirectoryError, PermissionError):
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            if not stat.S_ISDIR(os.fstat(place).st_mode):
                rights &= _FILE_RIGHTS
            kernel.system_call(_ADD, ruleset, _BENEATH, struct.pack("<Qi", rights, place), 0)
        finally:
            os.close(place)


SCRATCH_FILES = 10_000
"""Limit of files and directories in a scratch folder; each takes about a KiB of kernel memory."""

_NO_SET_ID, _NO_DEVICES, _BIND, _RECURSIVELY, _FROM_OUTSIDE = 0x2, 0x4, 0x1000, 0x4000, 0x80000
_READ_ONLY = 0x1
_CURRENT_DIRECTORY, _ALL_BELOW = -100, 0x8000  # AT_FDCWD, AT_RECURSIVE


def make_files_read_only(scratch: str, scratch_bytes: int, writes: Iterable[str]) -> None:
    """Make all files read-only for this process but `writes` and a copy of `scratch` in memory.

    It gets a mount namespace of its own. `scratch_bytes` is the size of the copy; `scratch` may be "". Raises
    `OSError`, also where Linux is older than 5.12.
    """
    kernel.enter_mount_namespace()
    _mount("", "/", "", _RECURSIVELY | _FROM_OUTSIDE)
    open_places = [place for place in writes if Path(place).exists()]
    for place in open_places:
        _mount(place, place, "", _BIND)
    if scratch:
        _mount_in_memory(scratch, scratch_bytes)
    _set_flags("/", _ALL_BELOW, added=_READ_ONLY)
    for place in filter(None, (*open_places, scratch)):
        with contextlib.suppress(PermissionError):  # it could not be changed before either
            _set_flags(place, 0, removed=_READ_ONLY)
    os.chdir(Path.cwd())  # into what is mounted there now


def _mount_in_memory(scratch: str, size: int) -> None:
    files = {entry.name: Path(entry.path).read_bytes() for entry in os.scandir(scratch)}
    options = f"size={size},nr_inodes={SCRATCH_FILES},mode=700"
    _mount("scratch", scratch, "tmpfs", _NO_SET_ID | _NO_DEVICES, options)
    for name, content in files.items():
        Path(scratch, name).write_bytes(content)


def _mount(source: str, place: str, kind: str, flags: int, options: str = "") -> None:
    words = [os.fsencode(word) if word else None for word in (source, place, kind)]
    _call("mount", *words, flags, options.encode() or None)


def _set_flags(place: str, scope: int, *, added: int = 0, removed: int = 0) -> None:
    attributes = struct.pack("QQQQ", added, removed, 0, 0)
    _call("mount_setattr", _CURRENT_DIRECTORY, os.fsencode(place), scope, attributes, len(attributes))


def _call(name: str, *arguments: object) -> None:
    number = number_of(name)
    if number is None:
        raise OSError(f"system calls of {os.uname().machine} are unknown")
    kernel.system_call(number, *arguments)
