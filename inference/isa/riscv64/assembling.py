"""The loop bodies of RISC-V; see `inference.isa.words.assembling`. No instruction is compressed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache, partial

from inference.agent.protocol import Frame
from inference.isa.document import OperandForm
from inference.isa.llvm_mc import AssemblerError
from inference.isa.machine_bodies import CannotMeasureError
from inference.isa.riscv64 import NAME, by_text, catalogue, instruction_set
from inference.isa.riscv64.allocation import (
    ADDRESSES,
    COUNTER,
    MEMORY,
    PATTERNS,
    SETTING_TARGET,
    VALUES,
    VECTOR_PATTERNS,
    RiscvAllocator,
    bank_of,
)
from inference.isa.riscv64.statements import read
from inference.isa.riscv64.vector.modes import (
    VECTOR_EXTENSIONS,
    common_mode,
    operand_forms,
    vector_schemes,
)
from inference.isa.scheme import Scheme
from inference.isa.words.assembling import BodyLanguage, LoopText, WordAssembler, WordBodies
from inference.isa.words.dependent_blocks import DependentBlocks

__all__ = ["BODIES", "LANGUAGE", "Assembler", "LoopText", "code_of_line", "frame", "instances", "obstacle"]


def frame(features: Collection[str] | None = None) -> Frame:
    """The frame of usual bodies; vector registers have values where the processor has the feature `v`."""
    vectors = VECTOR_PATTERNS if features is not None and "v" in features else {}
    return Frame(
        isa=NAME,
        memory_register=f"x{MEMORY}",
        counter_register=f"x{COUNTER}",
        registers=VALUES,
        addresses=ADDRESSES,
        vectors={**PATTERNS, **vectors},
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


@cache
def _schemes() -> Mapping[str, Scheme]:
    return {**by_text(), **{text: vector.scheme for text, vector in vector_schemes().items()}}


@cache
def _forms() -> Mapping[str, OperandForm]:
    return {**operand_forms(), **instruction_set().forms}


def _setting(schemes: Sequence[Scheme]) -> tuple[str, ...]:
    """`vsetvli` for as many elements as there are, where a scheme is of V."""
    vectors = [scheme for scheme in schemes if scheme.extension in VECTOR_EXTENSIONS]
    if not vectors:
        return ()
    modes = {scheme.mode for scheme in vectors}
    mode = common_mode(modes)
    if not mode:
        needed = " and ".join(sorted(filter(None, modes)))
        reason = f"the modes {needed} need a vsetvli between them, which would be measured, too"
        raise CannotMeasureError("; ".join(scheme.text for scheme in schemes), reason)
    return (f"vsetvli x{SETTING_TARGET}, x0, {mode.replace(',', ', ')}, ta, ma",)


def _refuse() -> Mapping[str, str]:
    return {}


LANGUAGE = BodyLanguage(
    NAME,
    _schemes,
    _forms,
    bank_of,
    RiscvAllocator,
    MEMORY,
    frame,
    _setting,
    _encode,
    _refuse,
    catalogue.missing_feature,
    needs_assembler=False,
)
BODIES = WordBodies(LANGUAGE)
DEPENDENT_BLOCKS = DependentBlocks(LANGUAGE, code_of_line)
obstacle = LANGUAGE.obstacle
instances = BODIES.instances


Assembler = partial(WordAssembler, LANGUAGE)
