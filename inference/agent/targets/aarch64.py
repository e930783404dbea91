"""AArch64: the machine code around a loop body, the clock, and the blocks with known answers.

The function follows the procedure call standard (AAPCS64): x19 to x30, the stack pointer and the lower halves
of v8 to v15 belong to the caller. Denormal floating-point numbers count as zero (FPCR.FZ). x18 is left alone:
some systems keep something in it.

The iterations are counted by `sub` and `cbnz`, which touch no flags. Sources of the expected times: Arm's
software optimisation guides for Cortex-A72, Cortex-A76 and Neoverse N1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from inference.agent import arm, emulation
from inference.agent.checks import COPIES, ReferenceBlock, item
from inference.agent.protocol import Frame
from inference.agent.reading import Json
from inference.agent.targets import aarch64_blocks, aarch64_calls, words
from inference.agent.targets.target import BLOCKS_OF_WORDS, CHAIN_LENGTH, FrameError

ISA = "AArch64"
MACHINES = ("aarch64", "arm64")
HAS_CPUID = False
emulator = emulation.emulator
BLOCKS = aarch64_blocks

CHAIN = words.code([words.add(0, 0, 1)] * CHAIN_LENGTH)  # add x0, x0, x1

# mrs x3, ctr_el0
# ubfx x4, x3, #16, #4; mov x5, #4; lsl x4, x5, x4; sub x5, x4, #1; bic x5, x0, x5
# 1: dc cvau, x5; add x5, x5, x4; cmp x5, x1; b.lo 1b; dsb ish
# and x4, x3, #15; mov x5, #4; lsl x4, x5, x4; sub x5, x4, #1; bic x5, x0, x5
# 2: ic ivau, x5; add x5, x5, x4; cmp x5, x1; b.lo 2b; dsb ish; isb; ret
SYNCHRONISE = bytes.fromhex(
    "23003bd5 644c50d3 850080d2 a420c49a 850400d1 0500258a 257b0bd5 a500048b "
    "bf0001eb a3ffff54 9f3b03d5 640c4092 850080d2 a420c49a 850400d1 0500258a "
    "25750bd5 a500048b bf0001eb a3ffff54 9f3b03d5 df3f03d5 c0035fd6 "
)

MEMORY, COUNTER = 27, 28
_ITERATIONS, _MEMORY = 0, 1  # the arguments
_LINE = 64  # bytes of a cache line
_UNTOUCHABLE = {18, words.SP}


def function(frame: Frame, body: bytes) -> bytes:
    """The whole function; the loop starts at a cache line."""
    if len(body) % 4:
        raise FrameError(f"code of AArch64 has 4 bytes per instruction, and this loop body {len(body)}")
    memory, counter = _number(frame.memory_register), _number(frame.counter_register)
    start = [*aarch64_calls.save(), *aarch64_calls.surroundings(frame.vector)]
    start += [words.move(counter, _ITERATIONS), words.move(memory, _MEMORY)]
    start += _registers(frame, {memory, counter})
    start += [words.NOP] * (-len(start) % (_LINE // 4))
    closing = [
        *words.add_immediate(counter, counter, -1),
        words.branch_while_not_zero(counter, -len(body) - 4),
    ]
    return words.code(start) + body + words.code([*closing, *aarch64_calls.restore()])


def _registers(frame: Frame, reserved: set[int]) -> Iterator[int]:
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
    number = int(name[1:]) if name[:1] == "x" and name[1:].isdecimal() and len(name) <= 3 else words.SP
    if not 0 <= number < words.SP or number in _UNTOUCHABLE:
        raise FrameError(f"there is no general-purpose register {name!r}, or it may not be used")
    return number


_TARGETS = (0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)  # registers of the reference blocks, written in turn
_SOURCE = 1  # a register that they only read
_TARGET_VECTORS = tuple(range(2, 26))  # the same of vector registers; 0 and 1 are only read

ADDITIONS = ReferenceBlock(
    "additions",
    item("additions", [words.code([words.add(_t, _t, _SOURCE)]) for _t in (_TARGETS * 10)[:COPIES]]),
    (1 / 2, 1, 1 / 3, 1 / 4, 1 / 6, 1 / 8),
)
MULTIPLICATIONS = ReferenceBlock(
    "multiplications",
    item(
        "multiplications",
        [words.code([words.multiply(_TARGETS[k % 12], _SOURCE, _SOURCE)]) for k in range(COPIES)],
    ),
    (1, 2, 1 / 2, 1 / 4),
)
LOADS = ReferenceBlock(
    "loads",
    item("loads", [words.code([words.load(_TARGETS[k % 12], MEMORY, 8 * (k % 8))]) for k in range(COPIES)]),
    (1, 1 / 2, 1 / 3, 1 / 4),
)
VECTORS = ReferenceBlock(
    "vector multiplications",
    item(
        "vector multiplications",
        [words.code([words.multiply_vectors(_TARGET_VECTORS[k % 24], 0, 1)]) for k in range(COPIES)],
    ),
    (1, 2, 4, 1 / 2, 1 / 4),
)


def frame(*, avx: bool = False) -> Frame:
    """What the checks need around them; there is no AVX here, whatever is said."""
    del avx
    return Frame(isa=ISA, memory_register=f"x{MEMORY}", counter_register=f"x{COUNTER}", avx=False)


def checks(*, avx: bool = False) -> tuple[ReferenceBlock, ...]:
    """The blocks with known answers; every AArch64 processor under Linux has vectors."""
    del avx
    return (ADDITIONS, MULTIPLICATIONS, LOADS, VECTORS)


def description(processor: Mapping[str, str], emulated: str) -> Json:
    """Name and numbers; all vectors are equally wide, and no flag tells of a hypervisor."""
    return {**arm.description(processor, emulated), "emulated": emulated, **BLOCKS_OF_WORDS}


_A72 = {"additions": 1 / 2, "multiplications": 1.0, "loads": 1.0, "vector multiplications": 1.0}
_A76 = {"additions": 1 / 3, "multiplications": 1.0, "loads": 1 / 2, "vector multiplications": 1 / 2}

_ARM = 0x41  # implementer code of Arm in MIDR_EL1
_DOCUMENTED: Mapping[tuple[int, int], Mapping[str, float]] = {
    (_ARM, 0xD08): _A72,
    (_ARM, 0xD0B): _A76,  # Cortex-A76
    (_ARM, 0xD0C): _A76,  # Neoverse N1, the same core for servers
}


def documented(facts: Mapping[str, Any]) -> Mapping[str, float]:
    return _DOCUMENTED.get((facts.get("implementer") or 0, facts.get("part") or 0), {})
