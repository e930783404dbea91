"""Operands that are sources or destinations of latencies: registers, flags, address and data of memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from inference.isa.chains import ChainLink
from inference.isa.scheme import Access, Operand, Scheme
from inference.isa.x86.holes import GPR32, XMM, YMM, ZMM
from inference.isa.x86.register_choices import Fixed, bank_of
from inference.isa.x86.scheme_set import scheme_and_form

ADDRESS, BASE, INDEX, DATA, FLAGS, MEMORY = "address", "base", "index", "data", "flags", "memory"
MASK = "mask"
"""The mask of an EVEX-encoded instruction, and the bank of all mask registers."""

_INDEX_WIDTHS = {hole.name: hole.width for hole in (XMM, YMM, ZMM)}


@dataclass(frozen=True, slots=True)
class LinkEnd:
    """An operand, or a part of one, as a source or a destination. `position`: of an explicit operand."""

    name: str
    bank: str
    width: int
    operand: Operand
    position: int | None = None

    @property
    def register_class(self) -> str:
        """The class of its registers, without EVEX's decorations."""
        return self.operand.name.partition("{")[0]


def links_of(text: str) -> tuple[ChainLink, ...]:
    """The pairs of source and destination operands of a scheme; () for an unknown one.

    Immediates, the stack pointer and the instruction pointer are no sources.
    """
    scheme_form = scheme_and_form(text)
    if scheme_form is None:
        return ()
    scheme, _ = scheme_form
    return tuple(
        ChainLink(text, source.name, target.name)
        for source in sources(scheme)
        for target in destinations(scheme)
    )


def sources(scheme: Scheme) -> list[LinkEnd]:
    """The operands that it waits for, addresses included."""
    return [end for end in link_ends(scheme) if is_in_address(end) or "R" in end.operand.access]


def destinations(scheme: Scheme) -> list[LinkEnd]:
    written = (end for end in link_ends(scheme) if "W" in end.operand.access)
    return [end for end in written if not is_in_address(end)]


def link_ends(scheme: Scheme) -> Iterator[LinkEnd]:
    """All operands in order, those of memory in their parts, the flags joined at the end."""
    flags: list[Operand] = []
    for number, operand in enumerate(scheme.operands):
        position = None if operand.implicit else number
        name = operand.name if operand.implicit else str(number + 1)
        if operand.kind == "register":
            fixed = Fixed.of(operand).bank if operand.registers else None
            bank = fixed or bank_of(operand.name.partition("{")[0])
            yield LinkEnd(name, bank, operand.width, operand, position)
        elif operand.kind == "memory" and not operand.implicit:
            yield LinkEnd(f"{name} {ADDRESS}", "general", 64, operand, position)
            if width := _index_width(operand):
                yield LinkEnd(f"{name} {INDEX}", "vector", width, operand, position)
            yield LinkEnd(f"{name} {DATA}", "memory", operand.width, operand, position)
        elif operand.kind == "address":
            shape = operand.name.removeprefix("ADDR").strip("[]") or "B"
            for part, letter in ((BASE, "B"), (INDEX, "I")):
                if letter in shape.replace("RIP", ""):
                    yield LinkEnd(f"{name} {part}", "general", 64, operand, position)
        elif operand.kind == "flags":
            flags.append(operand)
    if any("{k}" in operand.name for operand in scheme.operands):
        access: Access = "RW" if scheme.category == "gather" else "R"
        yield LinkEnd(MASK, MASK, 64, Operand("register", "K", access, 64, implicit=True), 0)
    if flags:  # all flags count as one operand
        joint = "".join(letter for letter in "RW" if any(letter in flag.access for flag in flags))
        names = tuple(name for flag in flags for name in flag.registers)
        joined = Operand("flags", FLAGS, joint, 0, names, implicit=True)  # type: ignore[arg-type]
        yield LinkEnd(FLAGS, FLAGS, 0, joined)


def is_in_address(end: LinkEnd) -> bool:
    """Whether it is a register of an address; memory is named by the only register of its address."""
    return end.name.endswith((ADDRESS, BASE, INDEX))


def is_partial(end: LinkEnd) -> bool:
    """Whether a mere write preserves a part of the register, and so waits for it."""
    return end.bank == "general" and 0 < end.width < GPR32.width and end.operand.access == "W"


def bank_in_words(end: LinkEnd) -> str:
    if is_in_address(end) and end.bank == "general":
        return "an address"
    registers = {"general": "a general-purpose register", "vector": "a vector register", MASK: "a mask"}
    registers["mmx"] = "an MMX register"
    return registers.get(end.bank, end.bank)


def _index_width(memory: Operand) -> int:
    """Bits of the vector of indices in an address, 0 without."""
    inside = memory.name.partition("[")[2].partition("]")[0]
    return _INDEX_WIDTHS.get(inside.partition(",")[2], 0)
