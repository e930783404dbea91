"""Programs of AArch64 for tests, run by QEMU's user mode."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from inference.isa import llvm_mc
from tests.isa.emulated_program import WORDS, Outcome, run_program

MACHINE = 183  # AArch64 in ELF files
_SAVED = range(19, 30)
_SAVED_VECTORS = range(8, 16)

QEMU = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")
needs_llvm_mc = pytest.mark.skipif(llvm_mc.program() is None, reason="llvm-mc is not installed")
needs_qemu = pytest.mark.skipif(
    QEMU is None or llvm_mc.program() is None, reason="qemu-aarch64 or llvm-mc is not installed"
)


def machine_code(lines: Sequence[str]) -> bytes:
    """The code of some lines of assembly, labels included."""
    done = llvm_mc.assemble(lines, "aarch64", "cortex-a72")
    assert not done.refused, {lines[number]: reason for number, reason in done.refused.items()}
    return done.code


def run(functions: Sequence[bytes], path: Path, iterations: int = 3) -> Outcome:
    """Call each function once; the executable is written to the path."""
    assert QEMU is not None

    def driver(table: int, count: int, state: int, middle: int) -> bytes:
        return machine_code(list(_driver(table, count, state, middle, iterations)))

    return run_program(functions, path, driver=driver, machine=MACHINE, qemu=[QEMU])


def _constant(register: str, value: int) -> Iterator[str]:
    yield f"movz {register}, #{value & 0xFFFF}"
    yield f"movk {register}, #{value >> 16 & 0xFFFF}, lsl #16"


def _driver(table: int, count: int, state: int, middle: int, iterations: int) -> Iterator[str]:
    yield "1:"
    yield from _constant("x10", state)
    yield from ("ldr x11, [x10]", *_constant("x12", count), "cmp x11, x12", "b.hs 3f")
    yield from (*_constant("x13", table), "ldr x14, [x13, x11, lsl #3]", "mov x9, sp", "str x9, [x10, #8]")
    yield from (f"mov x{number}, #{0x1100 + number}" for number in _SAVED)
    for number in _SAVED_VECTORS:
        yield from (f"mov x9, #{0x2200 + number}", f"fmov d{number}, x9")
    yield from (f"mov x0, #{iterations}", *_constant("x1", middle), "blr x14")
    yield from (*_constant("x10", state), "mov x9, sp", "ldr x11, [x10, #8]", "cmp x9, x11", "b.ne 2f")
    for number in _SAVED:
        yield from (f"mov x9, #{0x1100 + number}", f"cmp x{number}, x9", "b.ne 2f")
    for number in _SAVED_VECTORS:
        yield from (f"mov x9, #{0x2200 + number}", f"fmov x11, d{number}", "cmp x9, x11", "b.ne 2f")
    yield from ("mrs x9, fpcr", "cbnz x9, 2f")
    yield from ("ldr x11, [x10]", "add x11, x11, #1", "str x11, [x10]")
    yield from ("mov x0, #1", "mov x1, x10", "mov x2, #1", "mov x8, #64", "svc #0", "b 1b")
    yield from ("2:", "mov x0, #1", "mov x8, #93", "svc #0")
    yield from (
        "3:",
        "mov x0, #1",
        *_constant("x1", middle),
        f"mov x2, #{8 * WORDS}",
        "mov x8, #64",
        "svc #0",
    )
    yield from ("mov x0, #0", "mov x8, #93", "svc #0")
