"""Instructions that break the dependencies of schemes with hard-wired read-write operands.

Copies of `adc r, r` wait for each other's carry, those of `mul r` for rax, and a gather clears its mask. They
become independent when another instruction overwrites what they read before each copy. The measurement then
includes this breaker, so breakers are the cheapest possible instructions:

- flags, and rdx of a division: `xor r, r`, which sets and clears flags without reading anything;
- rax and others: `mov r, r` from a register that is never written (`movzx` from its lowest byte for a
  division of ax, whose quotient has to fit into al);
- the mask of a gather: `vpcmpeqd v, v, v` or `kxnorw k, k, k`, which set all bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from iced_x86 import Code, Instruction

from inference.isa.machine_bodies import Kind
from inference.isa.scheme import Operand, Scheme
from inference.isa.x86.holes import GPR8, GPR8_HIGH, GPR32, GPR64, YMM
from inference.isa.x86.iced_types import CodeValue, RegisterValue
from inference.isa.x86.register_choices import RAX, Fixed, RegisterChoice, aliases


@dataclass(frozen=True, slots=True, eq=False)
class DependencyBreaker:
    """An instruction before each copy that writes `target` and reads `source`, if any."""

    kind: Kind
    target: RegisterChoice | Fixed
    source: RegisterChoice | None = None

    @property
    def choices(self) -> Iterator[RegisterChoice]:
        if isinstance(self.target, RegisterChoice) and self.target.part == "breaker":
            yield self.target
        if self.source is not None:
            yield self.source


def breakers(
    scheme: Scheme, choices: Sequence[RegisterChoice], mask: RegisterChoice | None
) -> Iterator[DependencyBreaker]:
    """The breakers before each copy of a scheme; `choices` are those of its own operands.

    `mask`: the operand that a gather clears.
    """
    for operand in scheme.operands:
        if operand.access == "RW" and operand.registers:
            yield _fixed_breaker(scheme, operand)
    explicit = [operand for operand in scheme.operands if not operand.implicit]
    for choice in choices:
        if choice.hole == GPR8_HIGH.name and explicit[choice.position].access == "RW":
            yield DependencyBreaker("copy", choice, _free_choice("R", GPR64.name))
    if mask is not None:
        yield DependencyBreaker("mask-ones" if mask.bank == "mask" else "vector-ones", mask)


def _fixed_breaker(scheme: Scheme, operand: Operand) -> DependencyBreaker:
    if operand.kind == "flags":
        return DependencyBreaker("zero", _free_choice("W", GPR32.name))
    fixed = Fixed.of(operand)
    if scheme.category == "divide" and fixed.family != RAX:
        return DependencyBreaker("zero", fixed)
    if scheme.category == "divide" and operand.width == 2 * GPR8.width and _divides_bytes(scheme):
        return DependencyBreaker("extend", fixed, _free_choice("R", GPR8.name))
    return DependencyBreaker("copy", fixed, _free_choice("R", GPR64.name))


def _divides_bytes(scheme: Scheme) -> bool:
    return scheme.width == GPR8.width


def _free_choice(role: Literal["R", "W"], hole: str) -> RegisterChoice:
    return RegisterChoice("general", role, "breaker", 0, aliases(hole, choosable=True), hole)


def instruction(breaker: DependencyBreaker, families: dict[RegisterChoice, int]) -> Instruction:
    """The instruction that breaks a dependency, with the registers that were chosen."""
    target = breaker.target.family if isinstance(breaker.target, Fixed) else families[breaker.target]
    if breaker.kind == "copy":
        source = families[_source_of(breaker)]
        return _with_registers(Code.MOV_R64_RM64, aliases(GPR64.name)[target], aliases(GPR64.name)[source])
    if breaker.kind == "extend":
        source = families[_source_of(breaker)]
        return _with_registers(Code.MOVZX_R32_RM8, aliases(GPR32.name)[target], aliases(GPR8.name)[source])
    if breaker.kind == "zero":
        register = aliases(GPR32.name)[target]
        return _with_registers(Code.XOR_R32_RM32, register, register)
    assert isinstance(breaker.target, RegisterChoice), "masks are chosen"
    register = breaker.target.registers[target]
    if breaker.kind == "mask-ones":
        return _with_registers(Code.VEX_KXNORW_KR_KR_KR, register, register, register)
    wide = breaker.target.hole == YMM.name
    code = Code.VEX_VPCMPEQD_YMM_YMM_YMMM256 if wide else Code.VEX_VPCMPEQD_XMM_XMM_XMMM128
    return _with_registers(code, register, register, register)


def _source_of(breaker: DependencyBreaker) -> RegisterChoice:
    assert breaker.source is not None, f"a {breaker.kind} has a source"
    return breaker.source


def _with_registers(code: CodeValue, *registers: RegisterValue) -> Instruction:
    built = Instruction()
    built.code = code
    for position, register in enumerate(registers):
        built.set_op_register(position, register)
    return built
