"""A RISC-V core of rvsim, a simulator that others wrote, which executes the code that agents are sent.

Loop bodies are executed in the very function that an agent puts around them, basic blocks behind a start that
sets their registers. Both run without an operating system, in memory that surrounds the start values of
registers, so that these are addresses. Cycles are counted between two iterations far enough from the start.
"""

from __future__ import annotations

import hashlib
import importlib.util
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from inference.agent import frame as frames
from inference.agent.protocol import BatchItem, Frame
from inference.agent.targets import riscv_words as words
from inference.agent.targets.words import code
from inference.core.errors import InvalidInputError
from inference.isa.code.block import BlockError
from inference.isa.start_values import START

IN_ORDER = "in-order"
"""Name of a core that issues two instructions per cycle in program order, with rvsim's usual units."""
RELEASE = "2.1.0"
NOT_INSTALLED = f"rvsim is not installed: pip install 'pmweb[rvsim]' (or rvsim=={RELEASE})"

_BASE = 0x6000_0000  # of the memory: START lies in its middle
_MEMORY_BYTES = 64 << 20
_PATTERN_BYTES = 1 << 16  # around START, filled with the frame's pattern
_FUNCTION = 1 << 10  # bytes from the beginning to the function
_STACK = _BASE + 0x80_0000
_WARM, _COUNTED = 40, 160
"""Iterations until caches and branch predictors have learned a loop, and those that are counted then."""
_MAX_CYCLES = 4_000_000
_EXECUTABLE, _MACHINE = 2, 243  # of an ELF file; RISC-V
_ENABLE_FLOATING = (0x000062B7, 0x3002A073)  # lui x5, 6; csrs mstatus, x5
_HERE = 0x0000006F  # a jump to itself
_CALL = 0x000300E7  # jalr x1, 0(x6)
_FORWARD = 6  # holds the function's address


@dataclass(frozen=True, eq=False)
class RvsimCore:
    """A core of rvsim's presets, or `IN_ORDER`.

    Raises:
        InvalidInputError: rvsim is not installed, or has no such core.
    """

    name: str
    isa: str = "RISC-V"

    def __post_init__(self) -> None:
        if importlib.util.find_spec("rvsim") is None:
            raise InvalidInputError(NOT_INSTALLED)
        _ = self._config

    @cached_property
    def _config(self) -> Any:
        import rvsim  # noqa: PLC0415  an extra of its own
        from rvsim.presets import PRESETS  # noqa: PLC0415

        if self.name == IN_ORDER:
            config = rvsim.Config(width=2, backend=rvsim.Backend.InOrder())
        elif self.name in PRESETS:
            config = PRESETS[self.name]()
        else:
            raise InvalidInputError(
                f"rvsim has no core {self.name!r}: the cores are {', '.join([*sorted(PRESETS), IN_ORDER])}"
            )
        config.ram_base, config.ram_size, config.initial_sp = _BASE, _MEMORY_BYTES, _STACK
        return config

    @property
    def identity(self) -> str:
        """A digest of the simulator's release and the core's parameters."""
        import rvsim  # noqa: PLC0415  an extra of its own

        return hashlib.sha256(f"rvsim {rvsim.__version__} {self._config.to_dict()}".encode()).hexdigest()

    def cycles(self, frame: Frame, item: BatchItem) -> float:
        """Cycles per copy of an item, in the steady state.

        Raises:
            BlockError: For code at which the core traps.
        """
        if frame.unrolled:
            more = item.copies - item.half_copies
            longer, shorter = self._round(frame, item.code), self._round(frame, item.code[: item.half_bytes])
            return (longer - shorter) / more
        if frame.pages:
            return self._round(frame, item.code + item.end, starts_anew=False) / item.copies
        return self._called(frame, item.code) / item.copies

    def _called(self, frame: Frame, body: bytes) -> float:
        """Cycles per iteration of the function around a loop body."""
        function = frames.function(frame, body)
        calls: list[int] = []
        for iterations in (_WARM, _COUNTED, 2 * _COUNTED):
            calls += words.set_register(10, iterations)
            calls += words.set_register(11, START)
            calls += words.set_register(_FORWARD, _BASE + _FUNCTION)
            calls.append(_CALL)
        begin = code([*_ENABLE_FLOATING, *calls, _HERE])
        simulator = self._simulator(begin.ljust(_FUNCTION, b"\0") + function, frame)
        ends = []
        for place, word in enumerate(calls):
            if word == _CALL:
                address = _BASE + 4 * (len(_ENABLE_FLOATING) + place + 1)
                ends.append(_run_to(simulator, address))
        return ((ends[2] - ends[1]) - (ends[1] - ends[0])) / _COUNTED

    def _round(self, frame: Frame, body: bytes, *, starts_anew: bool = True) -> float:
        """Cycles from start to start, or from iteration to iteration of a block that is closed by a jump."""
        begin = code([*_ENABLE_FLOATING, *_start(frame)])
        back = len(body) + (len(begin) if starts_anew else 0)
        whole = begin + body + code([_jump(-back)])
        start = _BASE if starts_anew else _BASE + len(begin)
        simulator = self._simulator(whole, frame)
        _run_to(simulator, start)
        passed = []
        for count in (_WARM, _COUNTED):
            for _ in range(count):
                simulator.run_to(cycles=1)
                _run_to(simulator, start)
            passed.append(int(simulator.cycle))
        return (passed[1] - passed[0]) / _COUNTED

    def _simulator(self, program: bytes, frame: Frame) -> Any:
        import rvsim  # noqa: PLC0415  an extra of its own

        pattern = frame.memory.to_bytes(8, "little") * (2 * _PATTERN_BYTES // 8)
        parts = ((_BASE, program), (START - _PATTERN_BYTES, pattern))
        return rvsim.Simulator(self._config, elf_data=_executable(parts))


def _run_to(simulator: Any, address: int) -> int:
    """The cycle in which the core reaches an address. Raises `BlockError` where it does not."""
    reason, _ = simulator.run_to(pc=address, cycles=_MAX_CYCLES)
    if reason != "pc":
        raise BlockError("the simulated core traps, or never reaches the end of the code")
    return int(simulator.cycle)


def _start(frame: Frame) -> Iterator[int]:
    """Sets all registers as at the start of a block."""
    yield from words.set_register(5, frame.vector)
    for number in range(32):
        yield words.move_to_floating(number, 5)
    for name, value in frame.registers.items():
        if name[:1] == "x" and name[1:].isdecimal():
            yield from words.set_register(int(name[1:]), value)


def _jump(distance: int) -> int:
    bits = distance & 0x1FFFFF
    upper = (
        (bits >> 20 & 1) << 31
        | (bits >> 1 & 0x3FF) << 21
        | (bits >> 11 & 1) << 20
        | (bits >> 12 & 0xFF) << 12
    )
    return _HERE | upper


def _executable(parts: Sequence[tuple[int, bytes]]) -> bytes:
    """An ELF file that puts each part at its address and begins with the first."""
    size = 64 + 56 * len(parts)
    header = b"\x7fELF" + bytes([2, 1, 1]).ljust(12, b"\0")
    fields = (_EXECUTABLE, _MACHINE, 1, parts[0][0], 64, 0, 0, 64, 56, len(parts), 0, 0, 0)
    header += struct.pack("<HHIQQQIHHHHHH", *fields)
    offset = size
    for address, content in parts:
        header += struct.pack("<IIQQQQQQ", 1, 7, offset, address, address, len(content), len(content), 8)
        offset += len(content)
    return header + b"".join(content for _, content in parts)
