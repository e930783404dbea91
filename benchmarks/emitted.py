"""Which instructions compilers emit, and how many of them the starter set has.

Counted in the programs and libraries of this computer, from the beginning of each file's code: instructions
that can stand in a loop body, so no jumps, calls, push or pop. Legacy SSE counts as the VEX-encoded
instruction of the same name, which stands for it in the set.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from iced_x86 import Decoder

from benchmarks import MissingDataError, Result
from inference.isa.code.binaries.headers import BinaryFileError
from inference.isa.code.binaries.program import read_program
from inference.isa.x86.blocks.scheme_lookup import scheme_of
from inference.isa.x86.scheme_set import scheme_and_form
from inference.isa.x86.starter_set import STARTER_SET

_PLACES = ("/usr/bin/*", "/usr/lib/x86_64-linux-gnu/*.so*")
_FILES, _QUICK_FILES = 750, 10
_MAX_BYTES = 200_000
"""Of the code of a file, so that no large program decides alone."""

_LARGEST_FILE = 40 << 20  # bytes; larger ones take long to read
_ELSEWHERE = ("changes the control flow", "moves the stack pointer")
_SHOWN = 20  # missing schemes that a result names, the most frequent ones


def run(quick: bool) -> Iterator[Result]:
    """The share of the starter set in per cent; `missing`: the most frequent schemes that it lacks."""
    counts: Counter[str] = Counter()
    files = 0
    for content in _programs():
        counts.update(_schemes(content))
        files += 1
        if files == (_QUICK_FILES if quick else _FILES):
            break
    if not counts:
        raise MissingDataError(f"there are no programs in {' and '.join(_PLACES)}")
    inside = {scheme: number for scheme, number in counts.items() if _stands_in_a_body(scheme)}
    total = sum(inside.values())
    missing = [(scheme, number) for scheme, number in inside.items() if not _is_in_set(scheme)]
    share = 100 * (1 - sum(number for _, number in missing) / total)
    most = sorted(missing, key=lambda entry: -entry[1])[:_SHOWN]
    more = {
        "instructions": counts.total(),
        "files": files,
        "missing": {scheme: round(100 * number / total, 3) for scheme, number in most},
    }
    yield Result("starter set", share, "%", more=more)


def _programs() -> Iterator[bytes]:
    paths = [path for pattern in _PLACES for path in sorted(Path("/").glob(pattern.removeprefix("/")))]
    random.Random(1).shuffle(paths)
    for path in paths:
        if path.is_file() and not path.is_symlink() and path.stat().st_size < _LARGEST_FILE:
            yield path.read_bytes()


def _schemes(content: bytes) -> Iterator[str]:
    """The schemes of all instructions in a program's .text, as often as they occur; none for other files."""
    try:
        program = read_program(content)
    except BinaryFileError:
        return
    for region in program.regions:
        if region.name == ".text":
            code = content[region.offset : region.offset + min(region.size, _MAX_BYTES)]
            yield from (
                scheme for instruction in Decoder(64, code) if (scheme := scheme_of(instruction)) is not None
            )


def _stands_in_a_body(scheme: str) -> bool:
    found = scheme_and_form(scheme)
    return found is not None and not found[0].exclusion.startswith(_ELSEWHERE)


def _is_in_set(scheme: str) -> bool:
    name, _, operands = scheme.partition(" ")
    first, *others = operands.split(", ")
    read = first.replace(":RW", ":R")
    apart = ", ".join([first.replace(":RW", ":W"), read, *others])
    return bool({scheme, f"v{scheme}", f"v{name} {apart}"} & STARTER_SET)
