"""LLVM's opcode names of schemes, `ADD64rr` for `add GPR[64]:RW, GPR[64]:R`: an instance is disassembled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from inference.isa import llvm_mc
from inference.isa.facets import ToolSide
from inference.isa.llvm_mc import LlvmInstruction
from inference.isa.targets import code_target

_NO_REGISTER = "%noreg"


def tool_side(isa: str) -> ToolSide:
    """What other tools take of an instruction set. Raises `LookupError` where there is nothing."""
    tools = code_target(isa).tools
    if tools is None:
        raise LookupError(f"no machine code of {isa} can be made here")
    return tools


def llvm_opcodes(isa: str, texts: Sequence[str]) -> tuple[dict[str, str], str]:
    """({scheme text: opcode}, which llvm-mc said so); schemes that it does not know are missing.

    One call for all. Raises `AssemblerError` where llvm-mc is not installed or fails.
    """
    tools = tool_side(isa)
    codes = tools.instances(texts)
    named = llvm_mc.instructions_of(list(codes.values()), tools.triple, tools.cpu, tools.features)
    pairs = zip(codes, named.instructions, strict=True)
    return {text: found.opcode for text, found in pairs if found is not None}, named.told_by


def llvm_instructions(isa: str, texts: Sequence[str]) -> tuple[dict[str, str], str]:
    """({scheme text: an instance as llvm-exegesis writes it}, which llvm-mc said so).

    `ADD64rm RAX RAX RSI i_0x1 %noreg i_0x40 %noreg`. One call for all; schemes that llvm-mc does not know are
    missing. Raises `AssemblerError` where it is not installed or fails.
    """
    tools = tool_side(isa)
    codes, probes = tools.instances(texts), tools.register_probes()
    named = llvm_mc.instructions_of(
        [*codes.values(), *probes.values()], tools.triple, tools.cpu, tools.features
    )
    asked, known = named.instructions[: len(codes)], named.instructions[len(codes) :]
    names = {
        found.operands[0][1]: name for name, found in zip(probes, known, strict=True) if found is not None
    }
    names |= {name: name for name in names.values()} | dict.fromkeys(("0", ""), _NO_REGISTER)
    lines = {text: _line(found, names) for text, found in zip(codes, asked, strict=True)}
    return {text: line for text, line in lines.items() if line is not None}, named.told_by


def _line(found: LlvmInstruction | None, names: Mapping[str, str]) -> str | None:
    if found is None:
        return None
    words = [found.opcode]
    for kind, value in found.operands:
        if kind == "Reg" and value in names:
            words.append(names[value])
        elif kind == "Imm":
            words.append(f"i_{int(value) % (1 << 64):#x}")
        else:
            return None
    return " ".join(words)
