"""LLVM's opcode names of schemes, `ADD64rr` for `add GPR[64]:RW, GPR[64]:R`: an instance is disassembled."""

from __future__ import annotations

from collections.abc import Sequence

from inference.isa import aarch64, llvm_mc
from inference.isa.aarch64.assembling import CPU, FEATURES, TRIPLE, Assembler
from inference.isa.unrolling import CannotMeasureError
from inference.isa.x86.att import encoded

_X86_TRIPLE, _X86_CPU = "x86_64", "x86-64"


def llvm_opcodes(isa: str, texts: Sequence[str]) -> tuple[dict[str, str], str]:
    """({scheme text: opcode}, which llvm-mc said so); schemes that it does not know are missing.

    One call for all. Raises `AssemblerError` where llvm-mc is not installed or fails.
    """
    arm = isa == aarch64.NAME
    codes = _arm_codes(texts) if arm else {text: code for text in texts if (code := encoded(text))}
    triple, cpu, features = (TRIPLE, CPU, FEATURES) if arm else (_X86_TRIPLE, _X86_CPU, "")
    named = llvm_mc.opcodes_of(list(codes.values()), triple, cpu, features)
    pairs = zip(codes, named.opcodes, strict=True)
    return {text: opcode for text, opcode in pairs if opcode is not None}, named.told_by


def _arm_codes(texts: Sequence[str]) -> dict[str, bytes]:
    assembler = Assembler()
    bodies = {}
    for text in texts:
        try:
            bodies[text] = assembler.unroll_in_order([text], instructions=1)
        except CannotMeasureError:
            continue
    return {text: body.code[: body.half_bytes] for text, body in bodies.items()}
