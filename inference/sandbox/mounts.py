"""A view of all files in which a process can change none, but in its scratch folder, which is in memory.

It holds where Landlock does not: for modes, times and attributes, and on kernels without Landlock. What is in
the scratch folder has a largest size and number, and ends with the last process that sees it.
"""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Iterable
from pathlib import Path

from inference.sandbox import kernel
from inference.sandbox.system_calls import number_of

SCRATCH_FILES = 10_000
"""Files and directories in a scratch folder; each takes about a KiB of the kernel's memory."""

_NO_SET_ID, _NO_DEVICES, _BIND, _RECURSIVELY, _FROM_OUTSIDE = 0x2, 0x4, 0x1000, 0x4000, 0x80000
_READ_ONLY = 0x1
_HERE, _ALL_BELOW = -100, 0x8000  # AT_FDCWD, AT_RECURSIVE


def close_files(scratch: str, scratch_bytes: int, writes: Iterable[str]) -> None:
    """Let this process change nothing but `writes`, and `scratch` with a copy of the files in it.

    A mount namespace of its own is made for it. `scratch` may be "". Raises `OSError`, also where Linux is
    older than 5.12.
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
    _call("mount_setattr", _HERE, os.fsencode(place), scope, attributes, len(attributes))


def _call(name: str, *arguments: object) -> None:
    number = number_of(name)
    if number is None:
        raise OSError(f"{os.uname().machine} is not known")
    kernel.call(number, *arguments)
