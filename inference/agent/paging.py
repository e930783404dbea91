"""Memory for basic blocks: pages are mapped when a block touches them, to a few pages in turn.

A block is code out of its context: what its registers point to is not there. A signal handler, in machine
code and with a stack of its own, maps each page that faults to one of `PAGES` pages of memory, so that all
is in the first-level cache, and lets the block go on. It maps only where nothing is: what is mapped and
still faults (code, constants, guard pages) belongs to this process. Then, and when a block touches more pages
than it may, or an address that cannot be, the handler leads out of the block, and the reason stands in the
state.

The code of blocks lies far from everything else, so that operands relative to the instruction pointer find
free addresses, too, and cannot be written while it runs.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import struct

from inference.agent.code_pages import CodePagesError, Function, GuardedPages, function_at, synchronise
from inference.agent.protocol import Frame
from inference.agent.targets.block_state import (
    ADDRESS,
    NEXT,
    NO_ADDRESS,
    NOT_ITS_OWN,
    PAGE,
    PAGES,
    REASON,
    REFUSED,
    STATE_BYTES,
    TOO_MANY,
    BlockCode,
    Layout,
    state_of,
)

CODE_BYTES = 64 * 1024  # for a block and its frame
MAX_PAGES = 16384
"""Each is a mapping of its own, of which a process may have 65,530."""

_FIRST_PLACE = 0x20_0000_0000  # the first address that is tried for a block's state
_PLACES = 64  # addresses that are tried
_BETWEEN_PLACES = 0x1_0000_0000  # bytes
_CODE_OFFSET = 0x6000_0000  # from the state: farther than operands relative to rip reach in practice
_NO_REPLACE = 0x100000  # MAP_FIXED_NOREPLACE
_SIGNAL_STACK = 64 * 1024  # bytes
_ON_STACK = 0x08000000  # SA_ONSTACK
_WITH_INFO = 0x00000004  # SA_SIGINFO

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [
    ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long
]  # fmt: skip
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]

_READ_WRITE = mmap.PROT_READ | mmap.PROT_WRITE
_ANONYMOUS = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
_FAILED = ctypes.c_void_p(-1).value  # MAP_FAILED


class TouchError(Exception):
    """A block touches forbidden memory; the message has the address and the reason."""


class BlockMemory:
    """Memory for the code of blocks and for the pages that they touch, for one frame; one per process.

    Raises `CodePagesError` where the system does not allow it.
    """

    def __init__(self, frame: Frame, code: BlockCode) -> None:
        self._frame = frame
        self._code = code
        self._state, self.layout = _reserve_addresses()
        self._shared = mmap.mmap(-1, PAGES * PAGE, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS, _READ_WRITE)
        self._source = ctypes.addressof(ctypes.c_char.from_buffer(self._shared))
        self._pattern = (frame.memory % 2**64).to_bytes(8, "little") * (PAGES * PAGE // 8)
        self._pages = GuardedPages(8 * max(frame.pages, 1))
        self._stack = GuardedPages(_SIGNAL_STACK)
        self._handler = GuardedPages(PAGE, executable=True)
        self._handler.write_code(0, code.handler(self.layout.state))
        self._begin()
        self._catch()

    def place(self, codes: dict[int, bytes]) -> list[Function]:
        """Write functions at these offsets, replacing all others, and make the code read-only."""
        _protect(self.layout.code, CODE_BYTES, _READ_WRITE)
        for offset, code in codes.items():
            if offset + len(code) > CODE_BYTES:
                raise ValueError(f"{len(code)} bytes at {offset} do not fit into {CODE_BYTES}")
            ctypes.memmove(self.layout.code + offset, code, len(code))
        _protect(self.layout.code, CODE_BYTES, mmap.PROT_READ | mmap.PROT_EXEC)
        for offset, code in codes.items():
            synchronise(self.layout.code + offset, len(code))
        return [function_at(self.layout.code + offset) for offset in codes]

    def begin(self) -> None:
        """Initialise memory; call it before every block, and `release` after it.

        Raises `TouchError` where a register starts with an address of this process.
        """
        self._begin()
        starts = (*self._frame.registers.values(), self._frame.memory)
        for page in {value % 2**64 // PAGE * PAGE for value in starts}:
            mapped = _libc.mmap(page, PAGE, 0, _ANONYMOUS | _NO_REPLACE, -1, 0) if page else _FAILED
            if mapped == page:
                _libc.munmap(page, PAGE)
            elif mapped != _FAILED:  # an old kernel, which takes the address as a hint
                _libc.munmap(mapped, PAGE)
            elif page and ctypes.get_errno() == errno.EEXIST:
                raise TouchError(
                    f"touches memory that is not its own: {page:#x}, where registers or memory point, is of "
                    "the process that measures; choose another value"
                )

    def release(self) -> None:
        for page in self._touched_pages():
            _libc.munmap(page, PAGE)

    def _touched_pages(self) -> list[int]:
        """Addresses of the mapped pages, in the order of their first touch."""
        size = self._word(NEXT) - self._pages.address
        return [page for (page,) in struct.iter_unpack("<Q", ctypes.string_at(self._pages.address, size))]

    def is_as_it_was(self) -> bool:
        """Whether memory still has its initial content."""
        return bool(self._shared[:] == self._pattern)

    def refill(self) -> None:
        """Restore the initial content of memory."""
        self._shared[:] = self._pattern

    def check(self) -> None:
        """Raise `TouchError` where the handler aborted the block."""
        reason, address = self._word(REASON), self._word(ADDRESS)
        if reason == NOT_ITS_OWN:
            raise TouchError(
                f"touches memory that is not its own: {address:#x} is of the process that measures"
            )
        if reason == TOO_MANY:
            raise TouchError(
                f"touches more than {self._frame.pages} pages of memory; the last is at {address:#x}"
            )
        if reason == NO_ADDRESS:
            raise TouchError("touches an address that cannot be, or one that is not aligned as it must be")
        if reason == REFUSED:
            raise TouchError(f"touches {address:#x}, where this system lets no program have memory")

    def _begin(self) -> None:
        state = state_of(
            self._frame,
            self.layout,
            CODE_BYTES,
            self._source,
            self._pages.address,
            self._code.CONTROL_WORD,
        )
        ctypes.memmove(self._state, state, STATE_BYTES)
        self.refill()

    def _word(self, place: int) -> int:
        return int.from_bytes(ctypes.string_at(self._state + place, 8), "little")

    def _catch(self) -> None:
        """Install the handler on its own stack, so that it works whatever the stack pointer is."""
        stack = struct.pack("<QixxxxQ", self._stack.address, 0, self._stack.size)
        action = struct.pack("<Q128xixxxxQ", self._handler.address, _ON_STACK | _WITH_INFO, 0)
        if _libc.sigaltstack(stack, None) or any(
            _libc.sigaction(number, action, None) for number in self._code.SIGNALS
        ):
            raise CodePagesError(ctypes.get_errno(), "faults cannot be caught on this system")


def _reserve_addresses() -> tuple[int, Layout]:
    """Map state and code far from all other memory: (address of the state, layout)."""
    for k in range(_PLACES):
        state = _FIRST_PLACE + k * _BETWEEN_PLACES
        if not _map_at(state, PAGE):
            continue
        code = state + _CODE_OFFSET
        if _map_at(code, CODE_BYTES):
            return state, Layout(code, state)
        _libc.munmap(state, PAGE)
    raise CodePagesError(ctypes.get_errno(), "there is no free place for the code of blocks")


def _map_at(address: int, size: int) -> bool:
    """Map memory at exactly this address; False where something is mapped there."""
    mapped = _libc.mmap(address, size, _READ_WRITE, _ANONYMOUS | _NO_REPLACE, -1, 0)
    if mapped not in (address, _FAILED):
        _libc.munmap(mapped, size)
    return bool(mapped == address)


def _protect(address: int, size: int, protection: int) -> None:
    if _libc.mprotect(address, size, protection):
        raise CodePagesError(ctypes.get_errno(), "memory for machine code is not to be had: mprotect refused")
