"""Compiled programs of x86-64: from the bytes of a file to its functions and their loops."""

from __future__ import annotations

from inference.isa.code.binaries.headers import BinaryFileError, is_binary
from inference.isa.code.binaries.program import CompiledProgram, Function, read_program

__all__ = ["BinaryFileError", "CompiledProgram", "Function", "is_binary", "read_program"]
