"""Registers that code of x86-64 uses and addresses memory by, which a snippet has to initialize."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from iced_x86 import Decoder, InstructionInfoFactory, Register, RegisterExt, UsedMemory

from inference.agent.protocol import Frame
from inference.isa.block_facets import UsedRegister
from inference.isa.x86.body_context import X86BodyContext, needs
from inference.isa.x86.iced_types import RegisterValue
from inference.isa.x86.instances import ADDRESS_OF_CODE, register_names
from inference.isa.x86.scheme_set import scheme_and_form

_BANKS = (
    (RegisterExt.is_vector_register, "vector"),
    (RegisterExt.is_k, "mask"),
    (RegisterExt.is_mm, "mmx"),
    (RegisterExt.is_gpr, "general"),
)


def bases(code: bytes) -> frozenset[str]:
    """The base registers of addresses; the stack pointer needs no initialization."""
    return _general(place.base for place in _accesses(code))


def indices(code: bytes) -> frozenset[str]:
    """The index registers of addresses."""
    return _general(place.index for place in _accesses(code))


def used_registers(code: bytes, *, wide: bool) -> list[UsedRegister]:
    """The registers that the code reads or writes.

    General-purpose ones count in full, vectors in the width of their use.

    Not `wide`: the lower half of 512-bit vectors whose upper half is only cleared.
    """
    return [_used_register(register if wide else _narrow(register)) for register in _used_registers(code)]


def snippet_frame(schemes: Sequence[str]) -> Frame:
    """This project's frame for the same code, on a processor with all features."""
    known_schemes = [pair[0] for text in schemes if (pair := scheme_and_form(text)) is not None]
    legacy = any("legacy" in needs(scheme) for scheme in known_schemes)
    return X86BodyContext.of(known_schemes, avx=not legacy, flags={"avx512bw"}).frame


def _used_register(register: RegisterValue) -> UsedRegister:
    bank = next((name for is_of_bank, name in _BANKS if is_of_bank(register)), "")
    return UsedRegister(register_names()[register], bank, 8 * RegisterExt.size(register))


def _accesses(code: bytes) -> list[UsedMemory]:
    factory = InstructionInfoFactory()
    decoder = Decoder(64, code, ip=ADDRESS_OF_CODE)
    return [place for instruction in decoder for place in factory.info(instruction).used_memory()]


def _general(registers: Iterable[RegisterValue]) -> frozenset[str]:
    names = register_names()
    full = {RegisterExt.full_register(register) for register in registers if RegisterExt.is_gpr(register)}
    return frozenset(names[register] for register in full) - {"rsp"}


def _narrow(register: RegisterValue) -> RegisterValue:
    if not Register.ZMM0 <= register <= Register.ZMM31:
        return register
    return cast("RegisterValue", Register.YMM0 + register - Register.ZMM0)


def _used_registers(code: bytes) -> list[RegisterValue]:
    factory = InstructionInfoFactory()
    widest: dict[RegisterValue, RegisterValue] = {}
    for instruction in Decoder(64, code, ip=ADDRESS_OF_CODE):
        for use in factory.info(instruction).used_registers():
            register = use.register
            if RegisterExt.is_gpr(register):
                register = RegisterExt.full_register(register)
            full = RegisterExt.full_register(register)
            best = widest.get(full)
            if best is None or RegisterExt.size(register) > RegisterExt.size(best):
                widest[full] = register
    return [widest[full] for full in sorted(widest)]
