"""Machine code from text, and names of machine code, by LLVM's `llvm-mc`, which may not be installed.

The text is printed by this program from values that it has parsed. An assembler includes files when it is
told to, and repeats what it is told to repeat: so llvm-mc opens nothing but its libraries where the kernel
can hold it to that (`inference.sandbox`), and what it takes in, keeps in memory and prints is limited.
"""

from __future__ import annotations

import re
import shutil
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from inference.containment import LIBRARIES, CallOutcome, CannotStartError, FileAccess, Limits, places_of, run

PROGRAM = "llvm-mc"
LIMITS = Limits(seconds=10.0, memory=1024, output=64, processes=1, open_files=32)
"""Of one call; a hundred thousand instructions take less than a second."""
LINES_PER_SECOND = 2000
"""More lines have more time."""
MOST_TEXT = 32 << 20
"""Bytes of one call."""

_NEWEST = 30
_OLDEST = 11
_ERROR = re.compile(r"^<stdin>:(\d+):\d+: error: (.*)$", re.MULTILINE)
_TEXT = b".text"
_OPCODE = re.compile(r"<MCInst #\d+ (\w+)")
_OPERAND = re.compile(r"<MCOperand (\w+):([^>\n]*)>")  # bounded: one instruction
_VERSION = re.compile(r"version (\d+(?:\.\d+)*)")
_MARKERS = {
    "x86_64": (bytes.fromhex("0f1f8078563412"), "305419896("),  # nopl 0x12345678(%rax)
    "aarch64": (bytes.fromhex("405c38d5"), "S3_0_C5_C12_2"),
}
"""By architecture, an instruction that stands behind each that is asked about, and how its text is found."""


class AssemblerError(RuntimeError):
    """llvm-mc is missing, hangs, or does not do what it should; the text says what would help."""


@dataclass(frozen=True)
class Assembled:
    """What became of some lines: the code of all of them, or what is wrong with which.

    `refused`: {number of the line, from 0: llvm-mc's words}; where there are any, there is no code.
    """

    code: bytes = b""
    refused: Mapping[int, str] = field(default_factory=dict)


def program() -> str | None:
    """Where llvm-mc is, None where it is not: by its plain name, or the newest with a version behind it."""
    names = [PROGRAM, *(f"{PROGRAM}-{version}" for version in range(_NEWEST, _OLDEST - 1, -1))]
    return next((path for path in map(shutil.which, names) if path), None)


def assemble(lines: Sequence[str], triple: str, cpu: str, features: str = "") -> Assembled:
    """One call for all lines, one instruction each. Raises `AssemblerError`."""
    path = program()
    if path is None:
        raise AssemblerError(
            f"{PROGRAM} is not installed where this site runs, and assembles {triple}: install LLVM's tools "
            "(Debian: apt install llvm) and start the site again"
        )
    done = _called(path, ["-filetype=obj", "-o", "-"], lines, triple, cpu, features)
    if done.status == 0:
        return Assembled(_section(done.output))
    said = done.complaints.decode(errors="replace")
    refused = {int(number) - 1: reason for number, reason in _ERROR.findall(said)}
    if not refused:
        raise AssemblerError(f"{path} failed: {said.strip().partition(chr(10))[0][:200] or done.ending}")
    return Assembled(refused=refused)


@dataclass(frozen=True)
class LlvmInstruction:
    """An instruction as LLVM has it: its `opcode`, and (kind, text) of each operand: `("Imm", "64")`.

    Registers are numbers or, in newer releases, names; 0 or "" stands for none.
    """

    opcode: str
    operands: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class LlvmNames:
    """LLVM's words for some instructions, None for what it does not know, and which llvm-mc said so."""

    instructions: Sequence[LlvmInstruction | None]
    told_by: str


def instructions_of(codes: Sequence[bytes], triple: str, cpu: str, features: str = "") -> LlvmNames:
    """What LLVM makes of each of these instructions; one call for all. Raises `AssemblerError`.

    One that LLVM takes for several, as it does where there is a prefix, is none: the bare instruction would
    be another.
    """
    path = program()
    if path is None:
        raise AssemblerError(f"{PROGRAM} is not installed where this site runs")
    marker, sign = _MARKERS[triple.partition("-")[0]]
    lines = [f"[{_hexadecimal(code)}]\n[{_hexadecimal(marker)}]" for code in codes]
    done = _called(path, ["-disassemble", "-show-inst"], lines, triple, cpu, features)
    parts = done.output.decode(errors="replace").split(sign)
    if len(parts) != len(codes) + 1:  # one that it does not know ends older releases with status 1
        raise AssemblerError(f"{path} cannot disassemble: {done.complaints.decode(errors='replace')[:200]}")
    found: list[LlvmInstruction | None] = []
    for part in parts[:-1]:
        # The marker's own line says its opcode behind the sign, the instruction's come on lines of their own.
        own = part.partition("\n")[2] if found else part
        names = list(_OPCODE.finditer(own))
        known = LlvmInstruction(names[0][1], _OPERAND.findall(own, names[0].end())) if names else None
        found.append(known if len(names) == 1 else None)
    version = _called(path, ["--version"], (), triple, cpu).output.decode(errors="replace")
    number = _VERSION.search(version)
    return LlvmNames(found, f"{PROGRAM} {number[1]}" if number else PROGRAM)


def _hexadecimal(code: bytes) -> str:
    return ",".join(f"{byte:#04x}" for byte in code)


def _called(
    path: str, arguments: Sequence[str], lines: Sequence[str], triple: str, cpu: str, features: str = ""
) -> CallOutcome:
    text = ("\n".join(lines) + "\n").encode()
    if len(text) > MOST_TEXT:
        raise AssemblerError(
            f"{len(text):,} bytes are too many for one call of {PROGRAM}: {MOST_TEXT:,} at most"
        )
    command = [path, f"-triple={triple}", f"-mcpu={cpu}", *arguments]
    if features:
        command.append(f"-mattr={features}")
    try:
        limits = replace(LIMITS, seconds=LIMITS.seconds + len(lines) / LINES_PER_SECOND)
        done = run(command, text, limits=limits, access=_access(path))
    except CannotStartError as error:
        raise AssemblerError(str(error)) from error
    if done.late or done.flooded:
        raise AssemblerError(f"{PROGRAM} was ended for {len(lines)} lines: {done.ending}")
    return done


def _access(path: str) -> FileAccess:
    """The program with what lies around it, and libraries of the system."""
    return replace(LIBRARIES, reads=(*LIBRARIES.reads, *places_of(path)))


def _section(elf: bytes) -> bytes:
    """The code in a relocatable 64-bit ELF file. Raises `AssemblerError`."""
    try:
        table, size, count, names_at = (
            *struct.unpack_from("<Q", elf, 0x28),
            *struct.unpack_from("<HHH", elf, 0x3A),
        )
        headers = [struct.unpack_from("<IIQQQQ", elf, table + k * size) for k in range(count)]
        names = headers[names_at][4]
        for name, _, _, _, offset, length in headers:
            start = names + name
            if elf[start : elf.index(b"\0", start)] == _TEXT:
                return elf[offset : offset + length]
    except (struct.error, IndexError, ValueError):
        pass
    raise AssemblerError(f"{PROGRAM} gave no object file that can be read")
