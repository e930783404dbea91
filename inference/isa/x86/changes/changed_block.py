"""A block of x86-64 and its changes that show why tools disagree about it (`inference.isa.block_changes`)."""

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
    BlockChange,
    Carrier,
    CarrierKind,
    ChangeKind,
    CuttableBlock,
)
from inference.isa.code.block import BlockError
from inference.isa.x86.changes.block_accesses import FLAGS, STACK, BlockAccesses, StoredPlace
from inference.isa.x86.changes.loads import encode, loads_first, without_locks
from inference.isa.x86.changes.registers import without_loads
from inference.isa.x86.iced_types import RegisterValue
from inference.isa.x86.instances import ADDRESS_OF_CODE, register_names

_BASES = (
    Register.R14, Register.R15, Register.RBP, Register.R13, Register.R12, Register.RBX, Register.R11,
)  # fmt: skip
"""Bases in order of preference: sampled blocks address memory through the first three."""

_FIRST_EVEX = 16  # vector register that only EVEX encodes
_GENERAL = "EAX ECX EDX EBX ESP EBP ESI EDI R8D R9D R10D R11D R12D R13D R14D R15D".split()  # noqa: SIM905
_NARROW = {1: Code.MOV_RM8_IMM8, 2: Code.MOV_RM16_IMM16, 4: Code.MOV_RM32_IMM32, 8: Code.MOV_RM64_IMM32}


class X86ChangedBlock(CuttableBlock):
    """See `inference.isa.block_changes.ChangedBlock`. Raises `BlockError` for code that is no basic block.

    `executes`: the changed blocks are executed, so that the stack pointer must not change.
    """

    def __init__(self, code: bytes, *, executes: bool = False) -> None:
        self._instructions = list(Decoder(64, code, ip=ADDRESS_OF_CODE))
        if not self._instructions or any(instruction.is_invalid for instruction in self._instructions):
            raise BlockError("these bytes are no basic block")
        touched = BlockAccesses(self._instructions)
        breakers: dict[Carrier, bytes] = {}
        readers: dict[Carrier, Sequence[int]] = {}
        for carrier, resource, breaker in _carriers(touched, executes=executes):
            breakers[carrier], readers[carrier] = encode(breaker), touched.readers(resource)
        starts = [instruction.ip - ADDRESS_OF_CODE for instruction in self._instructions]
        ends = [*starts[1:], len(code)]
        steps = [code[start:end] for start, end in zip(starts, ends, strict=True)]
        super().__init__(steps, breakers, readers, encode(Instruction.create(Code.NOPD)))

    def loads_before_stores(self) -> list[BlockChange]:
        """The copies with all loads before all stores.

        That requires removing lock prefixes, whose own effect is another change.
        """
        code = loads_first(self._instructions, self.copies) if self.copies > 1 else None
        if code is None:
            return []
        free = without_locks(self._instructions)
        alone = [] if free is None else [BlockChange(ChangeKind.UNLOCKED, free * self.copies, self.copies)]
        return [*alone, BlockChange(ChangeKind.LOADS_FIRST, code, self.copies)]

    def registers_for_loads(self) -> list[BlockChange]:
        code = None if self._is_loaded_again else without_loads(self._instructions)
        return [] if code is None else [BlockChange(ChangeKind.REGISTERS, code * self.copies, self.copies)]


def _carriers(touched: BlockAccesses, *, executes: bool) -> Iterator[tuple[Carrier, object, Instruction]]:
    """Each carrier with its resource, and the instruction that cuts it."""
    base = next((candidate for candidate in _BASES if candidate not in touched.written), None)
    if base is None:
        return
    for register in sorted(touched.written):
        if register == Register.RSP and executes:
            continue
        breaker = _register_breaker(register, base, touched)
        if breaker is not None:
            kind = CarrierKind.STACK if register == Register.RSP else CarrierKind.REGISTER
            yield _carrier(kind, register_names()[register], touched, register), register, breaker
    if touched.writers(FLAGS) or touched.readers(FLAGS):
        test = Instruction.create_reg_reg(Code.TEST_RM64_R64, base, base)
        yield _carrier(CarrierKind.FLAGS, "flags", touched, FLAGS), FLAGS, test
    for place in touched.stored:
        carrier = _carrier(CarrierKind.MEMORY, str(place), touched, place)
        yield carrier, place, _store(place, base, touched)


def _carrier(kind: CarrierKind, name: str, touched: BlockAccesses, resource: object) -> Carrier:
    return Carrier(kind, name, touched.role(resource), touched.writers(resource))


def _register_breaker(
    register: RegisterValue, base: RegisterValue, accesses: BlockAccesses
) -> Instruction | None:
    """An instruction that overwrites the register independently of the block; None for x87 or MMX.

    Addresses stay addresses; a divisor does not become 0, and the upper half of a dividend does.
    """
    memory = MemoryOperand(base)
    if RegisterExt.is_gpr64(register):
        if register in accesses.addresses or register in STACK:
            return Instruction.create_reg_mem(Code.LEA_R64_M, register, memory)
        narrow = _register_numbered("r32", register - Register.RAX)
        return Instruction.create_reg_u32(Code.MOV_R32_IMM32, narrow, int(register != Register.RDX))
    if RegisterExt.is_zmm(register):
        number = register - Register.ZMM0
        if number >= _FIRST_EVEX:
            return Instruction.create_reg_mem(Code.EVEX_VMOVUPS_ZMM_K1Z_ZMMM512, register, memory)
        code = Code.MOVUPS_XMM_XMMM128 if accesses.legacy else Code.VEX_VMOVUPS_XMM_XMMM128
        return Instruction.create_reg_mem(code, _register_numbered("xmm", number), memory)
    if RegisterExt.is_k(register):
        return Instruction.create_reg_mem(Code.VEX_KMOVW_KR_KM16, register, memory)
    return None


def _store(place: StoredPlace, base: RegisterValue, touched: BlockAccesses) -> Instruction:
    """A store to the place, in its width."""
    narrow = -128 <= place.displacement < 128
    size = (1 if narrow else 8) if place.displacement else 0
    memory = MemoryOperand(place.base, place.index, place.scale, place.displacement, size)
    if place.size in _NARROW:
        return Instruction.create_mem_i32(_NARROW[place.size], memory, 0)
    free = next(n for n in range(15, -1, -1) if _register_numbered("zmm", n) not in touched.used or not n)
    if touched.legacy:
        return Instruction.create_mem_reg(Code.MOVUPS_XMMM128_XMM, memory, _register_numbered("xmm", free))
    if place.size > 16:
        return Instruction.create_mem_reg(
            Code.VEX_VMOVUPS_YMMM256_YMM, memory, _register_numbered("ymm", free)
        )
    return Instruction.create_mem_reg(Code.VEX_VMOVUPS_XMMM128_XMM, memory, _register_numbered("xmm", free))


def _register_numbered(bank: str, number: int) -> RegisterValue:
    return _banks()[bank][number]


@cache
def _banks() -> dict[str, list[RegisterValue]]:
    return {
        bank: [_register_named(f"{bank.upper()}{number}") for number in range(16)]
        for bank in ("xmm", "ymm", "zmm")
    } | {"r32": [_register_named(name) for name in _GENERAL]}


def _register_named(name: str) -> RegisterValue:
    register: RegisterValue = getattr(Register, name)
    return register
