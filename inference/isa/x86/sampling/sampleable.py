"""Which schemes sampled blocks can consist of, and in words why others cannot.

Random blocks are given to tools, and some to processors: they shall neither leave the block nor need rights,
nor meddle with the registers that memory is addressed through. What a tool or a campaign may or may not care
for is left out by default, by groups that can be asked for.
"""

from __future__ import annotations

from collections.abc import Iterator

from iced_x86 import OpCodeInfo

from inference.isa import scheme
from inference.isa.scheme import Scheme
from inference.isa.tables import table_beside
from inference.isa.x86 import exclusion
from inference.isa.x86.choosing import R14, R15, RBP, Fixed
from inference.isa.x86.forms import Form, features
from inference.isa.x86.holes import GPR8_HIGH_CODE, GPR8_LOW_CODE, MASK_PAIR, XMM

BASES = (RBP, R14, R15)
"""Registers that sampled blocks address memory through: no operand names them, and nothing writes them. rbp
needs no REX prefix, which ah, bh, ch and dh do not go with."""

EVEX = "AVX-512 (EVEX encoding)"
"""What speaks against most schemes that there are, known without a closer look."""

_MOST_FAMILIES = 32
"""A bank of registers has no more."""

_TABLES = table_beside(__file__)
_GROUPS: dict[str, tuple[str, ...]] = {
    group: (*filter(None, (scheme.GROUPS.get(group),)), *reasons)
    for group, reasons in _TABLES["groups"].items()
}
"""How the reasons begin that speak against a scheme unless its group is asked for."""


_NO_MATTER = (
    *(reason for reason in scheme.BREAKABLE if not reason.startswith("uses up")),
    *_TABLES["no_matter"]["reasons"],
)
"""How the reasons begin that speak against measuring copies of a scheme, but not against blocks with it."""


def why_not(scheme: Scheme, form: Form, groups: frozenset[str]) -> str:
    """Why blocks do not have the scheme unless other groups are asked for, "" where they do."""
    if scheme.encoding == "EVEX" and "avx512" not in groups:
        return EVEX
    wanted = tuple(start for group in groups for start in _GROUPS[group])
    for reason in (*_of_measuring(scheme, form), *_of_its_own(scheme, form)):
        if not reason.startswith((*_NO_MATTER, *wanted)):
            return reason
    return ""


def _of_measuring(scheme: Scheme, form: Form) -> Iterator[str]:
    return exclusion.reasons(
        form, OpCodeInfo(form.code), scheme.category, features(form.code), scheme.operands
    )


def _of_its_own(scheme: Scheme, form: Form) -> Iterator[str]:
    """Reasons that matter to sampling alone."""
    names = {hole.name for hole in form.holes}
    if form.prefix.startswith("rep"):
        yield "repeats itself as often as a register says"
    if any(one.kind == "flags" and "W" in one.access and "df" in one.registers for one in scheme.operands):
        yield "may turn the direction of string instructions"
    if form.narrows is not None:
        if names & {GPR8_LOW_CODE.name, GPR8_HIGH_CODE.name}:
            yield "one half of the registers of another scheme"
        elif XMM.name in names or scheme.encoding != "legacy":
            yield "a predicate of its own of another scheme"
    if MASK_PAIR.name in names:
        yield "names two mask registers at once"
    for operand in scheme.operands:
        if operand.kind == "register" and operand.registers:
            fixed = Fixed.of(operand)
            if fixed.family not in range(_MOST_FAMILIES):
                yield f"uses {operand.registers[0]}, which programs do not compute with"
            elif fixed.bank == "general" and fixed.family in BASES and "W" in operand.access:
                yield f"overwrites {operand.registers[0]}, which blocks address memory through"
