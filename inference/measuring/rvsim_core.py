"""A RISC-V core of rvsim, a simulator that others wrote, which executes the code that agents are sent.

Loop bodies are executed in the very function that an agent puts around them, basic blocks behind a start that
sets their registers. Both run without an operating system, in memory that surrounds the start values of
registers, so that these are addresses. All is executed twice, and the second pass counts: then caches have
what the code reads and writes, as where an agent repeats it over a few pages. Cycles are counted between two
iterations far enough from the start.
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
_COUNTED, _COUNTED_BYTES, _FEWEST = 160, 4096, 4
"""Iterations that are counted: so many, or fewer of longer code, so that loops that walk through memory stay
within the first-level cache; they follow a quarter as many that are not."""
_MAX_CYCLES = 4_000_000
_EXECUTABLE, _MACHINE = 2, 243  # of an ELF file; RISC-V
_ENABLE_FLOATING = (0x000062B7, 0x3002A073)  # lui x5, 6; csrs mstatus, x5
_HERE = 0x0000006F  # a jump to itself
_CALL = 0x000300E7  # jalr x1, 0(x6)
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

        def one_pass(iterations: int) -> bytes:
            begin = [*words.set_register(10, iterations), *words.set_register(11, START)]
            return code([*begin, *words.set_register(_FORWARD, _BASE + _FUNCTION), _CALL])

        return self._per_iteration(one_pass, frame, len(body), frames.function(frame, body))

    def _block(self, frame: Frame, body: bytes) -> float:
        """Cycles per iteration of a block; where its copies are no loop, of its start and the copies."""
        counter = _COUNTER if frame.unrolled else REGISTERS.index(frame.counter_register)
        start = code(_start(frame, counter))
        looped = start + body if frame.unrolled else body
        closing = code(words.count_down(counter, len(looped)))

        def one_pass(iterations: int) -> bytes:
            begin = code(words.set_register(counter, iterations))
            return begin + (b"" if frame.unrolled else start) + looped + closing

        return self._per_iteration(one_pass, frame, len(looped))

    def _per_iteration(
        self, one_pass: Callable[[int], bytes], frame: Frame, size: int, function: bytes = b""
    ) -> float:
        """The difference of two numbers of iterations.

        Args:
            one_pass: {iterations: code that executes so many}.
            frame: Its surroundings.
            size: Bytes of an iteration.
            function: What the code calls.
        """
        counted = max(_FEWEST, min(_COUNTED, _COUNTED_BYTES // size))
        warm = max(_FEWEST, counted // 4)
        shorter, longer = (
            self._second_pass(one_pass(iterations), function, frame) for iterations in (warm, warm + counted)
        )
        return (longer - shorter) / counted

    def _second_pass(self, one_pass: bytes, function: bytes, frame: Frame) -> int:
        """Cycles of the second of two passes."""
        begin = code(_ENABLE_FLOATING)
        program = begin + 2 * one_pass + code([_HERE])
        simulator = self._simulator(
            program.ljust(_FUNCTION, b"\0") + function if function else program, frame
        )
        cycles = []
        for passes in (1, 2):
            end = _BASE + len(begin) + passes * len(one_pass)
            reason, _ = simulator.run_to(pc=end, cycles=_MAX_CYCLES)
            if reason != "pc":
                raise BlockError("the simulated core traps, or never reaches the end of the code")
            cycles.append(int(simulator.cycle))
        return cycles[1] - cycles[0]

    def _simulator(self, program: bytes, frame: Frame) -> Any:
        import rvsim  # noqa: PLC0415  an extra of its own

        pattern = frame.memory.to_bytes(8, "little") * (2 * _PATTERN_BYTES // 8)
        parts = ((_BASE, program), (START - _PATTERN_BYTES, pattern))
        return rvsim.Simulator(self._config, elf_data=_executable(parts))


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
