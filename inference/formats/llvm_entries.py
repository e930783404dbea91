"""Which instruction set a file with LLVM's names of instructions is about, and the schemes behind them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from inference.formats.problems import Problems
from inference.isa.llvm_mc import AssemblerError
from inference.isa.llvm_schemes import LlvmSchemes, llvm_schemes
from inference.isa.targets import targets


@dataclass(frozen=True)
class NamedSchemes:
    """The schemes of an instruction set by LLVM's names."""

    isa: str
    schemes: LlvmSchemes


def named_schemes(opcodes: Collection[str], problems: Problems) -> NamedSchemes | None:
    """Those of the instruction set that knows most of these; None after noting what is missing here."""
    different = set(opcodes)
    found: list[tuple[int, NamedSchemes]] = []
    try:
        for isa in (target.name for target in targets()):
            named = NamedSchemes(isa, llvm_schemes(isa))
            known = sum(map(named.schemes.knows, different))
            if known * 2 > len(different):
                return named
            found.append((known, named))
    except AssemblerError as error:
        problems.add(
            f"LLVM's names of instructions are needed: {error}",
            "install LLVM's tools (Debian: apt install llvm), and import the file again",
        )
        return None
    return max(found, key=lambda each: each[0])[1]
