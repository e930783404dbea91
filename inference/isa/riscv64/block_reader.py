"""The block facet of RISC-V: from machine code, assembly or a listing to instructions, and back."""

from __future__ import annotations

import re

from inference.isa.code.markers import RegionMarkers
from inference.isa.riscv64 import NAME
from inference.isa.riscv64.blocks import BLOCKS, SYNTAX, RiscvInstruction
from inference.isa.riscv64.decoding import decode
from inference.isa.riscv64.statements import is_mnemonic, read
from inference.isa.words.assembly import AssemblySyntax
from inference.isa.words.blocks import WordBlockReader
from inference.isa.words.listings import ListingSyntax, WordListings

MARKERS = RegionMarkers(
    bytes.fromhex("9305f006"), bytes.fromhex("9305e00d"), (bytes.fromhex("13000000"), bytes.fromhex("0100"))
)
"""OSACA's: `li a1, 111`, `li a1, 222`, and a `nop`."""

ASSEMBLY = AssemblySyntax(
    NAME,
    read,
    is_mnemonic,
    BLOCKS.steps_of,
    MARKERS,
    {"insn": 4, "word": 4, "long": 4, "4byte": 4, "half": 2, "short": 2, "2byte": 2, "byte": 1},
    "insn",
    frozenset(("option", "attribute", "variant_cc", "sdata", "sbss", "half", "dword")),
)
_NUMBER = r"(?:0x[0-9a-f]+|\d+)"

LISTINGS = WordListings(
    ListingSyntax(
        ASSEMBLY,
        decode,
        (2, 4),
        comment=re.compile(r"(?<!\s)\s*<[^<>]*>.*|(?<!\s)\s+(?:#|;|//).*"),
        jump=re.compile(  # bounded: a line of at most 1,000 characters
            r"((?:c\.)?(?:b[a-z]+|j(?:al)?|call|tail)\s++(?:[^,]*+,)*+\s*+)([^\s,]+)", re.IGNORECASE
        ),
        in_code=re.compile(r"\b((?:la|lla)\s+\w+,)\s*(?:0x)?[0-9a-f]+$", re.IGNORECASE),
        relative=re.compile(rf"(?:\.\s*)?([+-]{_NUMBER})", re.IGNORECASE),
        address=re.compile(r"(?:0x|(?:LAB|FUN|SUB|loc|sub)_)?([0-9a-f]+)h?", re.IGNORECASE),
        no_code=(
            *(".word", ".insn", ".long", ".byte", ".short", ".half", ".2byte", ".4byte", "..."),
            *("unimp", "c.unimp", "undefined", "<un", "(bad)"),
        ),
        register=re.compile(
            r"\b(?:zero|ra|[gt]p|f?[ast]\d{1,2}|[xf](?:[12]?\d|3[01])|\(sp\))\b", re.IGNORECASE
        ),
        relocation=re.compile(r"^\s*R_RISCV_"),
    )
)
READER = WordBlockReader(SYNTAX, RiscvInstruction, LISTINGS)
