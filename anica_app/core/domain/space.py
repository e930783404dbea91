"""The schemes of a campaign, blocks that consist of them, and the dependencies between their instructions.

Sets of schemes are integers with a bit per scheme.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal, NamedTuple

from anica_app.core.domain.settings import SpaceSettings
from anica_app.core.errors import AnicaError
from inference.isa.blocks import BlockError, block_of_bytes
from inference.isa.operand_slots import FIRST_FLAG, BlockScheme, Content, OperandChooser, Slots
from inference.isa.targets import DEFAULT, target_of

DependencyKind = Literal["flag", "register"]
_REGISTERS = (1 << FIRST_FLAG) - 1  # the bits of registers, below those of flags


class Dependency(NamedTuple):
    """Instruction `reader` reads a flag or a register that another instruction, `writer`, wrote; both from 0.

    Aliasing shows this only together with the accesses of operands, and not for flags and implicit registers,
    such as the rax of a multiplication; the paper's abstraction has no counterpart. A dependency may go
    around the end of the block, as in a loop, and ends where an instruction in between overwrites the unit.
    An instruction's dependency on itself is part of its operands (`GPR:RW`). Memory is excluded, since
    aliasing covers it, and so are address registers: a block that changes them soon leaves the memory that it
    may access.
    """

    writer: int
    reader: int
    kind: DependencyKind


Used = tuple[int, int]
"""The units (`inference.isa.operand_slots`) that an instruction reads, and those that it writes."""


def dependencies(block: Sequence[Used]) -> frozenset[Dependency]:
    """All dependencies of a block, given the units that each instruction reads and writes."""
    result = set()
    count = len(block)
    for writer, (_, written) in enumerate(block):
        live = written
        for distance in range(1, count):
            reader = (writer + distance) % count
            read, overwritten = block[reader]
            result |= {Dependency(writer, reader, kind) for kind in _kinds(live & read)}
            live &= ~overwritten
            if not live:
                break
    return frozenset(result)


def _kinds(shared: int) -> Iterator[DependencyKind]:
    if shared & _REGISTERS:
        yield "register"
    if shared > _REGISTERS:
        yield "flag"


def of_kind(kind: DependencyKind, used: int) -> int:
    """The units that are registers, or flags."""
    return used & _REGISTERS if kind == "register" else used & ~_REGISTERS


@dataclass(frozen=True)
class SchemeUse:
    """The operands that instructions of a scheme read and write, as indices into `Slots.registers`."""

    slots: Slots
    reads: tuple[int, ...]
    writes: tuple[int, ...]

    def of(self, contents: Sequence[Content]) -> Used:
        """The units of an instruction of this scheme with these operands."""
        read, written = self.slots.read, self.slots.written
        for number in self.reads:
            read |= _register(contents[number])
        for number in self.writes:
            written |= _register(contents[number])
        return read, written

    @cached_property
    def could_read(self) -> int:
        """The units that an instruction may read, over all choices of registers."""
        return self._could(self.reads, self.slots.read)

    @cached_property
    def could_write(self) -> int:
        """The units that an instruction may write, over all choices of registers."""
        return self._could(self.writes, self.slots.written)

    def _could(self, numbers: Iterable[int], units: int) -> int:
        for number in numbers:
            units |= self.slots.registers[number].possible
        return units


def scheme_use(slots: Slots) -> SchemeUse:
    """What instructions of a scheme with these operands read and write."""
    accesses = [slot.access for slot in slots.registers]
    return SchemeUse(
        slots,
        tuple(number for number, access in enumerate(accesses) if "R" in access),
        tuple(number for number, access in enumerate(accesses) if "W" in access),
    )


def _register(content: Content) -> int:
    assert isinstance(content, int), "registers come first"
    return content


Bits = int
"""A set of schemes: bit n stands for the scheme with number n."""


class SchemeSpace:
    """Schemes in a fixed order, numbered from 0.

    `uops`: {scheme text: number of µops}, where known. Spaces with the same texts in the same order are
    equal.
    """

    def __init__(
        self, members: Sequence[BlockScheme], uops: Mapping[str, int] | None = None, isa: str = DEFAULT
    ) -> None:
        """Raises `AnicaError` where there is no member, or none of `isa` can be abstracted."""
        if not members:
            raise AnicaError("no scheme is left to make blocks of: exclude fewer")
        self.isa = isa
        self.operands = operands_of(isa)
        self.members = tuple(members)
        self.schemes = tuple(member.scheme for member in members)
        self.texts = tuple(scheme.text for scheme in self.schemes)
        self.uops: Mapping[str, int] = dict(uops or {})
        self.all: Bits = (1 << len(self.texts)) - 1
        self.numbers = lru_cache(maxsize=1 << 12)(_numbers)
        """Numbers of the schemes in a set, ascending."""

    @classmethod
    def of(
        cls,
        settings: SpaceSettings | None = None,
        *,
        among: Iterable[str] | None = None,
        uops: Mapping[str, int] | None = None,
        isa: str = DEFAULT,
    ) -> SchemeSpace:
        """All schemes that the settings allow and that can be sampled, of the texts in `among` if given.

        Raises:
            AnicaError: A group is unknown for the instruction set, or no scheme remains.
        """
        settings = settings or SpaceSettings()
        groups = target_of(isa).sampling_groups
        if unknown := settings.group_names.difference(groups):
            expected = f"words of {', '.join(groups)}" if groups else "none"
            raise AnicaError(f"groups of schemes for {isa} are {expected}, not {min(unknown)}")
        listed = None if among is None else frozenset(among)
        schemes = operands_of(isa).block_schemes()
        allowed = [text for text, reason in reasons(settings, isa).items() if not reason]
        return cls([schemes[text] for text in allowed if listed is None or text in listed], uops, isa)

    @classmethod
    def listed(
        cls, texts: Iterable[str], uops: Mapping[str, int] | None = None, isa: str = DEFAULT
    ) -> SchemeSpace:
        """These schemes only, which is faster than `of` for few. Raises `AnicaError` for an unknown text."""
        members = []
        for text in dict.fromkeys(texts):
            member = operands_of(isa).block_scheme(text)
            if member is None:
                raise AnicaError(f"there is no scheme {text!r} for {isa}")
            members.append(member)
        return cls(members, uops, isa)

    def __len__(self) -> int:
        return len(self.texts)

    def restricted(self, texts: Iterable[str]) -> SchemeSpace:
        """This space restricted to some schemes; unknown texts are ignored."""
        listed = frozenset(texts)
        return SchemeSpace(
            [member for member in self.members if member.scheme.text in listed], self.uops, self.isa
        )

    @cached_property
    def by_text(self) -> dict[str, int]:
        return {text: number for number, text in enumerate(self.texts)}

    @cached_property
    def slots(self) -> tuple[Slots, ...]:
        """Of each scheme, the operands that can alias."""
        return tuple(member.slots for member in self.members)

    @cached_property
    def slots_by_text(self) -> dict[str, Slots]:
        """{scheme text: its operands that can alias}."""
        return dict(zip(self.texts, self.slots, strict=True))

    @cached_property
    def uses(self) -> tuple[SchemeUse, ...]:
        """Reads and writes of the instructions of each scheme."""
        return tuple(map(scheme_use, self.slots))


def reasons(settings: SpaceSettings, isa: str = DEFAULT) -> Mapping[str, str]:
    """{scheme text: why blocks cannot have it, "" where they can}, in the order of the scheme set."""
    return _reasons(settings.group_names, settings.extension_names, isa)


@lru_cache(maxsize=8)
def _reasons(groups: frozenset[str], extensions: frozenset[str], isa: str) -> Mapping[str, str]:
    result = {}
    for text, member in operands_of(isa).block_schemes().items():
        needed = member.scheme.extension.split("+")
        missing = next((extension for extension in needed if extensions and extension not in extensions), "")
        if missing:
            result[text] = f"needs {missing}, which is not among the extensions asked for"
        else:
            result[text] = member.obstacle(groups)
    return result


def operands_of(isa: str) -> OperandChooser[Any]:
    """Schemes and operand choices of an instruction set.

    Raises:
        AnicaError: Its blocks cannot be abstracted.
    """
    operands = target_of(isa).operands
    if operands is None:
        raise AnicaError(f"blocks of {isa} cannot be abstracted yet: choose another instruction set")
    return operands


def _numbers(bits: Bits) -> Sequence[int]:
    digits = bin(bits)[:1:-1]
    return array("H", [number for number, digit in enumerate(digits) if digit == "1"])


@dataclass(frozen=True, slots=True)
class AbstractedInstruction:
    """An instruction: its scheme's number, the contents of operands that can alias, and its bytes."""

    scheme: int
    contents: tuple[Content, ...]
    code: bytes


