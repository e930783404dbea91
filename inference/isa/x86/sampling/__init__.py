"""The operand facet of x86-64, for abstracting and sampling basic blocks (`inference.isa.operand_slots`)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from inference.isa.x86.sampling.decoding import decode_operands
from inference.isa.x86.sampling.names import NAMES
from inference.isa.x86.sampling.schemes import X86BlockScheme, filler, independent_fillings
from inference.isa.x86.scheme_set import forms_by_text, scheme_and_form, schemes

__all__ = ["block_scheme", "block_schemes", "decode_operands", "filler", "independent_fillings", "names"]

names = NAMES


@cache
def block_schemes() -> Mapping[str, X86BlockScheme]:
    forms = forms_by_text()
    return {scheme.text: X86BlockScheme(scheme, forms[scheme.text]) for scheme in schemes()}


def block_scheme(text: str) -> X86BlockScheme | None:
    """The scheme of a text, None where there is none."""
    pair = scheme_and_form(text)
    return None if pair is None else X86BlockScheme(*pair)
