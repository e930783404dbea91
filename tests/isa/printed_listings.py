"""Drawn code as compilers, disassemblers, debuggers and profilers print it, an instruction a line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st
from iced_x86 import Decoder, Formatter, FormatterSyntax

BASE = 0x401120
STRAIGHT = [
    bytes.fromhex(digits)
    for digits in (
        "4801d8 480fafc3 ffc9 90 c5fa100c86 c4e279a90c82 488b45f8 4c8d0c8500000000 f348ab f08300 01 "
        "660f6fc1 c5ed588f80000000 4839d8 83c001 f20f38f15e40 62f16c585808 48b88877665544332211 6690 "
        "0fb60417 31c0 4883ec28"
    )
    .replace("f08300 01", "f0830001")
    .split()
]
"""Straight code of several lengths and extensions, a string instruction and a locked one among it."""

JUMPS = {"jne": 0x75, "jl": 0x7C, "ja": 0x77}


@dataclass(frozen=True)
class Line:
    """An instruction: where it lies, its bytes, and its text in both syntaxes."""

    address: int
    code: bytes
    intel: str
    att: str

    @property
    def bytes(self) -> str:
        return self.code.hex(" ")


def _bare_digits(line: Line) -> str:
    """Intel syntax with hexadecimal numbers that nothing marks, as .NET's tools write it."""
    formatter = Formatter(FormatterSyntax.INTEL)
    formatter.hex_prefix, formatter.hex_suffix = "", ""
    formatter.uppercase_hex, formatter.add_leading_zero_to_hex_numbers = True, True
    return formatter.format(Decoder(64, line.code, ip=line.address).decode())


def _formatters() -> tuple[Formatter, Formatter]:
    intel, att = Formatter(FormatterSyntax.INTEL), Formatter(FormatterSyntax.GAS)
    for one in (intel, att):
        one.hex_prefix, one.hex_suffix = "0x", ""
        one.space_after_operand_separator = False
        one.uppercase_hex = False
        one.branch_leading_zeros = False
    att.gas_show_mnemonic_size_suffix = True
    return intel, att


def lines_of(codes: Sequence[bytes]) -> list[Line]:
    """The instructions one behind another from `BASE` on."""
    intel, att = _formatters()
    decoder = Decoder(64, b"".join(codes), ip=BASE)
    found = []
    for one in decoder:
        begin = one.ip - BASE
        code = b"".join(codes)[begin : begin + one.len]
        found.append(Line(one.ip, code, intel.format(one), att.format(one)))
    return found


@st.composite
def loops(draw: st.DrawFn) -> list[Line]:
    """A few instructions, and mostly a jump from the last to one of them."""
    codes = draw(st.lists(st.sampled_from(STRAIGHT), min_size=2, max_size=6))
    if draw(st.integers(0, 3)):
        begin = draw(st.integers(0, len(codes) - 1))
        distance = -sum(map(len, codes[begin:])) - 2
        codes.append(bytes([draw(st.sampled_from(list(JUMPS.values()))), distance & 0xFF]))
    return lines_of(codes)


def _labelled(lines: Sequence[Line], syntax: str, label: str = ".L3") -> list[str]:
    """Text with a label before the target of the jump."""
    target = next((_target(line) for line in lines if _target(line)), 0)
    found = []
    for line in lines:
        text = {"intel": line.intel, "att": line.att, "bare": _bare_digits(line)}[syntax]
        if line.address == target:
            found.append(f"{label}:")
        found.append(f"\t{text.split()[0]}\t{label}" if _target(line) else f"\t{text}")
    return found


def _target(line: Line) -> int:
    return line.address + 2 + line.code[1] - 256 if line.code[0] in JUMPS.values() else 0


def _words(code: bytes) -> str:
    """The bytes in groups, as HotSpot prints them."""
    words = [code[at : at + 2].hex() for at in range(0, len(code), 2)]
    return " | ".join(" ".join(words[at : at + 2]) for at in range(0, len(words), 2))


