"""Operands as manuals and assemblers abbreviate them: `r64`, `r/m32`, `m128`, `xmm/m128`, `imm8`."""

from __future__ import annotations

import re

_WORD = re.compile(
    r"(?:r|gpr|reg)(?P<general>8|16|32|64)|(?:m|mem)(?P<memory>8|16|32|64|80|128|256|512)?"
    r"|imm(?P<immediate>8|16|32|64)?|(?P<vector>[xyz]mm)|rel(?P<relative>8|32)"
)
_EITHER = re.compile(r"(?:r/m|rm)(8|16|32|64)")
_HIGH_AND_LOW = ("GPR[8]", "GPR[8a]", "GPR[8b]", "GPR[8h]")


def operands_named(word: str) -> frozenset[str]:
    """Beginnings of operands in scheme texts, any of which the word stands for; empty for other words.

    >>> sorted(operands_named("r/m64"))
    ['GPR[64]', 'MEM[64,', 'MEM[64]']
    """
    text = word.lower()
    if either := _EITHER.fullmatch(text):
        text = f"r{either[1]}/m{either[1]}"
    matches = [_WORD.fullmatch(part) for part in text.split("/")]
    return (
        frozenset(name for match in matches for name in _beginnings(match)) if all(matches) else frozenset()
    )


def _beginnings(match: re.Match[str] | None) -> tuple[str, ...]:
    assert match is not None, "only words of operands"
    if match["general"]:
        return _HIGH_AND_LOW if match["general"] == "8" else (f"GPR[{match['general']}]",)
    if match["vector"]:
        return (f"{match['vector'].upper()}",)
    if match["relative"]:
        return (f"REL[{match['relative']}]",)
    kind, width = ("IMM", match["immediate"]) if match[0].startswith("imm") else ("MEM", match["memory"])
    # Memory at a fixed register is `MEM[64,rdi]`.
    return (f"{kind}[{width}]", f"{kind}[{width},") if width else (f"{kind}[",)
