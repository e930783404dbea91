"""Memory for machine code and for its data, between guard pages."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable
from functools import cache

from inference.agent.targets import native

PAGE = mmap.PAGESIZE

Function = Callable[[int, int], object]
"""Machine code as a function of (number of iterations, address of the memory it works on)."""

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_SIGNATURE = ctypes.CFUNCTYPE(None, ctypes.c_uint64, ctypes.c_void_p)


class CodePagesError(OSError):
    """This system does not allow memory to be both writable and executable."""


class GuardedPages:
    """`size` bytes between two guard pages, at which code that runs past an end faults."""

    def __init__(self, size: int, *, executable: bool = False) -> None:
        self.size = -(-size // PAGE) * PAGE
        protection = mmap.PROT_READ | mmap.PROT_WRITE
        try:
            self._map = mmap.mmap(-1, self.size + 2 * PAGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, protection)
            start = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
            self.address = start + PAGE
            if executable:
                _protect(self.address, self.size, protection | mmap.PROT_EXEC)
            _protect(start, PAGE, 0)
            _protect(self.address + self.size, PAGE, 0)
        except OSError as error:
            raise CodePagesError(
                error.errno, f"memory for machine code is not to be had: {error.strerror}"
            ) from error

    def write(self, offset: int, content: bytes) -> None:
        """Write bytes at an offset. Raises `ValueError` where they do not fit."""
        if not 0 <= offset <= self.size - len(content):
            raise ValueError(f"{len(content)} bytes at {offset} do not fit into {self.size}")
        ctypes.memmove(self.address + offset, content, len(content))

    def write_code(self, offset: int, code: bytes) -> Function:
        """Write machine code at an offset and synchronise the instruction cache; returns it as a function.

        Raises `ValueError` where it does not fit.
        """
        self.write(offset, code)
        synchronise(self.address + offset, len(code))
        return self.function(offset)

    def read(self, offset: int, size: int) -> bytes:
        return ctypes.string_at(self.address + offset, size)

    def function(self, offset: int) -> Function:
        return function_at(self.address + offset)


def function_at(address: int) -> Function:
    return _SIGNATURE(address)


def synchronise(address: int, size: int) -> None:
    """Make new code at an address visible to instruction fetch.

    x86-64 does so by itself. On AArch64 the instruction cache is invalidated line by line, which user
    programs may do.
    """
    routine = _synchronisation_pages()
    if routine is not None:
        routine.function(0)(address, address + size)


@cache
def _synchronisation_pages() -> GuardedPages | None:
    """Pages with the routine of this processor, None where none is needed.

    The routine cannot serve itself, so its pages become executable after it is written: at that moment the
    kernel does for them what it does afterwards for others. `__clear_cache`, the compiler's name for the same
    thing, is part of no C library that could be asked for it everywhere (musl has none).
    """
    code = native().SYNCHRONISE
    if not code:
        return None
    region = GuardedPages(len(code))
    region.write(0, code)
    _protect(region.address, region.size, mmap.PROT_READ | mmap.PROT_EXEC)
    return region


def _protect(address: int, size: int, protection: int) -> None:
    if _libc.mprotect(address, size, protection):
        number = ctypes.get_errno()
        raise OSError(number, "mprotect refused")
