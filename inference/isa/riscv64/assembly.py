"""The syntax of RISC-V's assembly for `inference.isa.words.assembly`."""

from __future__ import annotations

from inference.isa.code.markers import RegionMarkers
from inference.isa.riscv64 import NAME
from inference.isa.riscv64.blocks import BLOCKS
from inference.isa.riscv64.statements import is_mnemonic, read
from inference.isa.words.assembly import AssemblySyntax

MARKERS = RegionMarkers(
    bytes.fromhex("9305f006"), bytes.fromhex("9305e00d"), (bytes.fromhex("13000000"), bytes.fromhex("0100"))
)
"""OSACA's: `li a1, 111`, `li a1, 222`, and a `nop`."""

SYNTAX = AssemblySyntax(
    NAME,
    read,
    is_mnemonic,
    BLOCKS.steps_of,
    MARKERS,
    {"insn": 4, "word": 4, "long": 4, "4byte": 4, "half": 2, "short": 2, "2byte": 2, "byte": 1},
    "insn",
    frozenset(("option", "attribute", "variant_cc", "sdata", "sbss", "half", "dword")),
)
