"""The heap of a process that runs thousands of tests, among them blocks at addresses of their own."""

from __future__ import annotations

import ctypes
import mmap

_BOUNDARY = 0x5000_0000
_NO_REPLACE = 0x100000  # MAP_FIXED_NOREPLACE


def keep_heap_low() -> None:
    """Let the heap end below the addresses that blocks work on.

    In a program at a fixed address, such as Debian's Python, the heap begins within the first gigabyte and
    grows towards them. It cannot pass a page that is taken: memory is then taken elsewhere.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    libc.mmap(_BOUNDARY, mmap.PAGESIZE, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_REPLACE, -1, 0)
