"""Runs a filter of system calls as the kernel would, for any machine."""

from __future__ import annotations

import re
import struct
from pathlib import Path

from inference.sandbox import call_filter

_GENERIC = Path("/usr/include/asm-generic/unistd.h")
HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": _GENERIC,
    "riscv64": _GENERIC,
}
"""The kernel's own tables (Debian: linux-libc-dev)."""

_FOR_32_BITS = range(403, 424)
_PLACEHOLDERS = {"syscalls", "arch_specific_syscall"}


def kernel_calls(machine: str) -> dict[str, int]:
    """The number of every system call of a machine, by its name, as the installed headers have them."""
    text = HEADERS[machine].read_text()
    definitions = dict(re.findall(r"#define (__NR(?:3264)?_\w+)\s+(\w+)", text))
    calls: dict[str, int] = {}
    for name, value in definitions.items():
        number = definitions.get(value, value)
        if not name.startswith("__NR_") or not number.isdigit():
            continue
        if int(number) not in calls.values() and int(number) not in _FOR_32_BITS:
            calls[name.removeprefix("__NR_")] = int(number)
    return {name: number for name, number in calls.items() if name not in _PLACEHOLDERS}


def verdict(program: bytes, machine: str, number: int, *arguments: int) -> int:
    """What the filter answers to a call."""
    words = [*arguments, 0, 0, 0, 0, 0, 0][:6]
    facts = struct.pack("<IIQ6Q", number, call_filter.CONVENTIONS[machine], 0, *words)
    instructions = [struct.unpack_from("HBBI", program, place) for place in range(0, len(program), 8)]
    place, word = 0, 0
    while True:
        code, if_so, if_not, value = instructions[place]
        place += 1
        if code == 0x06:
            return value
        if code == 0x20:
            word = struct.unpack_from("<I", facts, value)[0]
        else:
            holds = {0x15: word == value, 0x35: word >= value, 0x45: bool(word & value)}[code]
            place += if_so if holds else if_not
