"""Machine code from assembly text by LLVM's assembler `llvm-mc`, a program that may not be installed."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

PROGRAM = "llvm-mc"
TIMEOUT = 60.0
"""Seconds; a hundred thousand instructions take less than one."""

_NEWEST = 30
_OLDEST = 11
_ERROR = re.compile(r"^<stdin>:(\d+):\d+: error: (.*)$", re.MULTILINE)
_TEXT = b".text"


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
    text = "\n".join(lines) + "\n"
    command = [path, f"-triple={triple}", f"-mcpu={cpu}", "-filetype=obj", "-o", "-"]
    if features:
        command.append(f"-mattr={features}")
    try:
        done = subprocess.run(  # noqa: S603  a program of this system, its arguments are ours
            command,
            input=text.encode(),
            capture_output=True,
            timeout=TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise AssemblerError(f"{PROGRAM} did not end within {TIMEOUT:g} s for {len(lines)} lines") from None
    except OSError as error:
        raise AssemblerError(f"{path} cannot be started: {error.strerror}") from error
    if done.returncode == 0:
        return Assembled(_section(done.stdout))
    said = done.stderr.decode(errors="replace")
    refused = {int(number) - 1: reason for number, reason in _ERROR.findall(said)}
    if not refused:
        raise AssemblerError(f"{path} failed: {said.strip()[:200] or f'status {done.returncode}'}")
    return Assembled(refused=refused)


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
