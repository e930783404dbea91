"""Schemes that sampled blocks can contain, and in words why they cannot contain others.

Random blocks are passed to tools, and some to processors: they must neither leave the block nor need rights,
nor change the registers that address memory. Schemes that only some tools or campaigns support are excluded
by default, and selected by groups.
"""

from __future__ import annotations

from collections.abc import Iterator

from iced_x86 import OpCodeInfo

from inference.isa import scheme
from inference.isa.scheme import Scheme
from inference.isa.tables import table_of_module
from inference.isa.x86 import exclusion
from inference.isa.x86.forms import Form, features
from inference.isa.x86.holes import GPR8_HIGH_CODE, GPR8_LOW_CODE, MASK_PAIR, XMM
from inference.isa.x86.register_choices import R14, R15, RBP, Fixed

BASES = (RBP, R14, R15)
"""Registers through which sampled blocks address memory: no operand names them, and nothing writes them. rbp
needs no REX prefix, which cannot be combined with ah, bh, ch and dh."""

EVEX = "AVX-512 (EVEX encoding)"
"""The reason against most schemes, known without a description."""

_MAX_FAMILIES = 32
"""Limit of the families in a bank."""

_TABLES = table_of_module(__file__)
_GROUPS: dict[str, tuple[str, ...]] = {
    group: (*filter(None, (scheme.GROUPS.get(group),)), *reasons)
    for group, reasons in _TABLES["groups"].items()
}
"""By group: prefixes of the reasons against schemes unless it is requested."""


_IRRELEVANT_REASONS = (
    *(reason for reason in scheme.BREAKABLE if not reason.startswith("uses up")),
    *_TABLES["no_matter"]["reasons"],
)
"""Prefixes of reasons against measuring copies of a scheme that do not apply to blocks."""


def sampling_obstacle(scheme: Scheme, form: Form, groups: frozenset[str]) -> str:
    """Why blocks do not contain the scheme unless other groups are requested, "" where they do."""
    if scheme.encoding == "EVEX" and "avx512" not in groups:
        return EVEX
    requested = tuple(start for group in groups for start in _GROUPS[group])
    for reason in (*_measuring_reasons(scheme, form), *_sampling_reasons(scheme, form)):
        if not reason.startswith((*_IRRELEVANT_REASONS, *requested)):
            return reason
    return ""


def _measuring_reasons(scheme: Scheme, form: Form) -> Iterator[str]:
    return exclusion.reasons(
        form, OpCodeInfo(form.code), scheme.category, features(form.code), scheme.operands
    )


def _sampling_reasons(scheme: Scheme, form: Form) -> Iterator[str]:
    """Reasons that only apply to sampling."""
    names = {hole.name for hole in form.holes}
    if form.prefix.startswith("rep"):
        yield "repeats itself as often as a register says"
    flags = [operand for operand in scheme.operands if operand.kind == "flags" and "W" in operand.access]
    if any("df" in operand.registers for operand in flags):
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
            if fixed.family not in range(_MAX_FAMILIES):
                yield f"uses {operand.registers[0]}, which programs do not compute with"
            elif fixed.bank == "general" and fixed.family in BASES and "W" in operand.access:
                yield f"overwrites {operand.registers[0]}, which blocks address memory through"
