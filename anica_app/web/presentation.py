"""Template filters for campaigns (a template builtin, see settings.TEMPLATES)."""

from __future__ import annotations

import math

from django import template

from anica_app.models import Discovery, Family
from anica_app.storage.findings import condition_of, condition_of_family, repeated_findings
from inference.isa.blocks import intel_or_digits
from inference.models import ISA
from inference.web.presentation import UNKNOWN, isa_of

register = template.Library()

INFINITE = "\N{INFINITY}"


@register.filter
def interest(value: float | None) -> str:
    """Return a mean difference: 1.5431 → 1.54, or ∞ where a failure counts."""
    if value is None:
        return UNKNOWN
    return INFINITE if math.isinf(value) else f"{value:.2f}"


@register.filter
def asm(code: bytes | str, isa: ISA | str | None = None) -> str:
    """Return machine code, or its hexadecimal digits, as Intel syntax on one line; undecodable code
    unchanged.

    `isa`: the instruction set or its row.
    """
    machine_code = bytes.fromhex(code) if isinstance(code, str) else bytes(code)
    return "; ".join(intel_or_digits(machine_code, isa_of(isa)))


@register.filter
def asm_lines(code: bytes | str, isa: ISA | str | None = None) -> str:
    """Return machine code as `asm` does, with an instruction on each line."""
    return asm(code, isa).replace("; ", "\n")


register.filter("repetitions", repeated_findings)


@register.filter
def condition(row: Discovery | Family) -> str:
    """Return the condition under which a discovery, or the witness of a family, holds: only where cl = 0."""
    return condition_of_family(row) if isinstance(row, Family) else condition_of(row)
