"""Programs of AArch64 for tests: a static executable with given functions, run by QEMU's user mode.

The program calls one function after another as C would, with (iterations, middle of the memory), looks
whether everything that belongs to the caller is as it was, and writes a byte for each. It ends with status 0,
or 1 where something has changed; in the end it writes the first eight words of the memory's upper half.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from inference.isa import llvm_mc

BASE = 0x400000
HEADERS = 0x1000
MEMORY = 64 * 1024
WORDS = 8
_SAVED = range(19, 30)
_SAVED_VECTORS = range(8, 16)

QEMU = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")
needs_llvm_mc = pytest.mark.skipif(llvm_mc.program() is None, reason="llvm-mc is not installed")
needs_qemu = pytest.mark.skipif(
    QEMU is None or llvm_mc.program() is None, reason="qemu-aarch64 or llvm-mc is not installed"
)


@dataclass(frozen=True)
class Outcome:
    """How a program ended: `returned` functions came back, `words` are what is in memory afterwards."""

    status: int
    returned: int
    words: tuple[int, ...]


def machine_code(lines: Sequence[str]) -> bytes:
    """The code of some lines of assembly, labels included."""
    done = llvm_mc.assemble(lines, "aarch64", "cortex-a72")
    assert not done.refused, {lines[number]: reason for number, reason in done.refused.items()}
    return done.code


def run(functions: Sequence[bytes], path: Path, iterations: int = 3) -> Outcome:
    """Call each function once; the executable is written to the path."""
    length = -(-len(machine_code(list(_driver(0, 0, 0, 0, iterations)))) // 64) * 64
    table = BASE + HEADERS + length
    first = table + -(-8 * len(functions) // 64) * 64
    addresses, code = [], bytearray()
    for function in functions:
        addresses.append(first + len(code))
        code += function + b"\0" * (-len(function) % 64)
    state = -(-(first + len(code)) // 0x1000) * 0x1000
    middle = state + 0x1000 + MEMORY // 2
    driver = machine_code(list(_driver(table, len(functions), state, middle, iterations)))
    pointers = b"".join(address.to_bytes(8, "little") for address in addresses)
    content = driver.ljust(length, b"\0") + pointers.ljust(first - table, b"\0") + bytes(code)
    path.write_bytes(elf_headers(len(content), middle + MEMORY // 2 - BASE - HEADERS) + content)
    path.chmod(0o755)
    assert QEMU is not None
    done = subprocess.run([QEMU, path], capture_output=True, timeout=60, check=False)
    words = done.stdout[len(functions) :] if done.returncode == 0 else b""
    returned = len(functions) if done.returncode == 0 else len(done.stdout)
    return Outcome(done.returncode, returned, struct.unpack(f"<{len(words) // 8}Q", words))


def elf_headers(size: int, memory: int) -> bytes:
    ident = b"\x7fELF\x02\x01\x01" + bytes(9)
    start = BASE + HEADERS
    elf = struct.pack("<16sHHIQQQIHHHHHH", ident, 2, 183, 1, start, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    segment = struct.pack("<IIQQQQQQ", 1, 7, HEADERS, start, start, size, memory, 0x1000)
    return (elf + segment).ljust(HEADERS, b"\0")


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
