"""Listings of machine code by disassemblers, without the bytes, and the bytes beside them to compare with.

Large libraries are sampled: stretches of 8 KiB, each from the beginning of an exported function on, drawn
with a fixed seed until there are so many instructions.
"""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from benchmarks import MissingDataError

SEED = 25
STRETCH = 8192
"""Bytes of code that are disassembled in one go."""

_PLACES = ("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib")
_FUNCTION = re.compile(r"^([0-9a-f]{16}) .{6}F \.text\t", re.MULTILINE)
_WITH_BYTES = re.compile(r"\s*([0-9a-f]+):\s+((?:[0-9a-f]{2}[ \t])+)\s*(.*)")
_PREFIXES = re.compile(rb"[\xf0\xf2\xf3\x66\x67\x2e\x36\x3e\x26\x64\x65\x40-\x4f]+")
_NO_INSTRUCTION = re.compile(r"\(bad\)|\.byte|<unknown>|\.\.\.")


@dataclass(frozen=True)
class Disassembler:
    """A program and how it is asked for a syntax: `name` is what the case is called."""

    name: str
    program: str
    options: tuple[str, ...]


DISASSEMBLERS = (
    Disassembler("objdump", "objdump", ("-w",)),
    Disassembler("objdump-intel", "objdump", ("-w", "-M", "intel")),
    Disassembler("llvm-objdump", "llvm-objdump", ()),
    Disassembler("llvm-objdump-intel", "llvm-objdump", ("-M", "intel")),
)


@dataclass(frozen=True)
class Stretch:
    """A part of a listing: its lines as they are printed without bytes, and the bytes by address."""

    lines: tuple[str, ...]
    code: dict[int, bytes]


def libraries() -> dict[str, Path]:
    """The C library, its mathematics, and the linear algebra that numpy brings along, by short names.

    Raises `MissingDataError` where one of them is nowhere.
    """
    found = {name: _loaded(name) for name in ("libc.so.6", "libm.so.6")}
    numpy = find_spec("numpy")
    assert numpy is not None, "numpy is a dependency"
    assert numpy.origin is not None, "numpy is a package of files"
    beside = Path(numpy.origin).parent.parent / "numpy.libs"
    found["openblas"] = next(iter(sorted(beside.glob("*openblas*"))), None)
    if missing := [name for name, path in found.items() if path is None]:
        raise MissingDataError(f"nowhere is {', '.join(missing)}")
    return {name.partition(".")[0]: path for name, path in found.items() if path is not None}


def stretches(library: Path, by: Disassembler, wanted: int) -> Iterator[Stretch]:
    """Parts of a library's listing with `wanted` instructions or a few more, fewer where it has no more."""
    if shutil.which(by.program) is None:
        raise MissingDataError(f"{by.program} is not installed")
    total = 0
    for first in _starts(library):
        if total >= wanted:
            return
        found = _stretch(library, by, first)
        total += len(found.code)
        yield found


@cache
def _starts(library: Path) -> Sequence[int]:
    """Addresses of functions that are a stretch apart at least, in the order in which they are drawn."""
    table = _told(["objdump", "-T", str(library)])
    addresses = sorted({int(address, 16) for address in _FUNCTION.findall(table)})
    apart: list[int] = []
    for address in addresses:
        if not apart or address >= apart[-1] + STRETCH:
            apart.append(address)
    random.Random(f"{SEED} {library.name}").shuffle(apart)
    return tuple(apart)


def listed(library: Path, by: Disassembler, part: Sequence[str]) -> Stretch:
    """What a disassembler lists of a file, or of the part that its own options name."""
    asked = [by.program, "-d", *by.options, *part]
    code = {}
    for line in _told([*asked, str(library)]).splitlines():
        row = _WITH_BYTES.fullmatch(line)
        if row is not None and not _NO_INSTRUCTION.search(row[3]):
            code[int(row[1], 16)] = bytes.fromhex(row[2])
    lines = _told([*asked, "--no-show-raw-insn", str(library)]).splitlines()
    return Stretch(tuple(lines), _with_prefixes(code))


def _with_prefixes(code: Mapping[int, bytes]) -> dict[int, bytes]:
    """The same with prefixes that have a line of their own, as `lock`, joined with what follows them.

    Where nothing follows, as at the end of a stretch, they are no instruction.
    """
    found: dict[int, bytes] = {}
    before = 0
    for address, bytes_ in code.items():
        if found and _PREFIXES.fullmatch(found[before]) and address == before + len(found[before]):
            found[before] += bytes_
        else:
            found[address], before = bytes_, address
    return {address: bytes_ for address, bytes_ in found.items() if not _PREFIXES.fullmatch(bytes_)}


def _stretch(library: Path, by: Disassembler, first: int) -> Stretch:
    part = [f"--start-address={first:#x}", f"--stop-address={first + STRETCH:#x}"]
    found = listed(library, by, part)
    code = dict(found.code)
    if code:
        code.pop(max(code))  # which the end may have cut in two, or has no line behind it
    return Stretch(found.lines, code)


def _told(command: Sequence[str]) -> str:
    return subprocess.run(command, capture_output=True, check=True, text=True, errors="replace").stdout


def _loaded(name: str) -> Path | None:
    """Where a library is that this process could load."""
    found = (Path(place) / name for place in _PLACES)
    return next((path for path in found if path.exists()), None)
