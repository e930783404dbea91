"""Assembles text and names machine code by LLVM's `llvm-mc`, which may not be installed.

The text is generated from parsed values. An assembler can include files and repeat code when told to, so
llvm-mc may open only its libraries where the kernel can enforce that (`inference.sandbox`), and its input,
memory and output are limited.
"""

from __future__ import annotations

import re
import shutil
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from inference.containment import (
    LIBRARIES,
    CallOutcome,
    CannotStartError,
    FileAccess,
    Limits,
    program_paths,
    run,
)

PROGRAM = "llvm-mc"
LIMITS = Limits(seconds=10.0, memory=1024, output=64, processes=1, open_files=32)
"""Limits of one call; a hundred thousand instructions take less than a second."""

LINES_PER_SECOND = 2000
"""Calls with more lines get more time."""

MAX_TEXT = 32 << 20
"""Bytes per call."""

_NEWEST = 30  # release whose program is looked for by its name, before it exists
_OLDEST = 11  # release that writes what is read here
_ERROR = re.compile(r"^<stdin>:(\d+):\d+: error: (.*)$", re.MULTILINE)  # line and message
_TEXT = b".text"
_OPCODE = re.compile(r"<MCInst #\d+ (\w+)")
_OPERAND = re.compile(r"<MCOperand (\w+):([^>\n]*)>")  # bounded: one instruction
_VERSION = re.compile(r"version (\d+(?:\.\d+)*)")


class AssemblerError(RuntimeError):
    """llvm-mc is missing, hangs or fails; the message says what would help."""


@dataclass(frozen=True)
class AssemblyResult:
    """The code of all lines, or the lines that were refused.

    `refused`: {line index, from 0: llvm-mc's message}; if it is not empty, there is no code.
    """

    code: bytes = b""
    refused: Mapping[int, str] = field(default_factory=dict)


def program() -> str | None:
    """The path of llvm-mc, None where it is missing: its plain name, or the newest with a version suffix."""
    names = [PROGRAM, *(f"{PROGRAM}-{version}" for version in range(_NEWEST, _OLDEST - 1, -1))]
    return next((path for path in map(shutil.which, names) if path), None)


def assemble(lines: Sequence[str], triple: str, cpu: str, features: str = "") -> AssemblyResult:
    """Assemble lines of one instruction each in one call. Raises `AssemblerError`."""
    path = program()
    if path is None:
        raise AssemblerError(
            f"{PROGRAM} is not installed where this site runs, and assembles {triple}: install LLVM's tools "
            "(Debian: apt install llvm) and start the site again"
        )
    outcome = _run_llvm_mc(path, ["-filetype=obj", "-o", "-"], lines, triple, cpu, features)
    if outcome.status == 0:
        return AssemblyResult(_text_section(outcome.stdout))
    errors = outcome.stderr.decode(errors="replace")
    refused = {int(number) - 1: reason for number, reason in _ERROR.findall(errors)}
    if not refused:
        raise AssemblerError(f"{path} failed: {errors.strip().partition(chr(10))[0][:200] or outcome.ending}")
    return AssemblyResult(refused=refused)


@dataclass(frozen=True)
class LlvmInstruction:
    """An instruction in LLVM's terms: its `opcode`, and (kind, text) of each operand.

    An operand is, for instance, `("Imm", "64")`.

    Registers are numbers or, in newer releases, names; 0 or "" is no register.
    """

    opcode: str
    operands: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class LlvmNames:
    """LLVM's terms for some instructions, None for unknown ones, and the version of llvm-mc."""

    instructions: Sequence[LlvmInstruction | None]
    tool_version: str


def instructions_of(
    codes: Sequence[bytes], triple: str, cpu: str, features: str, *, marker: tuple[bytes, str]
) -> LlvmNames:
    """LLVM's terms for each of these instructions, in one call.

    Args:
        codes: Machine code of one instruction each.
        triple, cpu, features: The target, as llvm-mc's options.
        marker: An instruction that is inserted behind each one, and the text that marks it.

    Returns:
        None for one that LLVM decodes as several, for example with a prefix: without it the instruction would
        be another.

    Raises:
        AssemblerError: llvm-mc is missing or fails.
    """
    path = program()
    if path is None:
        raise AssemblerError(f"{PROGRAM} is not installed where this site runs")
    marker_code, marker_text = marker
    lines = [f"[{_hexadecimal(code)}]\n[{_hexadecimal(marker_code)}]" for code in codes]
    outcome = _run_llvm_mc(path, ["-disassemble", "-show-inst"], lines, triple, cpu, features)
    parts = outcome.stdout.decode(errors="replace").split(marker_text)
    if len(parts) != len(codes) + 1:  # one that it does not know ends older releases with status 1
        raise AssemblerError(f"{path} cannot disassemble: {outcome.stderr.decode(errors='replace')[:200]}")
    instructions: list[LlvmInstruction | None] = []
    for part in parts[:-1]:
        # The marker's own line says its opcode behind the sign, the instruction's come on lines of their own.
        dump = part.partition("\n")[2] if instructions else part
        names = list(_OPCODE.finditer(dump))
        instruction = LlvmInstruction(names[0][1], _OPERAND.findall(dump, names[0].end())) if names else None
        instructions.append(instruction if len(names) == 1 else None)
    version = _run_llvm_mc(path, ["--version"], (), triple, cpu).stdout.decode(errors="replace")
    number = _VERSION.search(version)
    return LlvmNames(instructions, f"{PROGRAM} {number[1]}" if number else PROGRAM)


def _hexadecimal(code: bytes) -> str:
    return ",".join(f"{byte:#04x}" for byte in code)


def _run_llvm_mc(
    path: str, arguments: Sequence[str], lines: Sequence[str], triple: str, cpu: str, features: str = ""
) -> CallOutcome:
    """Call llvm-mc on these lines, with time in proportion to their number.

    Raises:
        AssemblerError: The text is too long, or the call fails or is ended.
    """
    text = ("\n".join(lines) + "\n").encode()
    if len(text) > MAX_TEXT:
        raise AssemblerError(
            f"{len(text):,} bytes are too many for one call of {PROGRAM}: {MAX_TEXT:,} at most"
        )
    command = [path, f"-triple={triple}", f"-mcpu={cpu}", *arguments]
    if features:
        command.append(f"-mattr={features}")
    try:
        limits = replace(LIMITS, seconds=LIMITS.seconds + len(lines) / LINES_PER_SECOND)
        outcome = run(command, text, limits=limits, access=_access(path))
    except CannotStartError as error:
        raise AssemblerError(str(error)) from error
    if outcome.timed_out or outcome.output_exceeded:
        raise AssemblerError(f"{PROGRAM} was ended for {len(lines)} lines: {outcome.ending}")
    return outcome


def _access(path: str) -> FileAccess:
    """Read access to llvm-mc, its installation, and the system's libraries; nothing can be written."""
    return replace(LIBRARIES, reads=(*LIBRARIES.reads, *program_paths(path)))


def _text_section(elf: bytes) -> bytes:
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
    raise AssemblerError(f"{PROGRAM} produced no readable object file")
