"""The immediates of measured instructions (thesis §3.2.1)."""

from __future__ import annotations

import re

_SPECIAL = tuple(
    (re.compile(pattern), value)
    for pattern, value in (
        (r"v?cmp[ps][sd]", 5),  # "not less than": 43 means "never" to VEX, and is too much without
        (r"v?round[ps][sd]", 0x0B),  # 43 without its reserved bits: towards zero, no inexact exception
        (r"vperm2[fi]128", 0x21),  # 43 clears a half
        (r"v?p(alignr|s[lr]ldq)", 5),  # 43 shifts everything out
        (r"v?insertps", 0x50),  # 43 clears three elements
        (r"vsm3rnds2", 0x2A),  # numbers of rounds are even
        (r"(extr|insert)q", 11),  # length and position have to lie within 64 bits
    )
)


def immediate(mnemonic: str, width: int, otherwise: int) -> int:
    """The value of an immediate of `width` bits: 2^(width − 8) + 42, but nothing that is a special case.

    It has as many bytes as the scheme says, in the eyes of an assembler, too. `otherwise` is for widths
    below 8.
    """
    if width < 8:
        return otherwise
    if width == 8:
        for pattern, value in _SPECIAL:
            if pattern.fullmatch(mnemonic):
                return value
    return int(2 ** (width - 8) + 42)
