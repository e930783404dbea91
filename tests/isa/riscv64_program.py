"""Programs of RISC-V for tests, run by QEMU's user mode."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from inference.isa import llvm_mc
from tests.isa.emulated_program import WORDS, Outcome, run_program

MACHINE = 243  # RISC-V in ELF files
_FEATURES = "+m,+a,+f,+d,+zba,+zbb,+zbs,+zfh"
_SAVED = (8, 9, *range(18, 28))  # of general-purpose and of floating-point registers
_POINTERS = (3, 4)  # of globals and of the thread

QEMU = shutil.which("qemu-riscv64-static") or shutil.which("qemu-riscv64")
needs_llvm_mc = pytest.mark.skipif(llvm_mc.program() is None, reason="llvm-mc is not installed")
needs_qemu = pytest.mark.skipif(
    QEMU is None or llvm_mc.program() is None, reason="qemu-riscv64 or llvm-mc is not installed"
)


def _cpus() -> frozenset[str]:
    if QEMU is None:
        return frozenset()
    listed = subprocess.run([QEMU, "-cpu", "help"], check=False, capture_output=True, text=True)
    return frozenset(listed.stdout.split())


HAS_ZICOND = "max" in _cpus()
"""Since 8.2, QEMU has the processor of all extensions; Debian 12's 7.2 has neither it nor Zicond."""
EVERYTHING = "max" if HAS_ZICOND else "rv64,zba=true,zbb=true,zbs=true,Zfh=true"


def machine_code(lines: Sequence[str]) -> bytes:
    """The code of some lines of assembly, labels included; no instruction is compressed."""
    done = llvm_mc.assemble(lines, "riscv64", "", _FEATURES)
    assert not done.refused, {lines[number]: reason for number, reason in done.refused.items()}
    return done.code


def run(functions: Sequence[bytes], path: Path, iterations: int = 3, cpu: str = "") -> Outcome:
    """Call each function once; the executable is written to the path. `cpu`: QEMU's processor."""
    assert QEMU is not None

    def driver(table: int, count: int, state: int, middle: int) -> bytes:
        return machine_code(list(_driver(table, count, state, middle, iterations)))

    qemu = [QEMU, *(["-cpu", cpu] if cpu else [])]
    return run_program(functions, path, driver=driver, machine=MACHINE, qemu=qemu)


def _driver(table: int, count: int, state: int, middle: int, iterations: int) -> Iterator[str]:
    yield "1:"
    yield from (f"li x5, {state}", "ld x6, 0(x5)", f"li x7, {count}", "bgeu x6, x7, 3f")
    yield from (f"li x28, {table}", "slli x29, x6, 3", "add x28, x28, x29", "ld x28, 0(x28)", "sd sp, 8(x5)")
    yield from (f"li x{number}, {0x3300 + number}" for number in _POINTERS)
    for number in _SAVED:
        yield from (f"li x{number}, {0x1100 + number}", f"li x5, {0x2200 + number}", f"fmv.d.x f{number}, x5")
    yield from (f"li x10, {iterations}", f"li x11, {middle}", "jalr ra, x28, 0")
    yield from (f"li x5, {state}", "ld x6, 8(x5)", "bne sp, x6, 2f")
    yield from (
        line for number in _POINTERS for line in (f"li x6, {0x3300 + number}", f"bne x{number}, x6, 2f")
    )
    for number in _SAVED:
        yield from (f"li x6, {0x1100 + number}", f"bne x{number}, x6, 2f")
        yield from (f"li x6, {0x2200 + number}", f"fmv.x.d x7, f{number}", "bne x6, x7, 2f")
    yield from ("frrm x6", "bnez x6, 2f")
    yield from ("ld x6, 0(x5)", "addi x6, x6, 1", "sd x6, 0(x5)")
    yield from ("li a0, 1", "mv a1, x5", "li a2, 1", "li a7, 64", "ecall", "j 1b")
    yield from ("2:", "li a0, 1", "li a7, 93", "ecall")
    yield from ("3:", "li a0, 1", f"li a1, {middle}", f"li a2, {8 * WORDS}", "li a7, 64", "ecall")
    yield from ("li a0, 0", "li a7, 93", "ecall")
