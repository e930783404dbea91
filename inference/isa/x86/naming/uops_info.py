"""uops.info's names of instructions (`ADD_R64_R64`, `VADDPD (YMM, YMM, M256)`) resolved to schemes, and back.

A word for the mnemonic, possibly some that distinguish encodings and prefixes (`LOCK`, `0F10`), and a word
for each operand: `R64`, `M128`, `I8`, `XMM`, `CL`, `K`, `M64_1to2`, … For `LEA`, the parts of the address
precede the register: `LEA_B_IS_D8_R64`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import product

from inference.isa.scheme import Operand, Scheme
from inference.isa.x86.assembly.mnemonics import readings
from inference.isa.x86.scheme_set import schemes_of

_NAME = re.compile(r"([a-z][a-z0-9]*)((?:_[a-z0-9]+)+)")
_PUNCTUATION = re.compile(r"[\s(),]+")
_MAX_LENGTH = 80
_ENCODING = re.compile(r"(?:0f)?[0-9a-f]{2}|(?:0f)?3[8a][0-9a-f]{2}|near|far|rex64|immb|immz|sse4")
"""Words that tell encodings of one instruction apart: `0f10`, `near`, `rex64`."""

_REPEATS = {"rep": ("rep", "repe"), "repe": ("rep", "repe"), "repne": ("repne",)}
_MEMORY = re.compile(r"m\d+")
_GENERAL = {
    "GPR[8]": ("r8l", "r8"),
    "GPR[8h]": ("r8h",),
    "GPR[16]": ("r16",),
    "GPR[32]": ("r32",),
    "GPR[64]": ("r64",),
}
_ADDRESS_PARTS = {"RIP": "r", "B": "b", "I": "i", "S*I": "is", "D8": "d8", "D": "d32"}
_OTHER_WIDTH, _OTHER_IMMEDIATE = 1, 2


@lru_cache(maxsize=1024)
def schemes_named(name: str) -> tuple[str, ...]:
    """The texts of the schemes of uops.info's name, () for another word.

    >>> schemes_named("ADD_R64_R64")
    ('add GPR[64]:RW, GPR[64]:R',)
    """
    if len(name) > _MAX_LENGTH or ("_" not in name and "(" not in name):
        return ()
    match = _NAME.fullmatch(_PUNCTUATION.sub("_", name.lower()).rstrip("_"))
    if match is None:
        return ()
    mnemonic, words = match[1], match[2].split("_")[1:]
    penalties: dict[str, int] = {}
    for candidate in {reading.mnemonic for reading in readings(mnemonic)}:
        for scheme in schemes_of(candidate):
            penalty = _penalty(words, scheme)
            if penalty is not None:
                penalties[scheme.text] = penalty
    lowest = min(penalties.values(), default=0)
    return tuple(text for text, penalty in penalties.items() if penalty == lowest)


_OF_GENERAL_REGISTERS = "add=01 or=09 adc=11 sbb=19 and=21 sub=29 xor=31 cmp=39 mov=89"
_TWO_ENCODINGS = {
    "r": dict(pair.split("=") for pair in _OF_GENERAL_REGISTERS.split()),
    "x": {
        **dict.fromkeys(("movups", "movupd", "movss"), "0f10"),
        **dict.fromkeys(("movaps", "movapd"), "0f28"),
        **dict.fromkeys(("movdqa", "movdqu"), "0f6f"),
    },
}
"""By the first letter of the registers: the opcode in the name of an operation from register to register, of
the two that it has the one that assemblers use."""
# The names were compared with 3,633 addresses of uops.info: what differs there is left out.
_UNCERTAIN = re.compile(
    r"call|jmp|invlpg|l(?:ar|[fgs]s|[gil]dt|msw|sl|tr)|v?movq|v?movsd|cmpsd|movsxd|push|retf?|sal|s[gil]dt|smsw"
    r"|str|ud[01]|ver[rw]|v?pextrw|prefetch(?:nta|t\d)|v?pcmpestr[im]64"
)
_EXTENSION = re.compile(
    r"BASE|X64|ADX|CMOV|LZCNT|MOVBE|POPCNT|BMI[12]|F16C|FMA4?|RD(?:RAND|SEED)|SHA|AVX2?|(?:AES|GFNI|PCLMULQDQ)(?:\+AVX)?"
    r"|AVX\+GFNI|AVX_VNNI|S?SSE[\d.]*|VAES|VPCLMULQDQ"
)
_ODD_WIDTHS = re.compile(  # bounded: a scheme of the instruction set
    r"bswap GPR\[16\].*|mov[sz]x GPR\[16\]:W, (?:GPR|MEM)\[16\].*"
    r"|v?(?:p?movmsk\w+|p?extr[^q]\w*|pinsr[^q]\w*) .*GPR\[64\].*"
)
_FAMILIES = ("cmov", "set")
_CONDITIONS = {"e": "z", "ne": "nz", "ae": "nb", "a": "nbe", "g": "nle", "ge": "nl"}
_ORDINARY = re.compile(r"(?:GPR\[(?:16|32|64)\]|[XY]MM|MEM\[\d+\]|IMM\[\d+\]|cl)")
"""Operands whose names at uops.info are certain."""


def name_of(scheme: Scheme) -> str:
    """uops.info's name of a scheme, as in the addresses of its pages; "" where it is not certain.

    >>> from inference.isa.x86.scheme_set import scheme_and_form
    >>> name_of(scheme_and_form("imul GPR[64]:RW, GPR[64]:R")[0])
    'IMUL_R64_R64'
    """
    explicit = [operand for operand in scheme.operands if not operand.implicit]
    is_plain = scheme.encoding in ("legacy", "VEX") and scheme.text.startswith(f"{scheme.mnemonic} ")
    is_known = (
        is_plain and not _UNCERTAIN.fullmatch(scheme.mnemonic) and _EXTENSION.fullmatch(scheme.extension)
    )
    if not is_known or not all(_ORDINARY.fullmatch(operand.name) for operand in explicit):
        return ""
    if _ODD_WIDTHS.fullmatch(scheme.text):
        return ""
    words = [word for operand in explicit for word in next(_words(operand))]
    name = "_".join([_named_mnemonic(scheme.mnemonic), *_encoding_words(scheme.mnemonic, words), *words])
    return name.upper()


def _named_mnemonic(mnemonic: str) -> str:
    for family in _FAMILIES:
        if mnemonic.startswith(family):
            condition = mnemonic.removeprefix(family)
            return f"{family}{_CONDITIONS.get(condition, condition)}"
    return mnemonic


def _encoding_words(mnemonic: str, words: list[str]) -> list[str]:
    are_registers = len(words) >= 2 and all(word[0] in "rxy" for word in words)
    if are_registers:
        bare = mnemonic.removeprefix("v") if words[0][0] in "xy" else mnemonic
        opcode = _TWO_ENCODINGS["r" if words[0][0] == "r" else "x"].get(bare)
        return [] if opcode is None else [opcode if bare == mnemonic else opcode.removeprefix("0f")]
    if len(words) == 3 and words[1][0] == "r" and mnemonic in ("imul", "shld", "shrd") and words[0][0] == "r":
        return ["cl" if words[2] == "cl" else "immb" if words[2] == "i8" else "immz"]
    return []


def _penalty(words: list[str], scheme: Scheme) -> int | None:
    """The penalty of a scheme for these words: 0 for an exact match, None for no match."""
    marks, operands = _split_marks(words)
    if not _marks_fit(marks, scheme):
        return None
    explicit = [operand for operand in scheme.operands if not operand.implicit]
    costs = [
        cost
        for expected in _possible_words(explicit)
        if len(expected) == len(operands) and (cost := _difference(operands, expected)) is not None
    ]
    return min(costs, default=None)


def _split_marks(words: list[str]) -> tuple[set[str], list[str]]:
    """Words that distinguish encodings, and the words of the operands."""
    marks = set()
    remaining = list(words)
    while remaining and (
        remaining[0] in {"lock", "evex", "er", "sae", "z", *_REPEATS} or _ENCODING.fullmatch(remaining[0])
    ):
        marks.add(remaining.pop(0))
    return marks, remaining


def _marks_fit(marks: set[str], scheme: Scheme) -> bool:
    first = scheme.text.split()[0]
    repeats = next((_REPEATS[mark] for mark in marks if mark in _REPEATS), ())
    prefixes = ("lock",) if "lock" in marks else repeats
    prefixed = first in ("lock", "rep", "repe", "repne")
    if prefixed != bool(prefixes) or (prefixes and first not in prefixes):
        return False
    text = scheme.text
    return (
        ("er" in marks) == ("{er}" in text)
        and ("sae" in marks) == ("{sae}" in text)
        and ("z" in marks) == ("{z}" in text)
        and ("evex" not in marks or scheme.encoding == "EVEX")
    )


def _possible_words(explicit: list[Operand]) -> Iterator[list[str]]:
    """The words of a scheme's operands, in each possible spelling."""
    in_order = sorted(explicit, key=lambda operand: operand.kind != "address")
    choices = [list(_words(operand)) for operand in in_order]
    for choice in product(*choices):
        yield [word for words in choice for word in words]


