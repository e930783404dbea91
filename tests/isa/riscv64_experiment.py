"""The registers of RISC-V in experiments with instructions; see `tests.isa.access_experiment`.

The record's address is in x31, which no experiment uses. Floating-point registers hold small numbers of one
width in a state, boxed as the architecture wants them, or random bits.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from random import Random

from tests.isa.access_experiment import MEMORY_BYTES, Bank, Case, Machine
from tests.isa.riscv64_program import EVERYTHING, MACHINE, QEMU, machine_code

POINTER = 31
_GENERAL, _FLOATS = range(1, POINTER), range(32)
_FLOAT, _MEMORY = 256, 512
_MARK, _MORE = _MEMORY + MEMORY_BYTES, _MEMORY + MEMORY_BYTES + 8
_FIELDS, _SHORT_FIELDS = (7, 15, 20, 27), (2, 7)
_NO_OPERATION = bytes.fromhex("0100")
_SC, _SC_BITS, _LR, _LR_BITS = 0x1800202F, 0xF800607F, 0x1000202F, 31 << 15 | 1 << 12
"""`sc`, the bits that all of its kinds have, and `lr`, behind which alone it stores."""


def _numbers_in(code: bytes) -> set[int]:
    word = int.from_bytes(code, "little")
    if len(code) == 4:
        return {word >> low & 31 for low in _FIELDS}
    return {
        *(word >> low & 31 for low in _SHORT_FIELDS),
        *(8 + (word >> low & 7) for low in _SHORT_FIELDS),
        1,
        2,
    }


def _value(dice: Random, state: int) -> int:
    if state % 4 == 0 or dice.randrange(12) == 0:
        return dice.getrandbits(64)
    number = dice.randrange(-24, 25) / 4
    if state % 4 == 1:
        return int.from_bytes(struct.pack("<d", number), "little")
    if state % 4 == 2:
        return 0xFFFFFFFF << 32 | int.from_bytes(struct.pack("<f", number), "little")
    return 0xFFFFFFFFFFFF << 16 | int.from_bytes(struct.pack("<e", number), "little")


def _program_of(case: Case) -> bytes:
    word = int.from_bytes(case.code, "little")
    before = (_LR | word & _LR_BITS).to_bytes(4, "little") if word & _SC_BITS == _SC else b""
    padding = _NO_OPERATION if len(case.code) == 2 else b""
    code = _LOAD + before + case.code + padding + _STORE
    return code + _branch(-len(code))


def _branch(distance: int) -> bytes:
    """`bnez x1` that goes back, and `j` where it is too far: here always over a `beqz`."""
    return machine_code(["beqz x1, 8", f"j {distance - 4}"])


def _lines(integer: str, floating: str) -> Iterator[str]:
    yield from (f"{floating} f{number}, {_FLOAT + 8 * number}(x31)" for number in _FLOATS)
    yield from (f"{integer} x{number}, {8 * number}(x31)" for number in _GENERAL)


def _entry(data: int) -> bytes:
    return machine_code([f"li x31, {data}"])


def _leave(data: int, size: int) -> bytes:
    return machine_code(
        [
            *("li a0, 1", f"li a1, {data}", f"li a2, {size}"),
            *("1: li a7, 64", "ecall", "add a1, a1, a0", "sub a2, a2, a0", "li a0, 1", "bgtz a2, 1b"),
            *("li a0, 0", "li a7, 93", "ecall"),
        ]
    )


_LOAD = machine_code(list(_lines("ld", "fld"))) if QEMU else b""
_STORE = (
    machine_code(
        [
            *(f"sd zero, {_MARK}(x31)", *_lines("sd", "fsd")),
            *(f"lbu x1, {_MORE}(x31)", f"addi x31, x31, {_MORE + 8}"),
        ]
    )
    if QEMU
    else b""
)
RISCV = Machine(
    MACHINE,
    Bank("general", _GENERAL, 0, 8),
    Bank("float", _FLOATS, _FLOAT, 8),
    None,
    _MEMORY,
    _numbers_in,
    _value,
    _program_of,
    _entry,
    _leave,
    [QEMU or "", "-cpu", EVERYTHING],
)
