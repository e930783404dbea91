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
import signal
import struct

from inference.agent import block_frame
from inference.agent.block_frame import ADDRESS, NEXT, PAGE, REASON, STATE_BYTES, Layout
from inference.agent.code_pages import CodePagesError, Function, GuardedPages, function_at
from inference.agent.protocol import Frame

CODE_BYTES = 64 * 1024  # for a block and its frame
PAGES = 8
"""Pages of memory, as large as small first-level caches; virtual pages are mapped to them by the lowest bits
of their numbers. With one alone, as in BHive, accesses of different pages would meet, and cores that predict
the way of the cache by the virtual address would find a line only under the address that used it last.
"""

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

# The handler gets (signal, siginfo, context) in rdi, rsi, rdx; rbx is the state, rbp the context.
_HANDLER = bytes.fromhex(
    "4889d5"  # mov rbp, rdx
    "488b82a8000000"  # mov rax, [rdx+168]: the instruction that faulted
    "483b03"  # cmp rax, [rbx+LOW]
    "0f8297000000"  # jb foreign
    "483b4308"  # cmp rax, [rbx+HIGH]
    "0f838d000000"  # jae foreign
    "4c8b4610"  # mov r8, [rsi+16]: the address that it touched
    "4c894328"  # mov [rbx+ADDRESS], r8
    "8b4608"  # mov eax, [rsi+8]: what kind of fault
    "41b903000000"  # mov r9d, NO_ADDRESS
    "3d80000000"  # cmp eax, SI_KERNEL
    "7465"  # je escape
    "41b901000000"  # mov r9d, NOT_ITS_OWN
    "83f801"  # cmp eax, SEGV_MAPERR: nothing is there
    "755a"  # jne escape
    "41b902000000"  # mov r9d, TOO_MANY
    "48837b1800"  # cmp qword ptr [rbx+LEFT], 0
    "744d"  # je escape
    "4981e000f0ffff"  # and r8, -4096
    "41b904000000"  # mov r9d, REFUSED
    "4981f800000100"  # cmp r8, 0x10000: many systems give these to nobody
    "7237"  # jb escape
    "4489c7"  # mov edi, r8d
    "81e700700000"  # and edi, (PAGES - 1) * 4096
    "48037b30"  # add rdi, [rbx+SOURCE]
    "31f6"  # xor esi, esi: of size 0, a shared mapping is not moved but made once more
    "ba00100000"  # mov edx, 4096
    "41ba03000000"  # mov r10d, MREMAP_MAYMOVE | MREMAP_FIXED
    "b819000000"  # mov eax, mremap
    "0f05"  # syscall
    "4c39c0"  # cmp rax, r8
    "7511"  # jne escape
    "488b4338"  # mov rax, [rbx+NEXT]
    "4c8900"  # mov [rax], r8
    "4883433808"  # add qword ptr [rbx+NEXT], 8
    "48ff4b18"  # dec qword ptr [rbx+LEFT]
    "c3"  # ret
    # escape:
    "4c894b20"  # mov [rbx+REASON], r9
    "488b4310"  # mov rax, [rbx+ESCAPE]
    "488985a8000000"  # mov [rbp+168], rax
    "c3"  # ret
    # foreign: not a block's fault, which ends this process as it would without a handler
    "bf0b000000"  # mov edi, SIGSEGV
    "488db380000000"  # lea rsi, [rbx+NO_ACTION]
    "31d2"  # xor edx, edx
    "41ba08000000"  # mov r10d, 8
    "b80d000000"  # mov eax, rt_sigaction
    "0f05"  # syscall
    "c3"  # ret
)
_NOT_ITS_OWN, _TOO_MANY, _NO_ADDRESS, _REFUSED = 1, 2, 3, 4  # reasons why the handler of faults gave up


class TouchError(Exception):
    """A block touches forbidden memory; the message has the address and the reason."""


class BlockMemory:
    """Memory for the code of blocks and for the pages that they touch, for one frame; one per process.

    Raises `CodePagesError` where the system does not allow it.
    """

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._state, self.layout = _reserve_addresses()
        self._shared = mmap.mmap(-1, PAGES * PAGE, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS, _READ_WRITE)
        self._source = ctypes.addressof(ctypes.c_char.from_buffer(self._shared))
        self._pattern = (frame.memory % 2**64).to_bytes(8, "little") * (PAGES * PAGE // 8)
        self._pages = GuardedPages(8 * max(frame.pages, 1))
        self._stack = GuardedPages(_SIGNAL_STACK)
        self._handler = GuardedPages(PAGE, executable=True)
        self._handler.write(0, b"\x48\xbb" + self.layout.state.to_bytes(8, "little") + _HANDLER)  # mov rbx, …
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
        for page in self._touched():
            _libc.munmap(page, PAGE)

    def _touched(self) -> list[int]:
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
        if reason == _NOT_ITS_OWN:
            raise TouchError(
                f"touches memory that is not its own: {address:#x} is of the process that measures"
            )
        if reason == _TOO_MANY:
            raise TouchError(
                f"touches more than {self._frame.pages} pages of memory; the last is at {address:#x}"
            )
        if reason == _NO_ADDRESS:
            raise TouchError("touches an address that cannot be, or one that is not aligned as it must be")
        if reason == _REFUSED:
            raise TouchError(f"touches {address:#x}, where this system lets no program have memory")

    def _begin(self) -> None:
        state = block_frame.state_of(self._frame, self.layout, CODE_BYTES, self._source, self._pages.address)
        ctypes.memmove(self._state, state, STATE_BYTES)
        self.refill()

    def _word(self, place: int) -> int:
        return int.from_bytes(ctypes.string_at(self._state + place, 8), "little")

    def _catch(self) -> None:
        """Install the SIGSEGV handler on its own stack, so that it works whatever rsp is."""
        stack = struct.pack("<QixxxxQ", self._stack.address, 0, self._stack.size)
        action = struct.pack("<Q128xixxxxQ", self._handler.address, _ON_STACK | _WITH_INFO, 0)
        if _libc.sigaltstack(stack, None) or _libc.sigaction(signal.SIGSEGV, action, None):
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
