"""The syntax of AArch64's listings for `inference.isa.words.listings`."""

from __future__ import annotations

import re

from inference.isa.aarch64.assembly import SYNTAX
from inference.isa.aarch64.decoding import WORD_BYTES, decode
from inference.isa.words.listings import ListingSyntax, WordListings

LISTINGS = WordListings(
    ListingSyntax(
        SYNTAX,
        decode,
        (WORD_BYTES,),
        comment=re.compile(r"(?<!\s)\s*<[^<>]*>|(?<!\s)\s+(?://|;|#\s).*"),
        jump=re.compile(  # bounded: a line of at most 1,000 characters
            r"((?:b[a-z.]*|[ct]bn?z)\s++(?:[^,]*+,)*+\s*+)([^\s,]+)", re.IGNORECASE
        ),
        in_code=re.compile(r"\b((?:adrp?|ldr\w*)\s+\w+,)\s*(?:0x)?[0-9a-f]+", re.IGNORECASE),
        relative=re.compile(r"#?(?:\.\s*)?([+-]\d+|(?<=#)\d+)"),
        address=re.compile(r"#?(?:0x|(?:LAB|FUN|SUB|loc|sub)_)?([0-9a-f]+)h?", re.IGNORECASE),
        no_code=(".word", ".inst", ".long", ".byte", ".short", "...", "udf", "undefined", "<un", "(bad)"),
        register=re.compile(
            r"\b(?:[xw]zr|[xw](?:[12]?\d|30)|[vq](?:[12]?\d|3[01])(?:\.\d*[bhsd])?)\b", re.IGNORECASE
        ),
        relocation=re.compile(r"^\s*(?:R_AARCH64_|ARM64_RELOC_)"),
    )
)
listed_program = LISTINGS.listed_program
