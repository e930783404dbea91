"""Which locations the instructions of an x86-64 block read and write, operand by operand of their schemes.

The stack pointer as `push` and `pop` move it is no location: cores follow it ahead of everything else, but
wait for whatever else writes it. Accesses whose addresses are not known to be the same are taken to be apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from iced_x86 import Decoder, Instruction, OpKind, Register, RegisterExt

from inference.isa.code.block import Block
from inference.isa.code.control_flow import LOOP
from inference.isa.dependences import CODE, STACK, InstructionAccesses, MemoryPlace, OperandAccess
from inference.isa.scheme import Scheme
from inference.isa.x86.addresses import InstructionAddresses, addresses_of
from inference.isa.x86.blocks.recognising import scheme_of
from inference.isa.x86.choosing import RSP, Fixed, family_of
from inference.isa.x86.forms import MNEMONICS
from inference.isa.x86.iced_types import RegisterValue
from inference.isa.x86.instances import register_names
from inference.isa.x86.operand_places import (
    ADDRESS,
    DATA,
    FLAGS,
    MASK,
    Place,
    is_in_address,
    is_partial,
    places,
)
from inference.isa.x86.scheme_set import described
from inference.isa.x86.steps import Step, step_of

_STACK = ("push", "pop", "call", "ret", "pushfq", "popfq")
_STACK_POINTER = f"general {RSP}"
_ON_STACK = f"stack {DATA}"
_IN_CODE = ((CODE, 1),)
_READ_BEFORE = 1 << 14
"""Instructions, about a kilobyte each; blocks of a program have the same ones over and over."""


def accesses_of(block: Block, *, alike: bool = False) -> tuple[InstructionAccesses, ...]:
    """Of each instruction, in their order.

    `alike`: registers start with the same number, as machines that measure blocks have it, so that those
    which the block does not write lead to the same places.
    """
    codes = [one.code for one in block.instructions]
    steps = [step_of(code) for code in codes]
    if sum(step.accesses for step in steps) > 1 or any(map(_is_by_values, steps)):
        code_bytes = 0 if block.kind == LOOP else len(block.code)
        addresses = addresses_of(codes, alike=alike, code_bytes=code_bytes)
    else:  # nothing that it could meet
        addresses = [InstructionAddresses()] * len(codes)
    stack_moved = any(step.moves_stack_pointer for step in steps)
    found, begin, depth = [], 0, 0
    for code, step, at in zip(codes, steps, addresses, strict=True):
        one = _accesses_anywhere(code)
        if one.in_memory:
            one = _placed(one, at, begin, depth)
            if stack_moved and step.mnemonic in _STACK:
                one = one._replace(reads=(*one.reads, OperandAccess(f"stack {ADDRESS}", _STACK_POINTER)))
        if at.shift is not None and not step.shift_count(at.shift):
            one = one._replace(immediate=0, keeps_flags=True)
        found.append(one)
        begin += len(code)
        depth += step.pushed
    if stack_moved:
        for place in _behind_stack(found, [step.mnemonic for step in steps]):
            found[place] = found[place]._replace(behind_stack=True)
    return tuple(found)


def _is_by_values(step: Step) -> bool:
    """Whether it makes a difference what registers hold, even if nothing else accesses memory."""
    return bool(step.pushed) or step.is_shift_by_register


def _behind_stack(block: Sequence[InstructionAccesses], mnemonics: Sequence[str]) -> Iterator[int]:
    """The places of what computes with the stack pointer, where what read it last, in this iteration or the
    one before, is `push` or `pop`, say: what they moved it by is added first.

    Not of `lea`, which adds that with its own displacement (Zen 4).
    """
    ahead = False
    for place in range(2 * len(block)):
        one, mnemonic = block[place % len(block)], mnemonics[place % len(block)]
        if mnemonic in _STACK:
            ahead = True
        elif any(each.location == _STACK_POINTER for each in one.reads):
            writes = any(each.location == _STACK_POINTER for each in one.writes)
            if ahead and writes and place >= len(block) and mnemonic != "lea":
                yield place - len(block)
            ahead = False


def _placed(
    one: InstructionAccesses, at: InstructionAddresses, begin: int, depth: int
) -> InstructionAccesses:
    """With the addresses that it has in its block, behind so many bytes of code and as many on the stack."""

    def placed(access: OperandAccess) -> OperandAccess:
        known = access.memory
        if known is None:
            return access
        on_stack = access.operand == _ON_STACK
        before = depth if on_stack else begin if known.registers == _IN_CODE else 0
        address = at.stack if on_stack else at.memory
        if address is None:
            return access if not before else access._replace(memory=known.behind(before))
        parts, offset, step, page = address
        place = MemoryPlace(
            parts, offset, known.bits, step, page, known.registers, known.displacement + before
        )
        return OperandAccess(access.operand, access.location, place)

    return one._replace(reads=tuple(map(placed, one.reads)), writes=tuple(map(placed, one.writes)))


@lru_cache(maxsize=_READ_BEFORE)
def _accesses_anywhere(code: bytes) -> InstructionAccesses:
    """What is the same wherever an instruction is in a block: all but the addresses of what it accesses."""
    instruction = Decoder(64, code).decode()
    scheme = scheme_of(instruction)
    known = None if scheme is None else described(scheme)
    return InstructionAccesses(None, (), ()) if known is None else _Reader(known[0], instruction).accesses()


class _Reader:
    def __init__(self, scheme: Scheme, instruction: Instruction) -> None:
        self._scheme = scheme
        self._instruction = instruction
        self._on_stack = MNEMONICS[instruction.mnemonic] in _STACK

    def accesses(self) -> InstructionAccesses:
        reads: list[OperandAccess] = []
        writes: list[OperandAccess] = []
        for each in _known_places(self._scheme.text):
            place = each.place
            if each.in_address:
                reads += [OperandAccess(place.name, name) for name in self._address_registers(place)]
                continue
            for access in self._locations(each):
                if each.is_read:
                    reads.append(access)
                if each.is_written:
                    writes.append(access)
        for operand in self._scheme.operands:
            if operand.kind == "flags":
                touched = [OperandAccess(FLAGS, f"flag {name}") for name in operand.registers]
            elif operand.kind == "memory" and operand.implicit and self._on_stack:
                touched = [OperandAccess(_ON_STACK, memory=self._pushed(operand.width))]
            else:
                continue
            reads += touched if "R" in operand.access else []
            writes += touched if "W" in operand.access else []
        explicit = list(self._explicit_registers())
        one_register = len(explicit) > 1 and len(set(explicit)) == 1
        vector = any(name.startswith("vector") for name in explicit)
        return InstructionAccesses(
            self._scheme.text,
            tuple(reads),
            tuple(writes),
            one_register,
            vector,
            immediate=self._immediate(),
        )

    def _immediate(self) -> int | None:
        one = self._instruction
        kinds = [one.op_kind(place) for place in range(one.op_count)]
        return one.immediate8 if OpKind.IMMEDIATE8 in kinds else None

    def _locations(self, each: _KnownPlace) -> Iterator[OperandAccess]:
        place = each.place
        if place.name == MASK:
            if RegisterExt.is_k(self._instruction.op_mask):
                yield OperandAccess(MASK, _location(self._instruction.op_mask))
        elif each.in_memory:
            yield OperandAccess(place.name, memory=self._memory(place.operand.width))
        elif each.fixed:
            if not (self._on_stack and each.fixed == _STACK_POINTER):
                yield OperandAccess(place.name, each.fixed)
        elif place.position is not None and place.operand.kind == "register":
            yield OperandAccess(place.name, _location(self._instruction.op_register(place.position)))

    def _explicit_registers(self) -> Iterator[str]:
        """Location of every explicit register operand that can be chosen, masks apart."""
        for each in _known_places(self._scheme.text):
            if each.chosen is not None:
                yield _location(self._instruction.op_register(each.chosen))

    def _address_registers(self, place: Place) -> Iterator[str]:
        one = self._instruction
        wanted: Sequence[RegisterValue] = (one.memory_base, one.memory_index)
        if place.name.endswith("base"):
            wanted = wanted[:1]
        elif place.name.endswith("index"):
            wanted = wanted[1:]
        elif place.name.endswith(ADDRESS):  # a vector of indices is a source of its own
            wanted = [one for one in wanted if not RegisterExt.is_vector_register(one)]
        for register in wanted:
            if _is_tracked(register):
                yield _location(register)

    def _pushed(self, bits: int) -> MemoryPlace:
        behind = min(self._instruction.stack_pointer_increment, 0)
        return MemoryPlace(None, 0, bits, None, 0, STACK, behind)

    def _memory(self, bits: int) -> MemoryPlace:
        one = self._instruction
        displacement = one.memory_displacement
        displacement -= 1 << 64 if displacement >= 1 << 63 else 0
        registers: Counter[str] = Counter()
        for register, scale in ((one.memory_base, 1), (one.memory_index, one.memory_index_scale)):
            if _is_tracked(register):
                registers[_location(register)] += scale
            elif RegisterExt.is_ip(register):
                registers[CODE] += 1
        return MemoryPlace(None, 0, bits, None, 0, tuple(sorted(registers.items())), displacement)


@dataclass(frozen=True, slots=True)
class _KnownPlace:
    """An operand with what is the same in all instructions of a scheme.

    `fixed`: the location of a register that cannot be chosen, "" of others; `chosen`: the position of one
    that can.
    """

    place: Place
    in_address: bool
    in_memory: bool
    is_read: bool
    is_written: bool
    fixed: str
    chosen: int | None


@cache
def _known_places(text: str) -> tuple[_KnownPlace, ...]:
    """The operands of a scheme, without its flags."""
    found = described(text)
    if found is None:
        return ()
    return tuple(_known_place(place) for place in places(found[0]) if place.name != FLAGS)


def _known_place(place: Place) -> _KnownPlace:
    operand = place.operand
    fixed = ""
    if operand.kind == "register" and operand.registers:
        register = Fixed.of(operand)
        fixed = f"{register.bank} {register.family}"
    choosable = operand.kind == "register" and not operand.registers and place.name != MASK
    return _KnownPlace(
        place,
        is_in_address(place),
        place.name.endswith(DATA) and operand.kind == "memory",
        "R" in operand.access or is_partial(place),
        "W" in operand.access,
        fixed,
        place.position if choosable else None,
    )


@cache
def _location(register: RegisterValue) -> str:
    bank, family = family_of(register)
    return f"{bank} {family}"


@cache
def _is_tracked(register: RegisterValue) -> bool:
    return RegisterExt.is_gpr(register) or RegisterExt.is_vector_register(register)


def name_of_location(location: str) -> str:
    """What people call a location: `rax`, `xmm3`, `the carry flag`."""
    bank, _, rest = location.partition(" ")
    if bank == "flag":
        return rest.upper()
    if bank == "general":
        return register_names()[Register.RAX + int(rest)]
    return {"vector": "xmm", "mask": "k"}.get(bank, f"{bank} ") + rest