def _words(operand: Operand) -> Iterator[tuple[str, ...]]:
    name, _, decoration = operand.name.partition("{")
    masked = ("k",) if decoration.startswith("k") else ()
    if name in _GENERAL:
        yield from ((word,) for word in _GENERAL[name])
    elif name.startswith("MEM["):
        if operand.registers:
            yield ()  # string instructions do not show it
        word = f"m{operand.width}"
        vector = re.search(r",([XYZ]MM)", name)
        if vector:
            yield ("vsib", vector[1].lower(), *masked)
        else:
            yield (word, decoration.rstrip("}"), *masked) if decoration.startswith("1to") else (word, *masked)
    elif name.startswith(("IMM[", "REL[")):
        yield (f"{'i' if name.startswith('I') else 'rel'}{operand.width}",)
    elif name.startswith("0x"):
        yield (str(int(name, 16)),)
    elif operand.kind == "address":
        parts = name.removeprefix("ADDR").strip("[]") or "B+D"
        yield tuple(_ADDRESS_PARTS[part] for part in parts.split("+"))
    else:
        yield (name.lower(), *masked)
        if name.islower():
            yield ()  # a register that the mnemonic implies


def _difference(words: list[str], expected: list[str]) -> int | None:
    cost = 0
    for word, other in zip(words, expected, strict=True):
        if word == other:
            continue
        if _MEMORY.fullmatch(word) and _MEMORY.fullmatch(other):
            cost += _OTHER_WIDTH
        elif word == "0" and re.fullmatch(r"i\d+", other):
            cost += _OTHER_IMMEDIATE
        else:
            return None
    return cost
