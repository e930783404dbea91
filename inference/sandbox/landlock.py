"""Files that a process may open: by default none, but what is below some directories (Landlock, Linux 5.13).

It restricts opening, making, linking and removing; what is open already stays open. From Linux 6.7 on it
denies TCP as well, from 6.12 on signals to processes that are not restricted in the same way. Processes
outside cannot be traced, so that their /proc/PID/environ and mem are closed, by any version.
"""

from __future__ import annotations

import contextlib
import os
import stat
import struct
from collections.abc import Iterable
from functools import cache

from inference.sandbox import kernel

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same numbers on every machine
_ASK_VERSION = 1
_BENEATH = 1

_EXECUTE, _WRITE, _READ, _LIST = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_UP_TO_MAKING = (1 << 13) - 1
_REFER, _TRUNCATE, _DEVICES = 1 << 13, 1 << 14, 1 << 15
_OF_FILES = _EXECUTE | _WRITE | _READ | _TRUNCATE | _DEVICES
_TCP = 0b11
_SCOPES = 0b11  # abstract sockets, signals
_SINCE = ((1, _UP_TO_MAKING), (2, _REFER), (3, _TRUNCATE), (5, _DEVICES))
_TCP_SINCE, _SCOPES_SINCE = 4, 6


@cache
def version() -> int:
    """Of Landlock's interface; 0 where the kernel has none or it is switched off."""
    try:
        return kernel.call(_CREATE, None, 0, _ASK_VERSION)
    except OSError:
        return 0


def bounds_signals() -> bool:
    """Whether a restricted process can send signals to none but those restricted with it."""
    return version() >= _SCOPES_SINCE


def restrict(reads: Iterable[str], writes: Iterable[str]) -> bool:
    """Only open what is below `reads`, to read or execute, and below `writes`; False without Landlock.

    Both are directories or files; what does not exist is passed over. Needs `no_new_privileges`. Raises
    `OSError` where the kernel has Landlock but refuses.
    """
    known = version()
    if not known:
        return False
    rights = 0
    for since, more in _SINCE:
        rights |= more if known >= since else 0
    attributes = struct.pack(
        "QQQ", rights, _TCP if known >= _TCP_SINCE else 0, _SCOPES if known >= _SCOPES_SINCE else 0
    )
    size = 24 if known >= _SCOPES_SINCE else 16 if known >= _TCP_SINCE else 8
    ruleset = kernel.call(_CREATE, attributes, size, 0)
    try:
        for path in reads:
            _allow(ruleset, path, rights & (_EXECUTE | _READ | _LIST))
        for path in writes:
            _allow(ruleset, path, rights)
        kernel.call(_RESTRICT, ruleset, 0)
    finally:
        os.close(ruleset)
    return True


def _allow(ruleset: int, path: str, rights: int) -> None:
    with contextlib.suppress(FileNotFoundError, NotADirectoryError, PermissionError):
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            if not stat.S_ISDIR(os.fstat(place).st_mode):
                rights &= _OF_FILES
            kernel.call(_ADD, ruleset, _BENEATH, struct.pack("<Qi", rights, place), 0)
        finally:
            os.close(place)
