"""RISC-V of 64 bits: the machine code around a loop body, the clock, and the blocks with known answers.

The iterations are counted by `addi` and `bnez`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from inference.agent import emulation, riscv
from inference.agent.checks import COPIES, ReferenceBlock, item
from inference.agent.protocol import Frame
from inference.agent.reading import Json
from inference.agent.targets import riscv64_blocks, riscv_calls, riscv_vectors
from inference.agent.targets import riscv_words as words
from inference.agent.targets.riscv_calls import REGISTERS, SCRATCH
from inference.agent.targets.target import BLOCKS_OF_WORDS, CHAIN_LENGTH, FrameError
from inference.agent.targets.words import code

ISA = "RISC-V"
MACHINES = ("riscv64",)
HAS_CPUID = False
emulator = emulation.emulator
BLOCKS = riscv64_blocks

CHAIN = code([words.add(5, 5, 6)] * CHAIN_LENGTH)  # add x5, x5, x6

SYNCHRONISE = bytes.fromhex(
    "13060000"  # li a2, 0: also on processors where the process runs later
    "93083010"  # li a7, 259: riscv_flush_icache, whose other arguments are those of this function
    "73000000"  # ecall
    "67800000"  # ret
)
"""An instruction (fence.i) would hold for the processor of that moment; the kernel may move the process."""

MEMORY, COUNTER = 26, 27
_ITERATIONS, _MEMORY = 10, 11  # the arguments
_LINE = 64  # bytes of a cache line
_UNTOUCHABLE = {0, words.SP, 3, 4}
_FARTHEST = 1 << 20  # bytes that a jump leads back


def function(frame: Frame, body: bytes) -> bytes:
    """The whole function; the loop starts at a cache line."""
    if len(body) % 2 or len(body) >= _FARTHEST - _LINE:
        raise FrameError(f"a loop body of {ISA} has an even number of bytes below a million, not {len(body)}")
    memory, counter = _number(frame.memory_register), _number(frame.counter_register)
    start = list(riscv_calls.save())
    start += _floating_point(frame)
    start += riscv_vectors.fill(frame.vectors, SCRATCH)
    start += [words.move(counter, _ITERATIONS), words.move(memory, _MEMORY)]
    start += _general(frame, {memory, counter})
    start += [words.NOP] * (-len(start) % (_LINE // 4))
    return code(start) + body + code([*words.count_down(counter, len(body)), *riscv_calls.restore()])


def _floating_point(frame: Frame) -> Iterator[int]:
    yield from riscv_calls.fill_floating(frame.vector)
    for name, pattern in frame.vectors.items():
        if riscv_vectors.is_vector(name):
            continue
        if (
            name[:1] != "f"
            or not name[1:].isdecimal()
            or not 0 <= int(name[1:3]) < REGISTERS
            or len(name) > 3
        ):
            raise FrameError(f"there is no floating-point register {name!r}")
        yield from words.set_register(SCRATCH, pattern)
        yield words.move_to_floating(int(name[1:]), SCRATCH)


def _general(frame: Frame, reserved: set[int]) -> Iterator[int]:
    memory = _number(frame.memory_register)
    for name in [*frame.addresses, *frame.registers]:
        if _number(name) in reserved:
            raise FrameError(f"the register {name} is reserved")
    for name, offset in frame.addresses.items():
        if abs(offset) >= frame.memory_bytes:
            raise FrameError(f"the address in {name} is outside the region of {frame.memory_bytes} bytes")
        yield from words.add_immediate(_number(name), memory, offset)
    for name, value in frame.registers.items():
        yield from words.set_register(_number(name), value)


def _number(name: str) -> int:
    number = int(name[1:]) if name[:1] == "x" and name[1:].isdecimal() and len(name) <= 3 else 0
    if not 0 <= number < REGISTERS or number in _UNTOUCHABLE:
        raise FrameError(f"there is no general-purpose register {name!r}, or it may not be used")
    return number


_TARGETS = (5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17)  # registers of the reference blocks, written in turn
_SOURCE = 6  # a register that they only read
_TARGETS_FLOATING = tuple(range(2, 26))  # the same of floating-point registers; 0 and 1 are only read

ADDITIONS = ReferenceBlock(
    "additions",
    item("additions", [code([words.add(_t, _t, _SOURCE)]) for _t in (_TARGETS * 10)[:COPIES]]),
    (1 / 2, 1, 1 / 3, 1 / 4, 1 / 6, 1 / 8),
)
MULTIPLICATIONS = ReferenceBlock(
    "multiplications",
    item(
        "multiplications", [code([words.multiply(_TARGETS[k % 12], _SOURCE, _SOURCE)]) for k in range(COPIES)]
    ),
    (1, 2, 1 / 2, 1 / 4),
)
LOADS = ReferenceBlock(
    "loads",
    item("loads", [code([words.load(_TARGETS[k % 12], MEMORY, 8 * (k % 8))]) for k in range(COPIES)]),
    (1, 1 / 2, 1 / 3, 1 / 4),
)
FLOATING_POINT = ReferenceBlock(
    "floating-point multiplications",
    item(
        "floating-point multiplications",
        [code([words.multiply_doubles(_TARGETS_FLOATING[k % 24], 0, 1)]) for k in range(COPIES)],
    ),
    (1, 2, 1 / 2, 1 / 4),
)


def frame(*, avx: bool = False) -> Frame:
    """What the checks need around them; there is no AVX here, whatever is said."""
    del avx
    return Frame(isa=ISA, memory_register=f"x{MEMORY}", counter_register=f"x{COUNTER}", avx=False)


def checks(*, avx: bool = False) -> tuple[ReferenceBlock, ...]:
    """The blocks with known answers; every processor that Linux distributions support has these."""
    del avx
    return (ADDITIONS, MULTIPLICATIONS, LOADS, FLOATING_POINT)


def description(processor: Mapping[str, str], emulated: str) -> Json:
    return {**riscv.description(processor, emulated), "emulated": emulated, **BLOCKS_OF_WORDS}


def documented(facts: Mapping[str, Any]) -> Mapping[str, float]:
    """Nothing: no times of these blocks are documented here for a core."""
    del facts
    return {}
