"""The few AArch64 instructions that frames and known blocks are made of, as 32-bit words.

Registers are numbers; names are those of Arm's reference manual (section C6.2 and C7.2 of the Armv8-A ARM).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

SP = 31  # the register number that means the stack pointer in these instructions
NOP = 0xD503201F  # `nop`
RET = 0xD65F03C0  # `ret`
MRS_X9_FPCR = 0xD53B4409  # `mrs x9, fpcr`
MSR_FPCR_X9 = 0xD51B4409  # `msr fpcr, x9`


def code(words: Iterable[int]) -> bytes:
    """Words in the order of execution, little end first."""
    return b"".join(word.to_bytes(4, "little") for word in words)


def set_register(number: int, value: int) -> Iterator[int]:
    """`movz` and as many `movk` as the value needs."""
    value %= 2**64
    parts = [(shift, value >> 16 * shift & 0xFFFF) for shift in range(4)]
    nonzero_parts = [(shift, part) for shift, part in parts if part] or [(0, 0)]
    for k, (shift, part) in enumerate(nonzero_parts):
        yield (0xF2800000 if k else 0xD2800000) | shift << 21 | part << 5 | number


def add(target: int, first: int, second: int) -> int:
    return 0x8B000000 | second << 16 | first << 5 | target


def add_immediate(target: int, source: int, value: int) -> Iterator[int]:
    """`add xT, xS, #value`, or `sub` where it is negative; two of them beyond 4095. |value| < 2^24."""
    base = 0xD1000000 if value < 0 else 0x91000000
    low, high = abs(value) & 0xFFF, abs(value) >> 12
    yield base | low << 10 | source << 5 | target
    if high:
        yield base | 1 << 22 | high << 10 | target << 5 | target


def move(target: int, source: int) -> int:
    return 0xAA0003E0 | source << 16 | target


def multiply(target: int, first: int, second: int) -> int:
    return 0x1B007C00 | second << 16 | first << 5 | target


def load(target: int, base: int, offset: int) -> int:
    """`ldr xT, [xB, #offset]`; the offset is a multiple of 8."""
    return 0xF9400000 | offset // 8 << 10 | base << 5 | target


def store(source: int, base: int, offset: int) -> int:
    """`str xS, [xB, #offset]`; the offset is a multiple of 8."""
    return 0xF9000000 | offset // 8 << 10 | base << 5 | source


def store_pair(first: int, second: int, offset: int) -> int:
    """`stp xA, xB, [sp, #offset]`."""
    return 0xA9000000 | (offset // 8 & 0x7F) << 15 | second << 10 | SP << 5 | first


def load_pair(first: int, second: int, offset: int) -> int:
    """`ldp xA, xB, [sp, #offset]`."""
    return 0xA9400000 | (offset // 8 & 0x7F) << 15 | second << 10 | SP << 5 | first


def store_vectors(first: int, second: int, offset: int) -> int:
    """`stp dA, dB, [sp, #offset]`."""
    return 0x6D000000 | (offset // 8 & 0x7F) << 15 | second << 10 | SP << 5 | first


def load_vectors(first: int, second: int, offset: int) -> int:
    """`ldp dA, dB, [sp, #offset]`."""
    return 0x6D400000 | (offset // 8 & 0x7F) << 15 | second << 10 | SP << 5 | first


def set_bit(number: int, bit: int) -> int:
    """`orr xN, xN, #1 << bit`."""
    return 0xB2400000 | (-bit & 63) << 16 | number << 5 | number


def fill_vector(vector: int, source: int) -> int:
    return 0x4E080C00 | source << 5 | vector


def multiply_vectors(target: int, first: int, second: int) -> int:
    return 0x6E20DC00 | second << 16 | first << 5 | target


def branch_while_not_zero(number: int, distance: int) -> int:
    """`cbnz xN, . + distance` bytes."""
    return 0xB5000000 | (distance // 4 & 0x7FFFF) << 5 | number


def address(number: int, distance: int) -> int:
    """`adr xN, . + distance` bytes."""
    return 0x10000000 | (distance & 3) << 29 | (distance >> 2 & 0x7FFFF) << 5 | number
