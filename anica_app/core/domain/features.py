"""The features of schemes that abstract instructions constrain, and the schemes that satisfy a constraint
(§8.1.4).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property, partial
from typing import Any

from anica_app.core.domain.abstract import AbstractInstruction, FeatureExpansion
from anica_app.core.domain.abstractions import Abstraction, EditDistances, LogSizes, Singletons, Subsets
from anica_app.core.domain.settings import FEATURES, MAX_EDITS, MAX_LOG, DomainSettings
from anica_app.core.domain.space import Bits, SchemeSpace, operands_of
from inference.isa.operand_slots import BlockScheme, OperandNames
from inference.isa.scheme import Operand, Scheme
from inference.isa.targets import DEFAULT

YES, NO = "yes", "no"
_LOCK = frozenset({"lock"})
_REPEATED = frozenset({"rep", "repe", "repne"})
SIZE, AT_MOST, AT_LEAST = "size:", "size<=", "size>="
"""Prefixes of elements of `memory` that are widths in bits; the last two only occur as weaker forms of the
first.
"""

SOME_FLAG = "flags:R"
"""The element of `operands` for reading at least one flag."""

ACCESS_WIDTH = re.compile(r"size(:|<=|>=)(\d+)")
"""An element of `memory`: its comparison, ":" for exactly so many, and its bits."""

MEMORY_OPERAND = re.compile(r"MEM\[(<=|>=|)(\d+)\]:(R|W|RW)")
"""An element of `operands`: its comparison, "" for exactly so many, its bits and its access."""

_MAX_WIDTHS, _MIN_WIDTHS = (8, 16, 32, 64, 128, 256), (16, 32, 64, 128, 256, 512)
"""Bounds of widths that exclude something: hardly any access has more than 512 bits or fewer than 8."""

_CACHE_SIZE = 1 << 16
"""Abstract instructions whose schemes are cached; a long search sees many more."""


class Vocabulary:
    """Features in a fixed order with their abstractions. `free` is ⊤ of abstract instructions."""

    def __init__(self, names: Sequence[str], settings: DomainSettings, operands: OperandNames) -> None:
        self.names = tuple(names)
        self.operands = operands
        self.abstractions: tuple[Abstraction[Any, Any], ...] = tuple(
            abstraction(name, settings, operands) for name in self.names
        )
        self.free = AbstractInstruction((None,) * len(self.names))

    def is_below(self, special: AbstractInstruction, general: AbstractInstruction) -> bool:
        pairs = zip(self.abstractions, special.values, general.values, strict=True)
        return all(abstraction.is_below(lower, upper) for abstraction, lower, upper in pairs)

    def expansions(self, instruction: AbstractInstruction, number: int) -> Iterator[FeatureExpansion]:
        """The expansions of the instruction with this number, feature by feature."""
        for name, abstraction, value in zip(self.names, self.abstractions, instruction.values, strict=True):
            for step in abstraction.steps(value) if value is not None else ():
                yield FeatureExpansion(number, name, step, abstraction.expand(value, step))

    def small_expansions(self, instruction: AbstractInstruction, number: int) -> Iterator[FeatureExpansion]:
        """The expansions by small steps of the instruction with this number, feature by feature."""
        for name, abstraction, value in zip(self.names, self.abstractions, instruction.values, strict=True):
            for step in abstraction.small_steps(value) if value is not None else ():
                yield FeatureExpansion(number, name, step, abstraction.expand(value, step))

    def expand(self, instruction: AbstractInstruction, expansion: FeatureExpansion) -> AbstractInstruction:
        """The successor. Raises `ValueError` where the expansion does not apply."""
        position = self.names.index(expansion.feature)
        value, abstraction = instruction.values[position], self.abstractions[position]
        if value is None or not (
            expansion.step in abstraction.steps(value) or expansion.step in abstraction.small_steps(value)
        ):
            raise ValueError(f"{expansion} does not apply to {instruction}")
        return instruction.replaced(position, abstraction.expand(value, expansion.step))


@cache
def full_vocabulary(isa: str = DEFAULT) -> Vocabulary:
    """All features, with the widest bounds that campaigns allow, to read the documents of any campaign."""
    settings = DomainSettings(edit_distance=MAX_EDITS, log_bound=MAX_LOG)
    return Vocabulary(FEATURES, settings, operands_of(isa).names)


def abstraction(name: str, settings: DomainSettings, operands: OperandNames) -> Abstraction[Any, Any]:
    """The kind of constraints on a feature (Table 8.2)."""
    if name == "mnemonic":
        return EditDistances(settings.edit_distance)
    if name == "uops":
        return LogSizes(settings.log_bound)
    if name == "memory":
        return Subsets(weaker_access, gradual=settings.gradual)
    if name == "operands":
        return Subsets(partial(weaker_operand, operands), gradual=settings.gradual)
    return Singletons()


def feature_value(name: str, member: BlockScheme, uops: Mapping[str, int]) -> Any:
    """The value of a scheme's feature: a word, a set of words, or a number of µops.

    None for an unknown number.

    `uops`: {scheme text: number of µops}.
    """
    return uops.get(member.scheme.text) if name == "uops" else _VALUES[name](member)


def memory_elements(scheme: Scheme) -> frozenset[str]:
    """`R`, `W` and `size:n` as they apply to the memory that a scheme accesses, the stack included.

    A prefetch has a size but no access; an address that is only computed (`lea`) is no memory access.
    """
    elements = set()
    for operand in scheme.operands:
        if operand.kind == "memory":
            elements |= {*operand.access, f"{SIZE}{operand.width}"}
    return frozenset(elements)


def operand_types(operand: Operand) -> Iterator[str]:
    """An operand with its access: `GPR[64]:RW`, `cl:R`, `0x1`; each flag separately: `cf:W`."""
    if operand.kind == "flags":
        yield from (f"{flag}:{operand.access}" for flag in operand.registers)
    else:
        yield operand.text


def _operands(scheme: Scheme) -> frozenset[str]:
    return frozenset(name for operand in scheme.operands for name in operand_types(operand))


def weaker_access(element: str) -> frozenset[str]:
    """The next weaker elements of `memory`.

    `size:64` implies `size<=64` and `size>=64`, `size<=64` implies `size<=128`.
    """
    width = ACCESS_WIDTH.fullmatch(element)
    if width is None:
        return frozenset()
    comparison = "" if width[1] == ":" else width[1]
    return frozenset(f"size{bound}" for bound in _weaker_width(comparison, int(width[2])))


def weaker_operand(names: OperandNames, element: str) -> frozenset[str]:
    """The next weaker elements of `operands`.

    Reading the carry flag implies reading some flag, rax implies its `GPR`.

    Widths of memory operands weaken as in `weaker_access`. Reading and writing a flag or a `GPR` implies
    either.
    """
    if memory := MEMORY_OPERAND.fullmatch(element):
        return frozenset(f"MEM[{bound}]:{memory[3]}" for bound in _weaker_width(memory[1], int(memory[2])))
    name, _, access = element.partition(":")
    if access in ("R", "W", "RW"):
        for kind, pattern in names.register_kinds.items():
            if pattern.fullmatch(name):
                return frozenset((f"{kind}:{access}",))
    if access == "RW" and (name in names.flags or name in names.register_kinds):
        return frozenset((f"{name}:R", f"{name}:W"))
    return frozenset((SOME_FLAG,)) if name in names.flags and access == "R" else frozenset()


def _weaker_width(comparison: str, bits: int) -> list[str]:
    """The next weaker bounds of a width, such as `<=64`."""
    wider = [width for width in _MAX_WIDTHS if width > bits or (width == bits and not comparison)]
    narrower = [width for width in _MIN_WIDTHS if width < bits or (width == bits and not comparison)]
    upper_bounds = [f"<={width}" for width in wider[:1] if comparison != ">="]
    return upper_bounds + [f">={width}" for width in narrower[-1:] if comparison != "<="]


_VALUES: dict[str, Callable[[BlockScheme], str | frozenset[str]]] = {
    "mnemonic": lambda member: member.scheme.mnemonic,
    "category": lambda member: member.scheme.category,
    "extension": lambda member: member.extension_family,
    "isa-set": lambda member: "+".join(member.isa_sets),
    "lock": lambda member: YES if member.prefix in _LOCK else NO,
    "rep": lambda member: YES if member.prefix in _REPEATED else NO,
    "memory": lambda member: memory_elements(member.scheme),
    "operands": lambda member: _operands(member.scheme),
    "scheme": lambda member: member.scheme.text,
}


class FeatureTable:
    """The features of a domain over the schemes of a space.

    The feature `uops` is left out where the space has no numbers of µops, and so are those that tell no
    schemes of the instruction set apart.
    """

    def __init__(self, space: SchemeSpace, settings: DomainSettings) -> None:
        self.space = space
        lacking = {*space.operands.names.uniform, *([] if space.uops else ["uops"])}
        names = [name for name in settings.feature_names if name not in lacking]
        self.vocabulary = Vocabulary(names, settings, space.operands.names)
        self._bits: list[dict[Any, Bits]] = [{} for _ in names]
        self._meanings: dict[AbstractInstruction, Bits] = {}

    @cached_property
    def rows(self) -> tuple[tuple[Any, ...], ...]:
        """Values of the features, by scheme."""
        return tuple(
            tuple(feature_value(name, member, self.space.uops) for name in self.vocabulary.names)
            for member in self.space.members
        )

    @cached_property
    def _schemes_by_value(self) -> tuple[Mapping[Any, Bits], ...]:
        """{value: schemes that have it}, by feature."""
        tables: list[dict[Any, Bits]] = []
        for position in range(len(self.vocabulary.names)):
            numbers = defaultdict(list)
            for number, row in enumerate(self.rows):
                numbers[row[position]].append(number)
            tables.append({value: sum(1 << bit for bit in bits) for value, bits in numbers.items()})
        return tuple(tables)

    @cached_property
    def represented(self) -> tuple[AbstractInstruction, ...]:
        abstractions = self.vocabulary.abstractions
        return tuple(
            AbstractInstruction(
                tuple(kind.represent(value) for kind, value in zip(abstractions, row, strict=True))
            )
            for row in self.rows
        )

    def meaning(self, instruction: AbstractInstruction) -> Bits:
        """γ: the schemes that it represents."""
        bits = self._meanings.get(instruction)
        if bits is None:
            bits = self.space.all
            for position, value in enumerate(instruction.values):
                if value is not None:
                    bits &= self._schemes(position, value)
            if len(self._meanings) >= _CACHE_SIZE:
                self._meanings.clear()
            self._meanings[instruction] = bits
        return bits

    def _schemes(self, position: int, value: Any) -> Bits:
        """γ of a feature's abstract value."""
        meanings = self._bits[position]
        if value not in meanings:
            represents = self.vocabulary.abstractions[position].represents
            schemes = 0
            for concrete, bits in self._schemes_by_value[position].items():
                if represents(value, concrete):
                    schemes |= bits
            meanings[value] = schemes
        return meanings[value]
