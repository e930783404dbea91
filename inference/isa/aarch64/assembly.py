"""The syntax of AArch64's assembly for `inference.isa.words.assembly`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from inference.isa.aarch64 import NAME
from inference.isa.aarch64.blocks import BLOCKS
from inference.isa.aarch64.statements import is_mnemonic, read_instruction
from inference.isa.code.markers import RegionMarkers
from inference.isa.words.assembly import AssemblySyntax
from inference.isa.words.statements import ReadInstruction

_ARMASM = re.compile(
    r"(?:area|export|import|extern|global|align|endp|end|entry|preserve8|get|ttl|thumb|arm|ltorg)\b.*"
    r"|(?<![\w.$|])[\w.$|]++\s++(?:proc|endp|function|equ)\b.*",
    re.IGNORECASE,
)
"""Directives of armasm."""

MARKERS = RegionMarkers(
    bytes.fromhex("e10d80d2"),
    bytes.fromhex("c11b80d2"),
    (bytes.fromhex("d503201f"), bytes.fromhex("1f2003d5")),
)
"""OSACA's: `mov x1, #111`, `mov x1, #222`, and a `nop` whose bytes it writes in either order."""


def _read(text: str, compressed: bool) -> Sequence[ReadInstruction]:
    del compressed
    return (read_instruction(text),)


SYNTAX = AssemblySyntax(
    NAME,
    _read,
    is_mnemonic,
    BLOCKS.steps_of,
    MARKERS,
    {"inst": 4, "word": 4, "long": 4, "4byte": 4, "byte": 1},
    "inst",
    frozenset("cpu arch_extension variant_pcs tlsdesccall ltorg pool aeabi_subsection".split()),  # noqa: SIM905
    _ARMASM,
    numbers_have_hashes=True,
)
