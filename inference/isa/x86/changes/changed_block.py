"""A block of x86-64 and its changes that tell why tools disagree about it (`inference.isa.block_changes`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from iced_x86 import (
    Code,
    Decoder,
    Instruction,
    MemoryOperand,
    Register,
    RegisterExt,
)

from inference.isa.block_changes import (
    COPIES,
    NOPS,
    BlockChange,
    Carrier,
    CarrierKind,
    CarrierRole,
    ChangeKind,
)
from inference.isa.code.block import BlockError
from inference.isa.x86.changes.loads import encoded, loads_first, unlocked
from inference.isa.x86.changes.registers import without_loads
from inference.isa.x86.changes.touched import FLAGS, STACK, StoredPlace, Touched
from inference.isa.x86.iced_types import RegisterValue
from inference.isa.x86.instances import ADDRESS_OF_CODE, register_names

_MOST_INSTRUCTIONS = 32
_STEADY = (
    Register.R14, Register.R15, Register.RBP, Register.R13, Register.R12, Register.RBX, Register.R11,
)  # fmt: skip
"""Bases in the order of preference: sampled blocks address memory through the first three."""
_FIRST_EVEX = 16
_GENERAL = "EAX ECX EDX EBX ESP EBP ESI EDI R8D R9D R10D R11D R12D R13D R14D R15D".split()  # noqa: SIM905
_NARROW = {1: Code.MOV_RM8_IMM8, 2: Code.MOV_RM16_IMM16, 4: Code.MOV_RM32_IMM32, 8: Code.MOV_RM64_IMM32}


class X86ChangedBlock:
    """See `inference.isa.block_changes.ChangedBlock`. Raises `BlockError` for code that is no basic block.

    `executes`: the changed blocks are executed, so that the stack pointer must stay what it is.
    """

    def __init__(self, code: bytes, *, executes: bool = False) -> None:
        self._instructions = list(Decoder(64, code, ip=ADDRESS_OF_CODE))
        if not self._instructions or any(one.is_invalid for one in self._instructions):
            raise BlockError("these bytes are no basic block")
        self._code = code
        self.copies = max(1, min(COPIES, _MOST_INSTRUCTIONS // len(self._instructions)))
        self._readers: dict[Carrier, tuple[int, ...]] = {}
        self._breakers = dict(self._carriers(executes=executes))

    @property
    def carriers(self) -> tuple[Carrier, ...]:
        return tuple(self._breakers)

    def first(self) -> list[BlockChange]:
        """The changes to be tried with every block; without carriers there is nothing to be cut."""
        found = [
            BlockChange(ChangeKind.REPEATED, self._code * self.copies, self.copies),
            BlockChange(ChangeKind.PADDED, self._padded(), self.copies),
        ]
        return [*found, self.cut(self.carriers, ChangeKind.CUT_ALL)] if self._breakers else found

    def each(self) -> list[BlockChange]:
        """One carrier cut at a time; () where there is but one."""
        return [self.cut((one,), ChangeKind.CUT) for one in self.carriers] if len(self._breakers) > 1 else []

    def everywhere(self) -> list[BlockChange]:
        """Whatever goes through registers and flags cut before each instruction that reads it."""
        wanted = self._read_carriers()
        return [self._cut_everywhere(wanted, ChangeKind.CUT_EVERYWHERE)] if wanted else []

    def each_everywhere(self) -> list[BlockChange]:
        """One of these at a time; () where there is but one."""
        wanted = self._read_carriers()
        if len(wanted) < 2:
            return []
        return [self._cut_everywhere([one], ChangeKind.CUT_ONE_EVERYWHERE) for one in wanted]

    def _read_carriers(self) -> list[Carrier]:
        return [
            one
            for one in self.carriers
            if one.kind in (CarrierKind.REGISTER, CarrierKind.FLAGS) and self._readers[one]
        ]

    def _cut_everywhere(self, carriers: Sequence[Carrier], kind: ChangeKind) -> BlockChange:
        code = b""
        begin = 0
        for number, one in enumerate(self._instructions):
            code += b"".join(self._breakers[each] for each in carriers if number in self._readers[each])
            code += self._code[begin : begin + one.len]
            begin += one.len
        return BlockChange(kind, code * self.copies, self.copies, tuple(carriers))

    def parted(self) -> list[BlockChange]:
        """The copies with their loads before their stores, where there is a difference; none where not.

        Lock prefixes have to go for that, and what changes by that alone is asked as well.
        """
        code = loads_first(self._instructions, self.copies) if self.copies > 1 else None
        if code is None:
            return []
        free = unlocked(self._instructions)
        alone = [] if free is None else [BlockChange(ChangeKind.UNLOCKED, free * self.copies, self.copies)]
        return [*alone, BlockChange(ChangeKind.LOADS_FIRST, code, self.copies)]

    def in_registers(self) -> list[BlockChange]:
        """The copies with registers in place of what they load; none where that cannot be, or cuts more."""
        stored = [one for one in self.carriers if one.kind is CarrierKind.MEMORY]
        loaded_again = any(one.role is not CarrierRole.RESULT for one in stored)
        code = None if loaded_again else without_loads(self._instructions)
        return [] if code is None else [BlockChange(ChangeKind.REGISTERS, code * self.copies, self.copies)]

    def cut(self, carriers: Sequence[Carrier], kind: ChangeKind) -> BlockChange:
        """The copies of the block behind what writes these carriers anew."""
        code = b"".join(self._breakers[one] for one in carriers)
        return BlockChange(kind, code + self._code * self.copies, self.copies, tuple(carriers))

    def _padded(self) -> bytes:
        nop = encoded(Instruction.create(Code.NOPD))
        return (self._code * self.copies) + nop * NOPS

    def _carriers(self, *, executes: bool) -> Iterator[tuple[Carrier, bytes]]:
        """Each with the machine code that cuts it."""
        touched = Touched(self._instructions)
        base = next((one for one in _STEADY if one not in touched.written), None)
        if base is None:
            return
        for register in sorted(touched.written):
            if register == Register.RSP and executes:
                continue
            made = _register_breaker(register, base, touched)
            if made is not None:
                kind = CarrierKind.STACK if register == Register.RSP else CarrierKind.REGISTER
                name = register_names()[register]
                yield self._carrier(kind, name, touched, register), encoded(made)
        if touched.writers(FLAGS) or touched.readers(FLAGS):
            test = Instruction.create_reg_reg(Code.TEST_RM64_R64, base, base)
            yield self._carrier(CarrierKind.FLAGS, "flags", touched, FLAGS), encoded(test)
        for place in touched.stored:
            carrier = self._carrier(CarrierKind.MEMORY, str(place), touched, place)
            yield carrier, encoded(_store(place, base, touched))

    def _carrier(self, kind: CarrierKind, name: str, touched: Touched, what: object) -> Carrier:
        found = Carrier(kind, name, touched.role(what), touched.writers(what))
        self._readers[found] = touched.readers(what)
        return found


def _register_breaker(register: RegisterValue, base: RegisterValue, touched: Touched) -> Instruction | None:
    """An instruction that writes the register and reads nothing that the block writes; None for x87 or MMX.

    What leads to memory gets an address again; a divisor does not become 0, nor the upper half of a dividend
    anything else.
    """
    there = MemoryOperand(base)
    if RegisterExt.is_gpr64(register):
        if register in touched.addresses or register in STACK:
            return Instruction.create_reg_mem(Code.LEA_R64_M, register, there)
        narrow = _numbered("r32", register - Register.RAX)
        return Instruction.create_reg_u32(Code.MOV_R32_IMM32, narrow, int(register != Register.RDX))
    if RegisterExt.is_zmm(register):
        number = register - Register.ZMM0
        if number >= _FIRST_EVEX:
            return Instruction.create_reg_mem(Code.EVEX_VMOVUPS_ZMM_K1Z_ZMMM512, register, there)
        code = Code.MOVUPS_XMM_XMMM128 if touched.legacy else Code.VEX_VMOVUPS_XMM_XMMM128
        return Instruction.create_reg_mem(code, _numbered("xmm", number), there)
    if RegisterExt.is_k(register):
        return Instruction.create_reg_mem(Code.VEX_KMOVW_KR_KM16, register, there)
    return None


def _store(place: StoredPlace, base: RegisterValue, touched: Touched) -> Instruction:
    """A store to the place, as wide as there."""
    narrow = -128 <= place.displacement < 128
    size = (1 if narrow else 8) if place.displacement else 0
    where = MemoryOperand(place.base, place.index, place.scale, place.displacement, size)
    if place.size in _NARROW:
        return Instruction.create_mem_i32(_NARROW[place.size], where, 0)
    free = next(n for n in range(15, -1, -1) if _numbered("zmm", n) not in touched.used or not n)
    if touched.legacy:
        return Instruction.create_mem_reg(Code.MOVUPS_XMMM128_XMM, where, _numbered("xmm", free))
    if place.size > 16:
        return Instruction.create_mem_reg(Code.VEX_VMOVUPS_YMMM256_YMM, where, _numbered("ymm", free))
    return Instruction.create_mem_reg(Code.VEX_VMOVUPS_XMMM128_XMM, where, _numbered("xmm", free))


def _numbered(bank: str, number: int) -> RegisterValue:
    """The register with a number, of those of one width."""
    return _banks()[bank][number]


@cache
def _banks() -> dict[str, list[RegisterValue]]:
    return {
        bank: [_named(f"{bank.upper()}{number}") for number in range(16)] for bank in ("xmm", "ymm", "zmm")
    } | {"r32": [_named(name) for name in _GENERAL]}


def _named(name: str) -> RegisterValue:
    """The register that iced calls so."""
    found: RegisterValue = getattr(Register, name)
    return found
