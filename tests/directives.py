"""Directives hidden from a reader of assembly, a file that they would read, and a watch over both.

In an assembler each of `SPELLINGS` reads a file, emits or repeats bytes without end, or makes other code of
what stands below it.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

SECRET = bytes.fromhex("4d0faffe") * 8
"""What the file has: instructions (imul r15, r14), so that a part of it would be a block."""
SHOWN = (SECRET[:4].hex(), "imul r15, r14", "imulq")
"""How a page would show a part of it."""

SPELLINGS = (
    '/**/.incbin"{file}",0,8',
    '0:.incbin"{file}"',
    '/**/.include"{file}"',
    "/**/.zero 500000000",
    '.incbin "{file}"',
    '.include "{file}"',
    '  \t.INCBIN\t"{file}"',
    'a:.incbin"{file}",8,8',
    'a: 0: .incbin "{file}"',
    '"a b": .incbin "{file}"',
    '.L4:/* x */.incbin "{file}"',
    '/* x\n*/.incbin "{file}"',
    '/*\n\n*/ .include "{file}"',
    'nop;.incbin "{file}"',
    'nop ; /**/ .incbin "{file}"',
    'addq %rax, %rax; 0: .incbin "{file}"',
    'addq %rax, %rax /* ; */ ; .include "{file}"',
    'lock .incbin "{file}"',
    'rep;.incbin "{file}"',
    "{vex} .incbin '{file}'",
    'nop\r.incbin "{file}"',
    'nop\x0b.incbin "{file}"',
    'nop\x0c.incbin "{file}"',
    'nop\x85.incbin "{file}"',
    'nop\u2028.incbin "{file}"',
    '\ufeff.incbin "{file}"',
    '.inc/**/bin "{file}"',
    '.incb\\\nin "{file}"',
    '. incbin "{file}"',
    '  401000:\t.incbin "{file}"',
    '0000000000401000 <f>: .incbin "{file}"',
    '=> 0x0000000000401000 <+0>:\t.incbin "{file}"',
    '#APP\n.incbin "{file}"\n#NO_APP',
    '# LLVM-MCA-BEGIN\n.incbin "{file}"\n# LLVM-MCA-END',
    '.intel_syntax noprefix\n.incbin "{file}"',
    '.att_syntax prefix\n.include "{file}"',
    '.macro m\n.incbin "{file}"\n.endm\nm',
    '.macro m f\n.incbin "\\f"\n.endm\nm {file}',
    '.rept 1\n.incbin "{file}"\n.endr',
    '.irp f,"{file}"\n.incbin \\f\n.endr',
    '.if 1\n.incbin "{file}"\n.endif',
    ".altmacro\n.incbin <{file}>",
    '.set f, "{file}"\n.incbin f',
    '.pushsection x; .incbin "{file}"; .popsection',
    '.section .text; .incbin "{file}"',
    'movq $5, %rax\n/**/.incbin "{file}"',
    'mov rax, 5\n/**/.incbin "{file}"',
    '%include "{file}"',
    'incbin "{file}"',
    "include {file}",
    ".rept 1000000000\nnop\n.endr",
    ".zero 500000000",
    "1: .skip 1 << 40",
    "nop; .space 500000000",
    ".fill 500000000, 8, 0x90",
    "/**/.org 500000000",
    "0:.nops 500000000",
    "nop\n.if 0\nud2\n.endif",
    "times 1000000000 nop",
    "a: .long 0x9090c3c3",
    ".quad 0x9090909090909090",
    '.ascii "\\x90\\x90"',
    ".byte 1 + 2",
)


def written(spelling: str, file: Path) -> str:
    """The spelling with the file that it names."""
    return spelling.replace("{file}", str(file))


class Watched:
    """A file that nobody shall open, and what was opened or started meanwhile."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.seen: list[str] = []

    def expect_silence(self, shown: str = "") -> None:
        """Nothing was opened or started, and no part of the file is in what somebody was shown."""
        assert not self.seen
        assert not [part for part in SHOWN if part in shown.lower()]


_watches: list[Watched] = []
_hooked: list[bool] = []


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    for watch in _watches:
        if event == "open" and str(arguments[0]) == str(watch.file):
            watch.seen.append(f"open {arguments!r}")


@contextmanager
def watching(directory: Path) -> Iterator[Watched]:
    """A file with `SECRET` in this directory, and a watch over it and over all processes that are started."""
    watch = Watched(directory / "secret")
    watch.file.write_bytes(SECRET)
    if not _hooked:
        sys.addaudithook(_hear)
        _hooked.append(True)

    def refuse(*arguments: object, **_: object) -> None:
        watch.seen.append(f"process {arguments!r}")
        raise AssertionError(f"a process is started: {arguments!r}")

    _watches.append(watch)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(subprocess, "run", refuse)
            patch.setattr(subprocess, "Popen", refuse)
            yield watch
    finally:
        _watches.remove(watch)
