"""What surrounds a basic block on every instruction set: the state, in a page of its own.

No register points to it: before and after the block it is reached by its address alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from inference.agent.protocol import Frame

PAGE = 4096  # bytes
PAGES = 8
"""Pages of memory, as large as small first-level caches; virtual pages are mapped to them by the lowest bits
of their numbers. With one alone, as in BHive, accesses of different pages would meet, and cores that predict
the way of the cache by the virtual address would find a line only under the address that used it last.
"""

# Where things are in the state, in bytes from its beginning.
LOW, HIGH, ESCAPE, LEFT, REASON, ADDRESS, SOURCE, NEXT, STACK, COUNTER = range(0, 80, 8)
CONTROL, OUR_CONTROL, VECTOR, PATTERN, NO_ACTION = 80, 84, 88, 96, 128
STATE_BYTES = 160  # of all of these places

NOT_ITS_OWN, TOO_MANY, NO_ADDRESS, REFUSED = 1, 2, 3, 4
"""Reasons why the handler of faults gave up."""


@dataclass(frozen=True)
class Layout:
    """Addresses of the function, the state, and the page that stands for all memory."""

    code: int
    state: int


class BlockCode(Protocol):
    """The machine code around basic blocks of an instruction set."""

    @property
    def REGISTERS(self) -> list[str]:  # noqa: N802  modules are the implementations, and these their constants
        """General-purpose registers in the order of their numbers."""
        ...

    @property
    def COUNTERS(self) -> list[str]:  # noqa: N802
        """The registers that can count iterations; "" for memory."""
        ...

    @property
    def CONTROL_WORD(self) -> int:  # noqa: N802
        """What the frame loads from `OUR_CONTROL`."""
        ...

    @property
    def SIGNALS(self) -> tuple[int, ...]:  # noqa: N802
        """The signals of accesses that cannot be."""
        ...

    def function(self, frame: Frame, body: bytes, at: int, layout: Layout, *, refills: bool) -> bytes:
        """The code of a function `void f(uint64 iterations, void *unused)`.

        Args:
            frame: Start values of registers and memory.
            body: Machine code between prologue and epilogue.
            at: Address of the function.
            layout: Addresses of the state's parts.
            refills: Memory begins anew together with the registers.

        Raises:
            FrameError: The frame cannot be set up here.
        """
        ...

    def handler(self, state: int) -> bytes:
        """A signal handler that maps a page where a block's access found none, or leads out of the block."""
        ...


def state_of(
    frame: Frame, layout: Layout, code_bytes: int, source: int, pages: int, control_word: int
) -> bytes:
    """The state before a block runs; `pages`: address of the list of pages that it touches."""
    state = bytearray(STATE_BYTES)
    words = {LOW: layout.code, HIGH: layout.code + code_bytes, LEFT: frame.pages, SOURCE: source, NEXT: pages}
    for place, value in {**words, VECTOR: frame.vector, PATTERN: frame.memory}.items():
        state[place : place + 8] = (value % 2**64).to_bytes(8, "little")
    state[OUR_CONTROL : OUR_CONTROL + 4] = control_word.to_bytes(4, "little")
    return bytes(state)