def _each(form: Callable[[Line], str], *before: str) -> Callable[[Sequence[Line]], list[str]]:
    return lambda lines: [*before, *(form(line) for line in lines)]


FORMS: dict[str, Callable[[Sequence[Line]], list[str]]] = {
    "intel": lambda lines: _labelled(lines, "intel"),
    "att": lambda lines: _labelled(lines, "att"),
    "compiler": lambda lines: ["\t.text", "\t.globl f", "f:", *_labelled(lines, "att"), "\t.size f, .-f"],
    "objdump": _each(
        lambda line: f"  {line.address:x}:\t{line.bytes} \t{line.att}",
        "a.out:     file format elf64-x86-64",
        "0000000000401120 <f>:",
    ),
    "objdump-bare": _each(lambda line: f"  {line.address:x}:\t{line.intel}", "0000000000401120 <f>:"),
    "gdb": _each(
        lambda line: f"   0x{line.address:016x} <+{line.address - BASE}>:\t{line.att}",
        "Dump of assembler code for function f:",
    ),
    "gdb-raw": _each(
        lambda line: f"   0x{line.address:016x} <+{line.address - BASE}>:\t{line.bytes}\t{line.intel}"
    ),
    "perf": _each(
        lambda line: f"   12.50 :   {line.address:x}:   {line.att}",
        " Percent |\tSource code & Disassembly of a.out for cycles (9 samples, percent: local period)",
        "         : 5    0000000000401120 <f>:",
    ),
    "perf-numbers": _each(
        lambda line: f"          12 :   {line.address:x}:   {line.att}",
        " Samples |\tSource code & Disassembly of a.out for cycles (9 samples, percent: local period)",
        "    0.00 : 5    0000000000401120 <f>:",
    ),
    "jmh": _each(lambda line: f"   3.46%     0x{line.address:016x}: {line.att}  ;*iadd", "c2, level 4"),
    "xed": _each(lambda line: f"XDIS {line.address:x}: BASE BASE {line.code.hex()} {line.intel}"),
    "ida": _each(lambda line: f".text:{line.address:016X} {line.bytes} {line.intel}"),
    "columns": _each(lambda line: f"{line.address:016x} {line.bytes} {line.intel}"),
    "luajit": _each(lambda line: f"{line.address:08x}  {line.intel}", "---- TRACE 1 mcode 58"),
    "radare2": _each(lambda line: f"   0x{line.address:08x}      {line.code.hex():<14} {line.intel}"),
    "jitdisasm": lambda lines: ["; Total bytes of code 9", *_labelled(lines, "intel", "G_M000_IG03")],
    "jitdisasm-bytes": _each(
        lambda line: f"       {line.code.hex().upper():<20} {line.intel}", "; Total bytes of code 9"
    ),
    "benchmarkdotnet": lambda lines: ["; Total bytes of code 9", *_labelled(lines, "bare", "M00_L00")],
    "windbg": _each(
        lambda line: (
            f"{line.address >> 32:08x}`{line.address & 0xFFFFFFFF:08x} {line.code.hex():<15} {line.intel}"
        )
    ),
    "v8": _each(
        lambda line: (
            f"0x{line.address:x}     {line.address - BASE:x}  {line.code.hex():<20} REX.W {line.intel}"
        ),
        "Instructions (size = 9)",
    ),
    "hotspot": _each(
        lambda line: f"  0x{line.address:016x}: {_words(line.code)}", "[MachCode]", "[Verified Entry Point]"
    ),
    "nasm": _each(lambda line: f"     7 {line.address:08X} {line.code.hex().upper():<18}  {line.intel}"),
    "gas": _each(lambda line: f"   7 {line.address:04x} {line.code.hex().upper()}  \t{line.att}"),
    "masm": _each(
        lambda line: f" {line.address:08X}  {line.bytes.upper()}\t    {line.intel}",
        "Microsoft (R) Macro Assembler (x64)   Page 1 - 1",
    ),
    "msvc": _each(lambda line: f"  {line.address:05x}\t{line.bytes}\t {line.intel}", "; 2    : f();"),
}
"""{program: what it prints of instructions, in lines}."""
