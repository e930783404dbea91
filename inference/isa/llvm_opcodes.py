"""LLVM's opcode names of schemes, `ADD64rr` for `add GPR[64]:RW, GPR[64]:R`: an instance is disassembled."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import cast

from iced_x86 import Code, Encoder, Instruction, Register

from inference.isa import aarch64, llvm_mc
from inference.isa.aarch64.assembling import CPU, FEATURES, TRIPLE, Assembler
from inference.isa.llvm_mc import LlvmInstruction
from inference.isa.unrolling import CannotMeasureError
from inference.isa.x86.att import encoded
from inference.isa.x86.iced_types import RegisterValue
from inference.isa.x86.instances import ADDRESS_OF_CODE, register_names

_X86_TRIPLE, _X86_CPU = "x86_64", "x86-64"
_NO_REGISTER = "%noreg"
_IMMEDIATE_PROBES = frozenset({Code.MOV_R8_IMM8, Code.MOV_R16_IMM16, Code.MOV_R32_IMM32})
_BYTE = re.compile(r"(r\d+)l")
"""The lowest byte of a numbered register, which LLVM calls otherwise."""
_PROBES = (
    (Code.MOV_R8_IMM8, Register.AL, 20),
    (Code.MOV_R16_IMM16, Register.AX, 16),
    (Code.MOV_R32_IMM32, Register.EAX, 16),
    (Code.MOV_R64_RM64, Register.RAX, 16),
    (Code.MOVAPS_XMM_XMMM128, Register.XMM0, 16),
    (Code.VEX_VMOVAPS_YMM_YMMM256, Register.YMM0, 16),
    (Code.EVEX_VMOVAPS_ZMM_K1Z_ZMMM512, Register.ZMM0, 32),
    (Code.MOVQ_MM_MMM64, Register.MM0, 8),
    (Code.VEX_KMOVW_KR_KM16, Register.K0, 8),
)


def llvm_opcodes(isa: str, texts: Sequence[str]) -> tuple[dict[str, str], str]:
    """({scheme text: opcode}, which llvm-mc said so); schemes that it does not know are missing.

    One call for all. Raises `AssemblerError` where llvm-mc is not installed or fails.
    """
    arm = isa == aarch64.NAME
    codes = _arm_codes(texts) if arm else {text: code for text in texts if (code := encoded(text))}
    triple, cpu, features = (TRIPLE, CPU, FEATURES) if arm else (_X86_TRIPLE, _X86_CPU, "")
    named = llvm_mc.instructions_of(list(codes.values()), triple, cpu, features)
    pairs = zip(codes, named.instructions, strict=True)
    return {text: found.opcode for text, found in pairs if found is not None}, named.told_by


def llvm_instructions(texts: Sequence[str]) -> tuple[dict[str, str], str]:
    """({scheme text: an instance as llvm-exegesis writes it}, which llvm-mc said so), of x86-64.

    `ADD64rm RAX RAX RSI i_0x1 %noreg i_0x40 %noreg`. One call for all; schemes that llvm-mc does not know are
    missing. Raises `AssemblerError` where it is not installed or fails.
    """
    codes = {text: code for text in texts if (code := encoded(text))}
    probes = _register_probes()
    named = llvm_mc.instructions_of([*codes.values(), *probes.values()], _X86_TRIPLE, _X86_CPU)
    asked, known = named.instructions[: len(codes)], named.instructions[len(codes) :]
    names = {
        found.operands[0][1]: _BYTE.sub(r"\1b", name).upper()
        for name, found in zip(probes, known, strict=True)
        if found is not None
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


def _register_probes() -> dict[str, bytes]:
    """{register: an instruction whose first operand it is}: older releases print numbers of their own."""
    found = {}
    for code, first, count in _PROBES:
        for number in range(count):
            register = cast("RegisterValue", first + number)
            one = (
                Instruction.create_reg_u32(code, register, 1)
                if code in _IMMEDIATE_PROBES
                else Instruction.create_reg_reg(code, register, register)
            )
            encoder = Encoder(64)
            encoder.encode(one, ADDRESS_OF_CODE)
            found[register_names()[register]] = encoder.take_buffer()
    return found


def _arm_codes(texts: Sequence[str]) -> dict[str, bytes]:
    assembler = Assembler()
    bodies = {}
    for text in texts:
        try:
            bodies[text] = assembler.unroll_in_order([text], instructions=1)
        except CannotMeasureError:
            continue
    return {text: body.code[: body.half_bytes] for text, body in bodies.items()}
