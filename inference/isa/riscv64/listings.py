"""The syntax of RISC-V's listings for `inference.isa.words.listings`."""

from __future__ import annotations

import re

from inference.isa.riscv64.assembly import SYNTAX
from inference.isa.riscv64.decoding import decode
from inference.isa.words.listings import ListingSyntax, WordListings

_NUMBER = r"(?:0x[0-9a-f]+|\d+)"

LISTINGS = WordListings(
    ListingSyntax(
        SYNTAX,
        decode,
        (2, 4),
        comment=re.compile(r"(?<!\s)\s*<[^<>]*>.*|(?<!\s)\s+(?:#|;|//).*"),
        jump=re.compile(
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
