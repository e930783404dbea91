"""The loop bodies of RISC-V; see `inference.isa.words.assembling`. No instruction is compressed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from inference.agent.protocol import Frame
from inference.isa.llvm_mc import AssemblerError
from inference.isa.riscv64 import NAME, by_text, catalogue, instruction_set
from inference.isa.riscv64.allocation import (
    ADDRESSES,
    COUNTER,
    MEMORY,
    PATTERNS,
    VALUES,
    RiscvAllocator,
    bank_of,
)
from inference.isa.riscv64.statements import read
from inference.isa.words import assembling as words
from inference.isa.words.assembling import BodyLanguage, LoopText, WordBodies

__all__ = ["BODIES", "LANGUAGE", "Assembler", "LoopText", "code_of_line", "frame", "instances", "obstacle"]


def frame() -> Frame:
    return Frame(
        isa=NAME,
        memory_register=f"x{MEMORY}",
        counter_register=f"x{COUNTER}",
        registers=VALUES,
        addresses=ADDRESSES,
        vectors=PATTERNS,
        avx=False,
    )


def code_of_line(line: str) -> bytes:
    """The uncompressed code of a statement, of several instructions for a constant. Raises `BlockError`."""
    codes = [instruction.code() for instruction in read(line, False)]
    if None in codes:
        raise AssemblerError(f"{line!r} cannot be encoded")
    return b"".join(code for code in codes if code is not None)


def _encode(lines: Sequence[str]) -> list[bytes]:
    return [code_of_line(line) for line in lines]


def _refused() -> Mapping[str, str]:
    return {}


LANGUAGE = BodyLanguage(
    NAME,
    by_text,
    lambda: instruction_set().forms,
    bank_of,
    RiscvAllocator,
    MEMORY,
    frame,
    _encode,
    _refused,
    catalogue.missing_feature,
    needs_assembler=False,
)
BODIES = WordBodies(LANGUAGE)
obstacle = LANGUAGE.obstacle
instances = BODIES.instances


class Assembler(words.Assembler):
    """Instantiates experiments of RISC-V."""

    def __init__(self) -> None:
        super().__init__(LANGUAGE)
