"""The LLVM facet of x86-64: its schemes and code for LLVM and tools with its syntax."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import cast

from iced_x86 import Code, Encoder, Instruction, Register

from inference.isa.x86 import att
from inference.isa.x86.iced_types import RegisterValue
from inference.isa.x86.instances import ADDRESS_OF_CODE, register_names

gnu_lines, gnu_scheme = att.gnu_lines, att.gnu_scheme
triple, cpu, features = "x86_64", "x86-64", ""
models = "X86"
osaca = "x86"
every_feature = ""
simulated = ("haswell", "skylake", "znver2")
probe = "nop"
comment = "#"
marker = (bytes.fromhex("0f1f8078563412"), "305419896(")  # nopl 0x12345678(%rax)
prefixes = frozenset(("lock", "rep", "repe", "repne", "repz", "repnz", "xacquire", "xrelease", "notrack"))

_SEPARATOR = bytes.fromhex("0f188400")
"""`prefetchnta 0(%rax,%rax)`, without its displacement."""

separator_code = re.compile(re.escape(_SEPARATOR))
separator_text = re.compile(r"prefetchnta\s+(-?\d*)\(%rax,%rax\)")

_IMMEDIATE_PROBES = frozenset({Code.MOV_R8_IMM8, Code.MOV_R16_IMM16, Code.MOV_R32_IMM32})
_BYTE = re.compile(r"(r\d+)l")
"""The lowest byte of a numbered register, whose name in LLVM differs."""

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


def separator(number: int) -> bytes:
    return _SEPARATOR + number.to_bytes(4, "little")


def instances(texts: Iterable[str]) -> dict[str, bytes]:
    """{scheme text: machine code of one instance}, without unknown texts."""
    return {text: code for text in texts if (code := att.example_code(text))}


def register_probes() -> dict[str, bytes]:
    """{register in LLVM's spelling: an instruction with it as first operand}."""
    probes = {}
    for code, first, count in _PROBES:
        for number in range(count):
            register = cast("RegisterValue", first + number)
            instruction = (
                Instruction.create_reg_u32(code, register, 1)
                if code in _IMMEDIATE_PROBES
                else Instruction.create_reg_reg(code, register, register)
            )
            encoder = Encoder(64)
            encoder.encode(instruction, ADDRESS_OF_CODE)
            probes[_BYTE.sub(r"\1b", register_names()[register]).upper()] = encoder.take_buffer()
    return probes
