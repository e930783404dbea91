"""The operands of AArch64 schemes that a latency can go from and to: registers, flags, parts of memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from inference.isa.aarch64 import by_text, instruction_set
from inference.isa.chains import ChainLink
from inference.isa.scheme import Operand, Scheme

ADDRESS, INDEX, DATA, BASE, FLAGS, MEMORY = "address", "index", "data", "base", "flags", "memory"
_FIELD = re.compile(r"\{([a-z]+[0-9]*)\}")


@dataclass(frozen=True, slots=True)
class Spot:
    """An operand, or a part of one, as a source or a destination. `position`: of an explicit operand."""

    name: str
    bank: str
    operand: Operand
    position: int | None = None

    @property
    def is_in_address(self) -> bool:
        """Whether it is a register that an address is made of."""
        return self.name.endswith((ADDRESS, INDEX))


def links_of(text: str) -> tuple[ChainLink, ...]:
    """The pairs of source and destination operands of a scheme; () for one that there is not."""
    scheme = by_text().get(text)
    if scheme is None:
        return ()
    spots = list(spots_of(scheme))
    return tuple(
        ChainLink(text, source.name, target.name)
        for source in spots
        if is_source(source)
        for target in spots
        if is_target(target)
    )


def spots_of(scheme: Scheme) -> Iterator[Spot]:
    """All operands in their order, those of memory in their parts, the flags at the end."""
    forms = instruction_set().forms
    for number, operand in enumerate(scheme.operands):
        if operand.implicit:
            if operand.name == BASE:
                yield Spot(BASE, "general", operand)
            continue
        form, name = forms[operand.name], str(number + 1)
        if operand.kind == "memory":
            fields = set(_FIELD.findall(form.assembly))
            if fields & {"base", "memory"}:
                yield Spot(f"{name} {ADDRESS}", "general", operand, number)
            if fields & {"index", "index32"}:
                yield Spot(f"{name} {INDEX}", "general", operand, number)
            yield Spot(f"{name} {DATA}", MEMORY, operand, number)
        elif form.bank:
            yield Spot(name, form.bank, operand, number)
    flags = [operand for operand in scheme.operands if operand.kind == "flags"]
    yield from (Spot(FLAGS, FLAGS, operand) for operand in flags[:1])


def is_source(spot: Spot) -> bool:
    """The base that moves along is the address, and no source beside it."""
    return spot.is_in_address or ("R" in spot.operand.access and spot.name != BASE)


def is_target(spot: Spot) -> bool:
    return not spot.is_in_address and "W" in spot.operand.access


def in_words(spot: Spot) -> str:
    """The class of the operand."""
    if spot.is_in_address:
        return "an address"
    words = {"general": "a general-purpose register", "vector": "a vector register"}
    return words.get(spot.bank, spot.bank)
