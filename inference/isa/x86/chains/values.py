"""Values of operands in a chain where they make a difference; an AND and an OR restore them.

Divisions, square roots, and `pdep` and `pext` of some cores take longer with some values, and so do shifts by
`cl` of 0, which leave the flags unchanged: their chains are measured with quick and with slow values. Gathers
read the same few elements repeatedly: their indices are zero, and their masks are full. Immediates can select
another way through an instruction (`vextractf128`), so that several are measured.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from inference.isa.chains import BITS, QUICK, SLOW, ValueClass, float_values
from inference.isa.scheme import Scheme
from inference.isa.x86.forms import Form
from inference.isa.x86.link_ends import DATA, INDEX, MASK, MEMORY, LinkEnd, is_in_address, link_ends

_LOW, _HIGH, _DIVISOR = 133, 0x343A9ED744556677, 0x75E6E44FCCDDEEFF
"""uops.info's slow division of 128 by 64 bits. Its upper bits are one of narrower numbers, signed or not."""

_ALL_BITS = 2**BITS - 1
_ELEMENTS = {"h": 16, "s": 32, "d": 64}
_FLOATING = re.compile(r"v?(div|sqrt)[ps]([hsd])")
_COUNT = 3
"""Bits that a shift moves by: not 0, and no special case of the widest core."""

_IMMEDIATE_BITS = 8  # of operands for which several values are tried
_IMMEDIATES = (0, 1, 0xFF)
"""Beside the usual one."""

_MASKED_MOVES = frozenset({"vmaskmovps", "vmaskmovpd", "vpmaskmovd", "vpmaskmovq"})
_BITS_BY_MASK = frozenset({"pdep", "pext"})


@dataclass(frozen=True, slots=True)
class OperandValues:
    """Values of operands by their names: 64 bits, which vectors repeat.

    Attributes:
        kind: None for the only choice of values.
        immediate: None for the usual one.
    """

    kind: ValueClass | None
    patterns: Mapping[str, int]
    steady: bool = False
    """The result may serve as the source again: 1 divided by 1, or values close to it."""
    immediate: int | None = None

    @property
    def name(self) -> str:
        """The name of the class, "" for the only one."""
        return "" if self.kind is None else self.kind.name


def values_of(scheme: Scheme) -> tuple[OperandValues, ...]:
    """All classes of values for a scheme, the quick ones first; () where values make no difference."""
    return tuple(_values(scheme, [end for end in link_ends(scheme) if _is_read(end)]))


def _values(scheme: Scheme, read: Sequence[LinkEnd]) -> Iterable[OperandValues]:
    if scheme.mnemonic in {"div", "idiv"}:
        return _integer_division(scheme, read)
    if floating := _FLOATING.fullmatch(scheme.mnemonic):
        return _floating_point_values(read, *floating.groups())
    if scheme.mnemonic in _MASKED_MOVES:
        return _masked_moves(read)
    if scheme.mnemonic in _BITS_BY_MASK:
        return _bits_by_mask(read)
    if scheme.category == "gather":
        return (OperandValues(None, dict(_gather_values(scheme, read))),)
    return _shift_counts(read)


def values_by_immediate(form: Form, usual: int) -> tuple[OperandValues, ...]:
    """Classes of immediates, the `usual` one first; () for a form without a free one of 8 bits."""
    free = [hole for hole in form.holes if hole.kind == "immediate"]
    if len(free) != 1 or free[0].fixed or free[0].width != _IMMEDIATE_BITS:
        return ()
    immediates = [(f"immediate {value}", value) for value in _IMMEDIATES if value != usual]
    return (
        OperandValues(ValueClass("", f"immediate {usual}", usual), {}),
        *(OperandValues(ValueClass(name, name, value), {}, immediate=value) for name, value in immediates),
    )


def _is_read(end: LinkEnd) -> bool:
    return "R" in end.operand.access and not is_in_address(end)


def _integer_division(scheme: Scheme, read: Sequence[LinkEnd]) -> Iterator[OperandValues]:
    width = scheme.width
    slow = (_LOW, _HIGH >> (BITS - width), _DIVISOR >> (BITS - width))
    for name, (low, high, divisor) in ((QUICK, (0, 0, 1)), (SLOW, slow)):
        patterns = {}
        for end in read:
            if not end.operand.implicit:
                patterns[end.name] = divisor
            elif end.name == "ax" and width == 8:
                patterns[end.name] = high << width | low
            elif end.name.endswith("ax"):
                patterns[end.name] = low
            elif end.name.endswith("dx"):
                patterns[end.name] = high
        description = "0 / 1" if name == QUICK else f"{high << width | low:#x} / {divisor:#x}"
        yield OperandValues(ValueClass(name, description), patterns)


def _floating_point_values(read: Sequence[LinkEnd], operation: str, element: str) -> Iterator[OperandValues]:
    operands = [end for end in read if end.name != MASK and end.operand.kind != "flags"]
    operands = [end for end in operands if "{k}" not in end.operand.name]  # what masking keeps
    for values in float_values(_ELEMENTS[element]):
        patterns = {end.name: values.dividend for end in operands}
        if operation == "div":
            patterns[operands[-1].name] = values.divisor
        kind = values.quotient if operation == "div" else values.root
        yield OperandValues(kind, patterns, steady=kind.name == QUICK)


def _bits_by_mask(read: Sequence[LinkEnd]) -> Iterator[OperandValues]:
    moved, mask = (end.name for end in read)
    for name, bits in ((QUICK, 1), (SLOW, _ALL_BITS)):
        description = "one bit moved" if name == QUICK else "all bits moved"
        yield OperandValues(ValueClass(name, description), {moved: _HIGH, mask: bits})


def _shift_counts(read: Sequence[LinkEnd]) -> Iterator[OperandValues]:
    for count in [end for end in read if end.operand.registers == ("cl",)][:1]:
        for name, bits in ((QUICK, _COUNT), (SLOW, 0)):
            kind = ValueClass(name, f"{count.operand.name} = {bits}", count=0 if name == SLOW else None)
            yield OperandValues(kind, {count.name: bits})


def _masked_moves(read: Sequence[LinkEnd]) -> Iterator[OperandValues]:
    """An empty mask accesses no memory: at an unmapped address that takes hundreds of cycles."""
    mask = min((end for end in read if end.bank != MEMORY), key=lambda end: end.position or 0)
    for name, bits in ((QUICK, _ALL_BITS), (SLOW, 0)):
        description = "all of the mask set" if name == QUICK else "none of the mask set"
        yield OperandValues(ValueClass(name, description), {mask.name: bits})


def _gather_values(scheme: Scheme, read: Sequence[LinkEnd]) -> Iterator[tuple[str, int]]:
    for end in link_ends(scheme):
        if end.name.endswith(INDEX):
            yield end.name, 0
        elif end.name == MASK:
            yield end.name, _ALL_BITS
    explicit = [end for end in read if end.position and not end.name.endswith(DATA)]
    for end in explicit:  # VEX: the mask is the last operand
        yield end.name, _ALL_BITS
