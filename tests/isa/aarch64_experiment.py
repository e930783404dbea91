"""The registers of AArch64 in experiments with instructions; see `tests.isa.access_experiment`."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from tests.isa.aarch64_program import MACHINE, QEMU, machine_code
from tests.isa.access_experiment import MEMORY_BYTES, Bank, Case, Machine

GENERAL, VECTORS = 31, 32
_FLAGS, _VECTOR, _MEMORY = 8 * GENERAL, 256, 768
_MARK, _MORE = _MEMORY + MEMORY_BYTES, _MEMORY + MEMORY_BYTES + 8
RECORD = _MORE + 8
_FIELDS = (0, 5, 10, 16)  # lowest bits of register numbers in an instruction word


def _numbers_in(code: bytes) -> set[int]:
    word = int.from_bytes(code, "little")
    return {word >> low & 31 for low in _FIELDS}


def _vector(dice: Random, state: int) -> int:
    if dice.randrange(12) == 0:
        return 0
    if state % 3 == 0:
        return dice.getrandbits(128)
    if state % 3 == 1:
        return sum((0x3400 + dice.randrange(0x1000) | dice.getrandbits(1) << 15) << 16 * k for k in range(8))
    return sum(dice.randrange(24) << 8 * k for k in range(16))


_NOP = 0xD503201F
_EXCLUSIVE, _EXCLUSIVE_STORE = 0x3FE0_0000, 0x0800_0000
_EXCLUSIVE_PAIR, _EXCLUSIVE_STORE_OF_PAIR = 0xBFE0_0000, 0x8820_0000
"""Bits of `stxr` and the like, which store only behind a load of the same place."""


def _program_of(case: Case) -> bytes:
    """Load a record, execute the instruction, store the record, go on while there are more of this case."""
    word = int.from_bytes(case.code, "little")
    before = _NOP
    if word & _EXCLUSIVE == _EXCLUSIVE_STORE:
        before = word | 1 << 22 | 31 << 16 | 31
    elif word & _EXCLUSIVE_PAIR == _EXCLUSIVE_STORE_OF_PAIR:
        before = word | 1 << 22 | 31 << 16 | 31 << 10 | 31
    load, store = _AROUND
    return load + before.to_bytes(4, "little") + case.code + store


def _lines(transfer: str) -> Iterator[str]:
    for number in range(0, VECTORS, 2):
        yield f"{transfer}p q{number}, q{number + 1}, [sp, #{_VECTOR + 16 * number}]"
    for number in range(0, GENERAL - 1, 2):
        yield f"{transfer}p x{number}, x{number + 1}, [sp, #{8 * number}]"
    yield f"{transfer}r x30, [sp, #240]"


def _make_around() -> tuple[bytes, bytes]:
    lines = [
        *("1:", f"ldr x0, [sp, #{_FLAGS}]", "msr nzcv, x0", *_lines("ld"), "nop", "nop"),
        *(f"str xzr, [sp, #{_MARK}]", *_lines("st"), "mrs x0, nzcv", f"str x0, [sp, #{_FLAGS}]"),
        *(f"ldrb w0, [sp, #{_MORE}]", f"add sp, sp, #{RECORD}", "cbnz w0, 1b"),
    ]
    code = machine_code(lines)
    middle = 4 * (3 + len(list(_lines("ld"))) - 1)
    return code[:middle], code[middle + 8 :]


_AROUND = _make_around() if QEMU else (b"", b"")


def _entry(data: int) -> bytes:
    return machine_code([f"movz x9, #{data & 0xFFFF}", f"movk x9, #{data >> 16}, lsl #16", "mov sp, x9"])


def _leave(data: int, size: int) -> bytes:
    return machine_code(
        [
            "mov x0, #1",
            *(f"movz x1, #{data & 0xFFFF}", f"movk x1, #{data >> 16}, lsl #16"),
            *(f"movz x2, #{size & 0xFFFF}", f"movk x2, #{size >> 16}, lsl #16"),
            *("1: mov x8, #64", "svc #0", "add x1, x1, x0", "subs x2, x2, x0", "mov x0, #1", "b.hi 1b"),
            *("mov x0, #0", "mov x8, #93", "svc #0"),
        ]
    )


AARCH64 = Machine(
    MACHINE,
    Bank("general", range(GENERAL), 0, 8),
    Bank("vector", range(VECTORS), _VECTOR, 16),
    _FLAGS,
    _MEMORY,
    _numbers_in,
    _vector,
    _program_of,
    _entry,
    _leave,
    [QEMU or "", "-cpu", "max"],
)
