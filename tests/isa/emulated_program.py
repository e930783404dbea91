"""Programs for tests: a static executable with given functions, run by QEMU's user mode.

The program calls one function after another as C would, with (iterations, middle of the memory), looks
whether everything that belongs to the caller is as it was, and writes a byte for each. It ends with status 0,
or 1 where something has changed; in the end it writes the first eight words of the memory's upper half.
"""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

BASE = 0x400000
HEADERS = 0x1000
MEMORY = 64 * 1024
WORDS = 8

Driver = Callable[[int, int, int, int], bytes]
"""The code that calls the functions, for (address of their table, their number, the state, the memory)."""


@dataclass(frozen=True)
class Outcome:
    """How a program ended: `returned` functions came back, `words` are what is in memory afterwards."""

    status: int
    returned: int
    words: tuple[int, ...]


def run_program(
    functions: Sequence[bytes], path: Path, *, driver: Driver, machine: int, qemu: Sequence[str]
) -> Outcome:
    """Call each function once; the executable is written to the path. `machine`: its number in ELF files."""
    length = -(-len(driver(BASE, len(functions), BASE, BASE)) // 64) * 64 + 64
    table = BASE + HEADERS + length
    first = table + -(-8 * len(functions) // 64) * 64
    addresses, code = [], bytearray()
    for function in functions:
        addresses.append(first + len(code))
        code += function + b"\0" * (-len(function) % 64)
    state = -(-(first + len(code)) // 0x1000) * 0x1000
    middle = state + 0x1000 + MEMORY // 2
    pointers = b"".join(address.to_bytes(8, "little") for address in addresses)
    start = driver(table, len(functions), state, middle)
    assert len(start) <= length
    content = start.ljust(length, b"\0") + pointers.ljust(first - table, b"\0") + bytes(code)
    headers = elf_headers(machine, len(content), middle + MEMORY // 2 - BASE - HEADERS)
    path.write_bytes(headers + content)
    path.chmod(0o755)
    done = subprocess.run([*qemu, path], capture_output=True, timeout=60, check=False)
    words = done.stdout[len(functions) :] if done.returncode == 0 else b""
    returned = len(functions) if done.returncode == 0 else len(done.stdout)
    return Outcome(done.returncode, returned, struct.unpack(f"<{len(words) // 8}Q", words))


def elf_headers(machine: int, size: int, memory: int) -> bytes:
    ident = b"\x7fELF\x02\x01\x01" + bytes(9)
    start = BASE + HEADERS
    elf = struct.pack("<16sHHIQQQIHHHHHH", ident, 2, machine, 1, start, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    segment = struct.pack("<IIQQQQQQ", 1, 7, HEADERS, start, start, size, memory, 0x1000)
    return (elf + segment).ljust(HEADERS, b"\0")
