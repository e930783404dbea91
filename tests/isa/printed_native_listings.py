"""Drawn code as native disassemblers, debuggers and profilers print it; lines with code are told apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from tests.isa.printed_listings import BASE, JUMPS, Line


class Printed(NamedTuple):
    """A line of a listing. `number`: of the instruction whose line it is, None for others."""

    text: str
    number: int | None = None


BYTES = "@"
Form = Callable[[Sequence[Line]], Iterator[Printed]]


def _rows(row: Callable[[Line], str], *before: str) -> Form:
    """A form with a line per instruction; those that `row` divides go on in lines of their own."""

    def form(lines: Sequence[Line]) -> Iterator[Printed]:
        yield from map(Printed, before)
        for number, line in enumerate(lines):
            for text in row(line).split("\n"):
                yield Printed(text, number)

    return form


def _offset(line: Line) -> str:
    return f"+{line.address - BASE:#x}" if line.address > BASE else ""


def _divided(line: Line, size: int, row: str, rest: str, *, mark: str = "") -> str:
    """A row with the first bytes, and lines with the rest below: `BYTES` stands for them."""
    parts = [line.code[at : at + size].hex(" ") for at in range(0, len(line.code), size)]
    first = f"{parts[0]}{mark if len(parts) > 1 else ''}"
    return "\n".join([row.replace(BYTES, first), *(rest.replace(BYTES, part) for part in parts[1:])])


def _cut(code: bytes) -> str:
    """As radare2 shows bytes: at most six."""
    return code.hex() if len(code) <= 6 else f"{code[:6].hex()}."


def _target(line: Line) -> int | None:
    return line.address + 2 + line.code[1] - 256 if line.code[0] in JUMPS.values() else None


def _profile(lines: Sequence[Line]) -> Iterator[Printed]:
    """`perf annotate --stdio2`: only targets of jumps have addresses."""
    yield Printed("Percent")
    yield Printed("            0000000000401120 <f>:")
    targets = {_target(line) for line in lines}
    for number, line in enumerate(lines):
        place = f"{line.address - BASE:x}:" if line.address in targets else ""
        target = _target(line)
        text = line.att if target is None else f"{line.att.split()[0]} {target - BASE:x}"
        yield Printed(f"  1.25  {place:>5} {'' if target is None else '↑ '}{text}", number)


def _vtune(lines: Sequence[Line]) -> Iterator[Printed]:
    yield Printed("Address\tSource Line\tAssembly\tClockticks: Self")
    for number, line in enumerate(lines):
        target = _target(line)
        text = line.att if target is None else f"{line.att.split()[0]} {target:#x} <Block 1>"
        yield Printed(f"{line.address:#x}\t{7 + number}\t{text}\t{100 + number}", number)


def _go_compiler(lines: Sequence[Line]) -> Iterator[Printed]:
    code = b"".join(line.code for line in lines)
    yield Printed(f"main.f STEXT nosplit size={len(code)} args=0x8 locals=0x0")
    yield Printed("\t0x0000 00000 (/tmp/main.go:6)\tTEXT\tmain.f(SB), NOSPLIT|ABIInternal, $0-8")
    for number, line in enumerate(lines):
        offset = line.address - BASE
        yield Printed(f"\t0x{offset:04x} {offset:05} (/tmp/main.go:{number})\tFROBQ\tAX, BX", number)
    for at in range(0, len(code), 16):
        part = code[at : at + 16].hex(" ")
        yield Printed(f"\t0x{at:04x} {part:<47}  {'.' * 16}")


def _go_objdump(line: Line) -> str:
    return f"  main.go:7\t\t0x{line.address:x}\t\t{line.code.hex()}\t\tFROBQ 0x8(SP), AX\t\t"


NATIVE_FORMS: dict[str, Form] = {
    "objdump -S": _rows(
        lambda line: f"  {line.address:x}:\t{line.bytes} \t{line.att}",
        "0000000000401120 <f>:",
        "f():",
        "/tmp/a.c:5",
        "    for (int i = 0; i < n; i++) {",
    ),
    "objdump --visualize-jumps": _rows(
        lambda line: f"  {line.address:x}:\t|  /-> {line.bytes} \t{line.intel}", "0000000000401120 <f>:"
    ),
    "objdump --prefix-addresses": _rows(lambda line: f"{line.address:016x} <f{_offset(line)}> {line.att}"),
    "objdump --no-addresses": _rows(lambda line: _divided(line, 7, f"\t{BYTES} \t{line.att}", f"\t{BYTES} ")),
    "objdump, divided": _rows(
        lambda line: "\n".join(
            f"  {line.address + at:x}:\t{line.code[at : at + 7].hex(' ')} \t{'' if at else line.att}"
            for at in range(0, len(line.code), 7)
        ),
        "0000000000401120 <f>:",
    ),
    "gdb x/i": _rows(lambda line: f"=> 0x{line.address:x} <f+{line.address - BASE}>:\t{line.intel}"),
    "lldb": _rows(
        lambda line: f"->  0x{line.address:x} <+{line.address - BASE}>: {line.bytes:<24} {line.att}", "a`f:"
    ),
    "lldb at rest": _rows(lambda line: f"a.out[0x{line.address:x}] <+{line.address - BASE}>: {line.intel}"),
    "pwndbg": _rows(lambda line: f" ► 0x{line.address:x} <f+{line.address - BASE}>    {line.intel}"),
    "perf -n": _rows(
        lambda line: f"          12 :   {line.address:x}:   {line.att}",
        " Samples |\tSource code & Disassembly of a.out for cycles (9 samples, percent: local period)",
        "             : 5    0000000000401120 <f>:",
    ),
    "perf --asm-raw": _rows(
        lambda line: f"    0.50 :   {line.address:x}:  {line.bytes:<24} {line.att}",
        " Percent |\tSource code & Disassembly of a.out for cycles (9 samples, percent: local period)",
    ),
    "perf --stdio2": _profile,
    "perf script": _rows(
        lambda line: (
            f"  a 12 [000] 1.5:   {line.address:x} f+{line.address - BASE:#x} (/tmp/a) insn: {line.bytes}"
        )
    ),
    "radare2": _rows(
        lambda line: f"│       ╎   0x{line.address:08x}      {_cut(line.code):<15} {line.intel}    ; comment",
        "┌ 58: int f (int argc, char **argv);",
    ),
    "rizin": _rows(lambda line: f"│       ╭─> 0x{line.address:08x}      {line.intel}", "╭ f(int argc);"),
    "ghidra": _rows(
        lambda line: _divided(
            line,
            3,
            f"        {line.address:08x} {BYTES} {line.intel.upper()}",
            f"                 {BYTES}",
        ).replace("0X", "0x")
    ),
    "ida": _rows(
        lambda line: _divided(
            line,
            6,
            f".text:{line.address:016X} {BYTES} {line.intel}",
            f".text:{line.address:016X} {BYTES}",
            mark="+",
        )
    ),
    "dumpbin": _rows(
        lambda line: _divided(
            line,
            6,
            f"  {line.address:016X}: {BYTES} {line.intel}",
            f"                    {BYTES}",
        ),
        "f:",
    ),
    "windbg": _rows(
        lambda line: (
            f"{line.address >> 32:08x}`{line.address & 0xFFFFFFFF:08x} {line.code.hex():<16} {line.intel}"
        ),
        "a!f [C:\\a.c @ 4]:",
    ),
    "x64dbg": _rows(lambda line: f"{line.address:016X} | {line.bytes:<24} | {line.intel:<40} | a comment"),
    "vtune": _vtune,
    "go tool objdump": _rows(_go_objdump, "TEXT main.f(SB) /tmp/main.go"),
    "go build -gcflags=-S": _go_compiler,
}
"""{program: what it prints}."""