@dataclass(frozen=True)
class SampledBlock:
    """A basic block of schemes of a space, sampled or decoded from machine code."""

    instructions: tuple[AbstractedInstruction, ...]

    def __len__(self) -> int:
        return len(self.instructions)

    @cached_property
    def code(self) -> bytes:
        return b"".join(instruction.code for instruction in self.instructions)

    def dependencies(self, space: SchemeSpace) -> frozenset[Dependency]:
        """The dependencies between its instructions; `space` is the one that numbers its schemes."""
        uses = space.uses
        return dependencies([uses[entry.scheme].of(entry.contents) for entry in self.instructions])

    def without(self, position: int) -> SampledBlock:
        """The block without the instruction at this position, from 0."""
        return SampledBlock(self.instructions[:position] + self.instructions[position + 1 :])


def block_of_code(code: bytes, space: SchemeSpace) -> SampledBlock | None:
    """The block with this machine code; None where an instruction has no scheme in the space."""
    instructions = []
    for instruction in space.operands.decode_operands(code, space.slots_by_text):
        if instruction is None:
            return None
        text, contents, instruction_code = instruction
        instructions.append(AbstractedInstruction(space.by_text[text], contents, instruction_code))
    return SampledBlock(tuple(instructions)) if instructions else None


def obstacle(code: bytes, space: SchemeSpace) -> str:
    """Why `block_of_code` returns None, as a sentence; "" where it returns a block."""
    try:
        block = block_of_bytes(code, space.isa)
    except BlockError as error:
        return error.message
    for number, instruction in enumerate(block.instructions, start=1):
        if instruction.scheme is None:
            return f"instruction {number}, {instruction.text}, is of no known scheme"
        if block_of_code(instruction.code, space) is None:
            reason = reasons(SpaceSettings(), space.isa)[instruction.scheme] or instruction.scheme
            return f"instruction {number}, {instruction.text}, is of a scheme left out here: {reason}"
    return ""
