"""Locations that the instructions of an x86-64 block read and write, by the operands of their schemes.

The stack pointer as moved by `push` and `pop` is no location: cores track it ahead of execution, but wait for
other instructions that write it. Accesses with addresses that are not known to be equal count as separate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from iced_x86 import Decoder, Instruction, OpKind, Register, RegisterExt

from inference.isa.addresses import InstructionAddresses
from inference.isa.code.block import Block
from inference.isa.code.control_flow import LOOP
from inference.isa.dependences import CODE, STACK, InstructionAccesses, MemoryPlace, OperandAccess
from inference.isa.scheme import TIMED_BY_VALUES, Scheme
from inference.isa.x86.addresses import addresses_of
from inference.isa.x86.blocks.scheme_lookup import scheme_of
from inference.isa.x86.forms import MNEMONICS
from inference.isa.x86.iced_types import RegisterValue
from inference.isa.x86.instances import register_names
from inference.isa.x86.link_ends import (
    ADDRESS,
    DATA,
    FLAGS,
    MASK,
    LinkEnd,
    is_in_address,
    is_partial,
    link_ends,
)
from inference.isa.x86.register_choices import RSP, Fixed, family_of
from inference.isa.x86.scheme_set import scheme_and_form
from inference.isa.x86.steps import Step, step_of

_MOVES = frozenset(
    (
        *("mov", "pop", "movd", "movq", "movss", "movsd", "movaps", "movapd", "movups", "movupd", "lddqu"),
        *("movdqa", "movdqu", "movdqa32", "movdqa64", "movdqu8", "movdqu16", "movdqu32", "movdqu64"),
    )
)
"""Mnemonics, without the prefix of VEX, of instructions that change no bit of what they load."""

_LOADS = ("mov", "vmov", "lddqu", "vlddqu", "pop ")
"""Beginnings of the schemes whose result is ready with what they load."""

_STACK = ("push", "pop", "call", "ret", "pushfq", "popfq")
_STACK_POINTER = f"general {RSP}"
_STACK_READ = OperandAccess(f"stack {ADDRESS}", _STACK_POINTER)
_ON_STACK = f"stack {DATA}"
_IN_CODE = ((CODE, 1),)
_CACHED_INSTRUCTIONS = 1 << 14
"""About a kilobyte each; blocks of a program have the same instructions over and over."""


def accesses_of(block: Block, *, equal_start: bool = False) -> tuple[InstructionAccesses, ...]:
    """The reads and writes of each instruction, in order.

    `equal_start`: registers start with the same number, as on machines that measure blocks, so that all those
    which the block does not write point to the same place.
    """
    codes = [instruction.code for instruction in block.instructions]
    steps = [step_of(code) for code in codes]
    if sum(step.accesses for step in steps) > 1 or any(map(_is_by_values, steps)):
        code_bytes = 0 if block.kind == LOOP else len(block.code)
        addresses = addresses_of(codes, equal_start=equal_start, code_bytes=code_bytes)
    else:  # nothing that it could meet
        addresses = [InstructionAddresses()] * len(codes)
    stack_moved = any(step.moves_stack_pointer for step in steps)
    entries, start, depth = [], 0, 0
    for code, step, address in zip(codes, steps, addresses, strict=True):
        entry = _accesses_anywhere(code)
        if entry.in_memory:
            entry = _with_addresses(entry, address, start, depth)
            if stack_moved and step.mnemonic in _STACK:
                entry = entry._replace(reads=(*entry.reads, _STACK_READ))
        if address.shift is not None and not step.shift_count(address.shift):
            entry = entry._replace(immediate=0, keeps_flags=True)
        entries.append(entry)
        start += len(code)
        depth += step.stack_increment
    if stack_moved:
        for index in _behind_stack(entries, [step.mnemonic for step in steps]):
            entries[index] = entries[index]._replace(behind_stack=True)
    return tuple(entries)


def _is_by_values(step: Step) -> bool:
    """Whether start values of registers make a difference, even without another access to memory."""
    return bool(step.stack_increment) or step.is_shift_by_register


def _behind_stack(block: Sequence[InstructionAccesses], mnemonics: Sequence[str]) -> Iterator[int]:
    """The indices of instructions that compute with the stack pointer behind `push`, `pop` or the like.

    That may be in this iteration or the previous one. The core adds a synchronising µop first.

    Not `lea`, which adds the offset with its own displacement (Zen 4).
    """
    ahead = False
    for place in range(2 * len(block)):
        accesses, mnemonic = block[place % len(block)], mnemonics[place % len(block)]
        if mnemonic in _STACK:
            ahead = True
        elif any(access.location == _STACK_POINTER for access in accesses.reads):
            writes = any(access.location == _STACK_POINTER for access in accesses.writes)
            if ahead and writes and place >= len(block) and mnemonic != "lea":
                yield place - len(block)
            ahead = False


def _with_addresses(
    entry: InstructionAccesses, addresses: InstructionAddresses, start: int, depth: int
) -> InstructionAccesses:
    """The accesses with their addresses in the block, behind so many bytes of code and on the stack."""

    def placed(access: OperandAccess) -> OperandAccess:
        memory = access.memory
        if memory is None:
            return access
        on_stack = access.operand == _ON_STACK
        displacement = depth if on_stack else start if memory.registers == _IN_CODE else 0
        address = addresses.stack if on_stack else addresses.memory
        if address is None:
            return access._replace(memory=memory.with_displacement(displacement)) if displacement else access
        parts, offset, step, page = address
        place = MemoryPlace(
            parts, offset, memory.bits, step, page, memory.registers, memory.displacement + displacement
        )
        return OperandAccess(access.operand, access.location, place)

    return entry._replace(reads=tuple(map(placed, entry.reads)), writes=tuple(map(placed, entry.writes)))


@lru_cache(maxsize=_CACHED_INSTRUCTIONS)
def _accesses_anywhere(code: bytes) -> InstructionAccesses:
    """The accesses that are independent of the block: all but their addresses."""
    instruction = Decoder(64, code).decode()
    scheme = scheme_of(instruction)
    scheme_form = None if scheme is None else scheme_and_form(scheme)
    if scheme_form is None:
        return InstructionAccesses(None, (), ())
    return _AccessReader(scheme_form[0], instruction).accesses()


class _AccessReader:
    """The reads and writes of one instruction, by the operands of its scheme."""

    def __init__(self, scheme: Scheme, instruction: Instruction) -> None:
        self._scheme = scheme
        self._instruction = instruction
        self._on_stack = MNEMONICS[instruction.mnemonic] in _STACK

    def accesses(self) -> InstructionAccesses:
        """All reads and writes: explicit operands, parts of addresses, flags, and the stack."""
        reads: list[OperandAccess] = []
        writes: list[OperandAccess] = []
        for scheme_end in _scheme_ends(self._scheme.text):
            end = scheme_end.end
            if scheme_end.in_address:
                reads += [OperandAccess(end.name, name) for name in self._address_registers(end)]
                continue
            for access in self._locations(scheme_end):
                if scheme_end.is_read:
                    reads.append(access)
                if scheme_end.is_written:
                    writes.append(access)
        for operand in self._scheme.operands:
            if operand.kind == "flags":
                flag_accesses = [OperandAccess(FLAGS, f"flag {name}") for name in operand.registers]
            elif operand.kind == "memory" and operand.implicit and self._on_stack:
                flag_accesses = [OperandAccess(_ON_STACK, memory=self._pushed_place(operand.width))]
            else:
                continue
            reads += flag_accesses if "R" in operand.access else []
            writes += flag_accesses if "W" in operand.access else []
        explicit = list(self._explicit_registers())
        same_register = len(explicit) > 1 and len(set(explicit)) == 1
        vector = any(name.startswith("vector") for name in explicit)
        return InstructionAccesses(
            self._scheme.text,
            tuple(reads),
            tuple(writes),
            same_register,
            vector,
            immediate=self._immediate(),
            by_values=self._scheme.category in TIMED_BY_VALUES,
            moves=MNEMONICS[self._instruction.mnemonic].removeprefix("v") in _MOVES,
            only_loads=self._scheme.text.startswith(_LOADS),
        )

    def _immediate(self) -> int | None:
        instruction = self._instruction
        kinds = [instruction.op_kind(place) for place in range(instruction.op_count)]
        return instruction.immediate8 if OpKind.IMMEDIATE8 in kinds else None

    def _locations(self, scheme_end: _SchemeEnd) -> Iterator[OperandAccess]:
        end = scheme_end.end
        if end.name == MASK:
            if RegisterExt.is_k(self._instruction.op_mask):
                yield OperandAccess(MASK, _location(self._instruction.op_mask))
        elif scheme_end.in_memory:
            yield OperandAccess(end.name, memory=self._memory(end.operand.width))
        elif scheme_end.fixed:
            if not (self._on_stack and scheme_end.fixed == _STACK_POINTER):
                yield OperandAccess(end.name, scheme_end.fixed)
        elif end.position is not None and end.operand.kind == "register":
            yield OperandAccess(end.name, _location(self._instruction.op_register(end.position)))

    def _explicit_registers(self) -> Iterator[str]:
        """The location of each explicit register operand that can be chosen, without masks."""
        for scheme_end in _scheme_ends(self._scheme.text):
            if scheme_end.chosen is not None:
                yield _location(self._instruction.op_register(scheme_end.chosen))

    def _address_registers(self, end: LinkEnd) -> Iterator[str]:
        instruction = self._instruction
        registers: Sequence[RegisterValue] = (instruction.memory_base, instruction.memory_index)
        if end.name.endswith("base"):
            registers = registers[:1]
        elif end.name.endswith("index"):
            registers = registers[1:]
        elif end.name.endswith(ADDRESS):  # a vector of indices is a source of its own
            registers = [register for register in registers if not RegisterExt.is_vector_register(register)]
        for register in registers:
            if _is_tracked(register):
                yield _location(register)

    def _pushed_place(self, bits: int) -> MemoryPlace:
        behind = min(self._instruction.stack_pointer_increment, 0)
        return MemoryPlace(None, 0, bits, None, 0, STACK, behind)

    def _memory(self, bits: int) -> MemoryPlace:
        insn = self._instruction
        displacement = insn.memory_displacement
        displacement -= 1 << 64 if displacement >= 1 << 63 else 0
        registers: Counter[str] = Counter()
        for register, scale in ((insn.memory_base, 1), (insn.memory_index, insn.memory_index_scale)):
            if _is_tracked(register):
                registers[_location(register)] += scale
            elif RegisterExt.is_ip(register):
                registers[CODE] += 1
        return MemoryPlace(None, 0, bits, None, 0, tuple(sorted(registers.items())), displacement)


@dataclass(frozen=True, slots=True)
class _SchemeEnd:
    """An operand with the properties that all instructions of a scheme share.

    Attributes:
        fixed: The location of a fixed register, "" otherwise.
        chosen: The position of a register that can be chosen.
    """

    end: LinkEnd
    in_address: bool
    in_memory: bool
    is_read: bool
    is_written: bool
    fixed: str
    chosen: int | None


@cache
def _scheme_ends(text: str) -> tuple[_SchemeEnd, ...]:
    """The operands of a scheme, without its flags."""
    scheme_form = scheme_and_form(text)
    if scheme_form is None:
        return ()
    return tuple(_scheme_end(end) for end in link_ends(scheme_form[0]) if end.name != FLAGS)


def _scheme_end(end: LinkEnd) -> _SchemeEnd:
    operand = end.operand
    fixed = ""
    if operand.kind == "register" and operand.registers:
        register = Fixed.of(operand)
        fixed = f"{register.bank} {register.family}"
    choosable = operand.kind == "register" and not operand.registers and end.name != MASK
    return _SchemeEnd(
        end,
        is_in_address(end),
        end.name.endswith(DATA) and operand.kind == "memory",
        "R" in operand.access or is_partial(end),
        "W" in operand.access,
        fixed,
        end.position if choosable else None,
    )


@cache
def _location(register: RegisterValue) -> str:
    bank, family = family_of(register)
    return f"{bank} {family}"


@cache
def _is_tracked(register: RegisterValue) -> bool:
    return RegisterExt.is_gpr(register) or RegisterExt.is_vector_register(register)


def name_of_location(location: str) -> str:
    """The usual name of a location: `rax`, `xmm3`, `CF`."""
    bank, _, suffix = location.partition(" ")
    if bank == "flag":
        return suffix.upper()
    if bank == "general":
        return register_names()[Register.RAX + int(suffix)]
    return {"vector": "xmm", "mask": "k"}.get(bank, f"{bank} ") + suffix
