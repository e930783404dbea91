"""What the agent has to know about an instruction set in order to measure machine code of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from inference.agent.checks import ReferenceBlock
from inference.agent.protocol import Frame
from inference.agent.reading import Json
from inference.agent.targets.block_state import BlockCode

CHAIN_LENGTH = 100
"""Dependent additions in the chain that serves as the clock."""


_BLOCK_FACTS = (
    *("blocks", "offsets", "wide_blocks", "x87_blocks"),
    *("clear_masks", "latency_bound", "leads_back"),
)
BLOCKS_OF_WORDS: Mapping[str, Any] = {
    **dict.fromkeys(_BLOCK_FACTS, False),
    **dict.fromkeys(("blocks", "offsets", "latency_bound"), True),
    "virtual": None,
}
"""Facts of computers whose blocks have neither masks nor wider vectors, and are not led back in memory."""


class FrameError(ValueError):
    """A frame that cannot be built: an unknown register, or an instruction set of another processor."""


class Target(Protocol):
    """The interface that every module of this package has."""

    @property
    def ISA(self) -> str:  # noqa: N802  modules are the implementations, and these their constants
        ...

    @property
    def MACHINES(self) -> Sequence[str]:  # noqa: N802
        """What such a computer calls itself (`uname -m`)."""
        ...

    @property
    def CHAIN(self) -> bytes:  # noqa: N802
        """`CHAIN_LENGTH` additions of registers, each waiting for the one before: one cycle each."""
        ...

    @property
    def ADDITIONS(self) -> ReferenceBlock:  # noqa: N802
        """The sentinel: additions that keep all ALUs busy."""
        ...

    @property
    def SYNCHRONISE(self) -> bytes:  # noqa: N802
        """A function `void f(void *start, void *end)` that lets the processor fetch what was just written
        there as code; empty where it does so by itself."""
        ...

    @property
    def BLOCKS(self) -> BlockCode | None:  # noqa: N802
        """The code around basic blocks out of their context (`inference.agent.block_timer`); None where these
        cannot be timed."""
        ...

    @property
    def HAS_CPUID(self) -> bool:  # noqa: N802
        """Whether the processor itself says which features it has (`inference.agent.cpuid`)."""
        ...

    def emulator(self, machine: str, processor: Mapping[str, str]) -> str:
        """What executes the code of `machine` in place of such a processor, "" where nothing seems to.

        `processor`: its entry in /proc/cpuinfo, here and below.
        """
        ...

    def description(self, processor: Mapping[str, str], emulated: str) -> Json:
        """The facts that are told differently than those that all computers have; `emulated`: by what."""
        ...

    def function(self, frame: Frame, body: bytes) -> bytes:
        """A function `void f(uint64 iterations, void *memory)` around a loop body, for an address that is a
        multiple of 64. Raises `FrameError`."""
        ...

    def frame(self, *, avx: bool) -> Frame:
        """What the blocks with known answers need around them. `avx` matters to x86-64 alone."""
        ...

    def checks(self, *, avx: bool) -> tuple[ReferenceBlock, ...]: ...

    def documented(self, facts: Mapping[str, Any]) -> Mapping[str, float]:
        """{check: cycles per instruction} of the computer with these facts, empty where nothing is known."""
        ...
