"""Schemes and operands of sampled blocks of the toy instruction set: one register each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle

from inference.isa.operand_slots import (
    DecodedOperands,
    FilledInstruction,
    Filling,
    OperandNames,
    RegisterSlot,
    Slots,
)
from inference.isa.scheme import Scheme
from tests.isa.toy import catalogue
from tests.isa.toy.blocks import GENERAL, OPERATIONS

names = OperandNames()
_UNITS = {number: 1 << number for number in range(len(GENERAL))}
_ANY = (1 << len(GENERAL)) - 1
_SLOTS = Slots((RegisterSlot(possible=_ANY, units=_UNITS, choices=_ANY, access="RW", avoids_pointers=True),))


@dataclass(frozen=True)
class ToyScheme:
    scheme: Scheme
    slots: Slots = _SLOTS
    prefix: str = ""
    isa_sets: Sequence[str] = ("BASE",)
    extension_family: str = "BASE"

    def obstacle(self, groups: frozenset[str]) -> str:
        del groups
        return ""


def block_schemes() -> Mapping[str, ToyScheme]:
    return {scheme.text: ToyScheme(scheme) for scheme in catalogue.schemes()}


def block_scheme(text: str) -> ToyScheme | None:
    return block_schemes().get(text)


def filler(schemes: Sequence[ToyScheme]) -> Callable[[int, Filling], FilledInstruction]:
    def filled(number: int, filling: Filling) -> FilledInstruction:
        (family,) = filling
        assert isinstance(family, int)
        return (_UNITS[family],), bytes((OPERATIONS[schemes[number].scheme.mnemonic], family))

    return filled


def independent_fillings(schemes: Sequence[ToyScheme]) -> list[Filling]:
    return [(family,) for _, family in zip(schemes, cycle(_UNITS), strict=False)]


def decode_operands(code: bytes, slots: Mapping[str, Slots]) -> Iterator[DecodedOperands | None]:
    texts = {OPERATIONS[text.split()[0]]: text for text in slots}
    for operation, register in zip(code[::2], code[1::2], strict=True):
        text = texts.get(operation)
        yield text and (text, (_UNITS[register],), bytes((operation, register)))
