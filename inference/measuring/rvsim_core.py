"""A RISC-V core of rvsim, a simulator that others wrote, which executes the code that agents are sent.

Loop bodies are executed in the very function that an agent puts around them, basic blocks behind a start that
sets their registers. Both run without an operating system, in memory that surrounds the start values of
registers, so that these are addresses; blocks find it in the first-level cache, as where an agent repeats
them over a few pages. Cycles are counted between two iterations far enough from the start.
"""

from __future__ import annotations

import hashlib
import importlib.util
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from inference.agent import frame as frames
from inference.agent.protocol import BatchItem, Frame
from inference.agent.targets import riscv_calls
from inference.agent.targets import riscv_words as words
from inference.agent.targets.riscv64_blocks import REGISTERS
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
_COUNTED, _COUNTED_BYTES, _FEWEST = 64, 4096, 8
"""Iterations that are counted: so many, or fewer of longer code, so that what walks through memory stays
within `_CACHED`. Half as many are before them, by which branch predictors learn the loop."""
_LINE_BYTES, _CACHED = 64, (-12288, 12288)
"""Bytes around START that a block finds in the first-level cache, of 32 KiB."""
_MAX_CYCLES = 4_000_000
_EXECUTABLE, _MACHINE = 2, 243  # of an ELF file; RISC-V
_ENABLE_FLOATING = (0x000062B7, 0x3002A073)  # lui x5, 6; csrs mstatus, x5
_NOP = 0x00000013
_HERE = 0x0000006F  # a jump to itself
_CALL = 0x000300E7  # jalr x1, 0(x6)
_LOAD_LINE = (
    0x0002B383,
    0x04028293,
    0xFFF30313,
    0xFE031AE3,
)  # ld x7, 0(x5); addi x5, x5, 64; addi x6, x6, -1; bnez
_FORWARD = 6  # register of the function's address
_COUNTER = 3  # of code that is no loop: the global pointer, which hardly any code changes


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
            preset: Any = PRESETS[self.name]  # its types are incomplete
            config = preset()
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
            longer, shorter = item.code, item.code[: item.half_bytes]
            extra_copies = item.copies - item.half_copies
            return (self._block(frame, longer) - self._block(frame, shorter)) / extra_copies
        if frame.pages:
            return self._block(frame, item.code + item.end) / item.copies
        return self._loop_body(frame, item.code) / item.copies

    def _loop_body(self, frame: Frame, body: bytes) -> float:
        """Cycles per iteration of the function that agents put around a loop body."""
        function = frames.function(frame, body)

        def program(iterations: int) -> tuple[bytes, int]:
            begin = [*_ENABLE_FLOATING, *words.set_register(10, iterations), *words.set_register(11, START)]
            begin += [*words.set_register(_FORWARD, _BASE + _FUNCTION), _CALL]
            return code([*begin, _HERE]).ljust(_FUNCTION, b"\0") + function, 4 * len(begin)

        return self._per_iteration(program, frame, len(body))

    def _block(self, frame: Frame, body: bytes) -> float:
        """Cycles per iteration of a block; where its copies are no loop, of its start and the copies."""
        counter = _COUNTER if frame.unrolled else REGISTERS.index(frame.counter_register)
        start = code(_start(frame, counter))
        looped = start + body if frame.unrolled else body
        closing = code(words.count_down(counter, len(looped)))

        def program(iterations: int) -> tuple[bytes, int]:
            begin = code([*_ENABLE_FLOATING, *_loads(), *words.set_register(counter, iterations)])
            begin += b"" if frame.unrolled else start
            aligned = -(-len(begin) // _LINE_BYTES) * _LINE_BYTES + frame.offset
            begin += code([_NOP]) * ((aligned - len(begin)) // len(code([_NOP])))
            loop = begin + looped + closing
            return loop + code([_HERE]), len(loop)

        return self._per_iteration(program, frame, len(looped))

    def _per_iteration(self, program: Callable[[int], tuple[bytes, int]], frame: Frame, size: int) -> float:
        """The difference of two numbers of iterations.

        Args:
            program: {iterations: the code, and where in it a jump to itself ends it}.
            frame: Its surroundings.
            size: Bytes of an iteration.
        """
        counted = max(_FEWEST, min(_COUNTED, _COUNTED_BYTES // size))
        warm = max(_FEWEST, counted // 2)
        ends = [self._end(*program(iterations), frame) for iterations in (warm, warm + counted)]
        return (ends[1] - ends[0]) / counted

    def _end(self, program: bytes, end: int, frame: Frame) -> int:
        """The cycle in which a program reaches its end."""
        simulator = self._simulator(program, frame)
        reason, _ = simulator.run_to(pc=_BASE + end, cycles=_MAX_CYCLES)
        if reason != "pc":
            raise BlockError("the simulated core traps, or never reaches the end of the code")
        return int(simulator.cycle)

    def _simulator(self, program: bytes, frame: Frame) -> Any:
        import rvsim  # noqa: PLC0415  an extra of its own

        pattern = frame.memory.to_bytes(8, "little") * (2 * _PATTERN_BYTES // 8)
        parts = ((_BASE, program), (START - _PATTERN_BYTES, pattern))
        return rvsim.Simulator(self._config, elf_data=_executable(parts))


def _loads() -> Iterator[int]:
    """Loads each line of `_CACHED`."""
    first, last = _CACHED
    yield from words.set_register(5, START + first)
    yield from words.set_register(6, (last - first) // _LINE_BYTES)
    yield from _LOAD_LINE


def _start(frame: Frame, counter: int) -> Iterator[int]:
    """Sets all registers but the counter as at the start of a block."""
    yield from riscv_calls.fill_floating(frame.vector)
    for number, name in enumerate(REGISTERS):
        if number not in (words.ZERO, counter):
            yield from words.set_register(number, frame.registers.get(name, 0))


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
