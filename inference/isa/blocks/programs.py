"""Compiled programs and their loops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from inference.isa.blocks.decoding import block_reader
from inference.isa.code.binaries import BinaryFileError, CompiledProgram, Function, is_binary, read_program
from inference.isa.code.binaries.headers import described
from inference.isa.code.binaries.loops import Loop, Search, Told, weighed
from inference.isa.code.binaries.loops import loops_in as loops_by_reader
from inference.isa.targets import DEFAULT

__all__ = [
    "BinaryFileError",
    "CompiledProgram",
    "Function",
    "Loop",
    "Search",
    "described",
    "is_binary",
    "loops_in",
    "read_program",
    "weighed",
]


def loops_in(
    program: CompiledProgram,
    functions: Iterable[Function],
    search: Search,
    told: Told = lambda done, of: None,
    isa: str = DEFAULT,
) -> Iterator[Loop]:
    """The loops of these functions, in order. Raises `BinaryFileError` for too much code."""
    return loops_by_reader(program, functions, search, block_reader(isa), told)
