"""The operand facet of AArch64, for abstracting and sampling basic blocks (`inference.isa.operand_slots`)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from inference.isa.aarch64 import by_text
from inference.isa.aarch64.sampling.schemes import (
    AArch64BlockScheme,
    decode_operands,
    filler,
    independent_fillings,
)
from inference.isa.aarch64.sampling.slots import NAMES

__all__ = ["block_scheme", "block_schemes", "decode_operands", "filler", "independent_fillings", "names"]

names = NAMES


@cache
def block_schemes() -> Mapping[str, AArch64BlockScheme]:
    return {text: AArch64BlockScheme(scheme) for text, scheme in by_text().items()}


def block_scheme(text: str) -> AArch64BlockScheme | None:
    """The scheme of a text, None where there is none."""
    return block_schemes().get(text)
