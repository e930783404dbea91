"""LLVM's opcode names (`ADD64rr`, `VPADDDZ128rmk`) read to schemes, without LLVM.

Such a name is a mnemonic, the size of general-purpose registers or of vectors, and a letter for each operand:

    ADD 64 rr          add GPR[64]:RW, GPR[64]:R
    VADDPD Y rm        vaddpd YMM:W, YMM:R, MEM[256]:R      (the first source is left out)
    IMUL 64 rri32      imul GPR[64]:W, GPR[64]:R, IMM[32]:R
    VPADDD Z128 rmbkz  vpaddd XMM{k}{z}:W, XMM:R, MEM[32]{1to4}:R

The grammar has grown: which operands are named differs by instruction and by release (`VPERM2F128rr` has
become `VPERM2F128rri`). So each scheme of the mnemonic has a few names that it could have, with a
penalty for those that fit less well, and the schemes of the least penalty are what a name means.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache

from inference.isa.scheme import Operand, Scheme
from inference.isa.x86.forms import MNEMONICS
from inference.isa.x86.scheme_set import schemes_of

_MIN_LENGTH, _MAX_LENGTH = 3, 40  # characters of an opcode's name
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_SUFFIXES = re.compile(  # bounded: `_MAX_LENGTH`
    r"(?:_(?:int|rev|alt|norex|rex|evex|nd|nf|bad|64))+(?=kz?$|$)"
)
"""Suffixes behind the operands: the opcode's use inside LLVM, or another encoding."""

_COPIES = re.compile(r"\{1to(\d+)\}")
_CONDITIONAL = {"cmov": "cmov", "setcc": "set"}
_MAX_MNEMONICS = 40  # that a name may begin with and are tried

_MOVES = {
    "movdi2pdi": ("movd", "XMM", "GPR MEM"),
    "movpdi2di": ("movd", "GPR MEM", "XMM"),
    "mov64topqi": ("movq", "XMM", "GPR MEM"),
    "movqi2pqi": ("movq", "XMM", "MEM"),
    "movpqito64": ("movq", "GPR MEM", "XMM"),
    "movpqi2qi": ("movq", "MEM XMM", "XMM"),
    "movzpqilo2pqi": ("movq", "XMM", "XMM"),
}
"""{LLVM's name of a move between register files: mnemonic, and prefixes of each operand}."""

_ALIASES = {
    "movsx": ("movsxd",),
    "noopl": ("nop",),
    "noopw": ("nop",),
    "noopq": ("nop",),
    "noop": ("nop",),
    "lxadd": ("xadd",),
    "lcmpxchg": ("cmpxchg",),
}
_WITHOUT_SIZE = ("set", "crc32", "movnti", "nop", "cvt", "vcvt")
"""General-purpose registers of these have no size in the name, or only behind their letters."""

_OMITTED_COST, _UNLIKELY_COST, _OLD_STYLE_COST = 1, 2, 4  # of readings of a name; the cheapest is taken
_MAX_PENALTY = 6
"""Names with a higher penalty are other words, such as `addr`."""


@lru_cache(maxsize=1024)
def schemes_named(name: str) -> tuple[str, ...]:
    """The texts of the schemes of LLVM's opcode name, () for another word.

    Several where LLVM does not distinguish them: for `CMOV64rr`, the condition is an operand.

    >>> schemes_named("ADD64rr")
    ('add GPR[64]:RW, GPR[64]:R',)
    """
    opcode = name.lower()
    if not _MIN_LENGTH <= len(opcode) <= _MAX_LENGTH or not _NAME.fullmatch(opcode):
        return ()
    opcode = _SUFFIXES.sub("", opcode)
    penalties: dict[str, int] = {}
    for mnemonic in _mnemonics_in(opcode):
        for scheme in schemes_of(mnemonic):
            penalty = min((cost for possible, cost in _names(scheme) if possible == opcode), default=None)
            if penalty is not None and penalty <= _MAX_PENALTY:
                penalties[scheme.text] = penalty
    lowest = min(penalties.values(), default=0)
    return tuple(text for text, penalty in penalties.items() if penalty == lowest)


def _mnemonics_in(name: str) -> list[str]:
    """The mnemonics that a name can begin with, behind a prefix; the longest first."""
    bare = re.sub(r"^(?:lock_|rep_|repne_|mmx_)", "", name)
    names = [mnemonic for length in range(len(bare), 1, -1) if (mnemonic := bare[:length]) in _mnemonics()]
    for start, family in _CONDITIONAL.items():
        if bare.startswith(start):
            names += [
                other for other in sorted(_mnemonics()) if re.fullmatch(f"{family}n?[a-z]{{1,2}}", other)
            ]
    vector, scalar = ("v", bare[1:]) if bare.startswith("v") else ("", bare)
    names += [f"{vector}{mnemonic}" for start, (mnemonic, _, _) in _MOVES.items() if scalar.startswith(start)]
    names += [other for start, aliases in _ALIASES.items() if bare.startswith(start) for other in aliases]
    if "si642" in bare:
        names += [other for other in _mnemonics_in(bare.replace("si642", "si2")) if other not in names]
    return names[:_MAX_MNEMONICS]


@cache
def _mnemonics() -> frozenset[str]:
    return frozenset(MNEMONICS.values())


def _names(scheme: Scheme) -> Iterator[tuple[str, int]]:
    """Possible names of a scheme, in lower case, each with its penalty."""
    explicit = [operand for operand in scheme.operands if not operand.implicit]
    tails = list(_tails(scheme, explicit))
    for head, size, cost in _heads(scheme, explicit):
        for tail, tail_cost in tails:
            yield f"{head}{size}{tail}", cost + tail_cost


def _heads(scheme: Scheme, explicit: list[Operand]) -> Iterator[tuple[str, str, int]]:
    """(mnemonic part, size part, penalty)."""
    for stem, extra in _stems(scheme, explicit):
        for size, cost in _sizes(scheme, explicit):
            yield stem, size, cost + extra


def _stems(scheme: Scheme, explicit: list[Operand]) -> Iterator[tuple[str, int]]:
    """(beginning of an opcode's name that LLVM may use, cost), the mnemonic with its peculiarities."""
    mnemonic, first = scheme.mnemonic, scheme.text.split()[0]
    if first == "lock":
        yield f"lock_{mnemonic}", 0
        yield f"l{mnemonic}", 0
        return
    if first in ("rep", "repe", "repne"):
        yield f"{'repne' if first == 'repne' else 'rep'}_{mnemonic}", 0
        return
    media = any(operand.name == "MM" for operand in explicit)
    if media:
        yield f"mmx_{mnemonic}", 0
    wide = "si2" in mnemonic and explicit[-1].width == 64
    yield mnemonic, _UNLIKELY_COST if wide or media else 0
    condition = re.fullmatch(r"(cmov|set)n?[a-z]{1,2}", mnemonic)
    if condition:
        yield ("cmov" if condition[1] == "cmov" else "setcc"), 0
    if mnemonic == "movsxd":
        yield "movsx", 0
    if wide:
        yield mnemonic.replace("si2", "si642"), 0
    if mnemonic == "nop":
        yield from ((f"noop{letter}", 0) for letter in _letter_of_nop(explicit))
    if mnemonic == "lea" and explicit[0].width == 32:
        yield "lea64_", 0
    if scheme.encoding in ("VEX", "XOP") and len(explicit) == 4:
        yield f"{mnemonic}4", 0
    vector, scalar = ("v", mnemonic[1:]) if mnemonic.startswith("v") else ("", mnemonic)
    for start, (other, *classes) in _MOVES.items():
        pairs = zip(explicit, classes, strict=False)
        if scalar == other and all(operand.name[:3] in names for operand, names in pairs):
            yield f"{vector}{start}", 0


def _letter_of_nop(explicit: list[Operand]) -> tuple[str, ...]:
    return ({16: "w", 32: "l", 64: "q"}[explicit[0].width],) if explicit else ("",)


def _sizes(scheme: Scheme, explicit: list[Operand]) -> Iterator[tuple[str, int]]:
    """The text between mnemonic and operands: the size of general-purpose registers or of vectors."""
    if scheme.encoding == "EVEX":
        copies = _COPIES.search(scheme.text)
        broadcast = int(copies[1]) * explicit[-1 if "IMM" not in scheme.text else -2].width if copies else 0
        widest = max(scheme.width, broadcast)
        yield {512: "z", 256: "z256"}.get(widest, "z128"), 0
        yield ("" if widest == 512 else str(widest)), _UNLIKELY_COST  # VPERMI2B128rr
        if widest not in (256, 512):
            yield "z", _OMITTED_COST  # of scalars
            if any(operand.name == "GPR[64]" for operand in explicit):
                yield "64z", 0
        return
    general = [
        operand.width for operand in explicit if operand.name.startswith("GPR") or _is_accumulator(operand)
    ]
    vector = any(operand.name in ("XMM", "YMM") for operand in explicit)
    if vector:
        if scheme.width == 256:
            yield "y", 0
            yield "", _OMITTED_COST
        else:
            yield "", _UNLIKELY_COST if 64 in general and "si2" not in scheme.mnemonic else 0
            yield "128", _OMITTED_COST
        if 64 in general:
            yield "64", 0
        return
    size = explicit[0].width if explicit else 0
    if explicit and explicit[0].kind == "immediate":  # pushed
        yield ("16" if scheme.text.startswith("data16") else "64"), 0
    if scheme.mnemonic == "mov" and explicit[0].name.startswith(("SEG", "MOFFS")):
        size = explicit[1].width
    if size and explicit[0].kind != "address":
        yield str(size), 0
    if not general or scheme.mnemonic.startswith(_WITHOUT_SIZE):
        yield "", _UNLIKELY_COST if general and size == 64 else 0


def _is_accumulator(operand: Operand) -> bool:
    return operand.name in ("al", "ax", "eax", "rax")


def _tails(scheme: Scheme, explicit: list[Operand]) -> Iterator[tuple[str, int]]:
    decoration = "".join(
        ("b" if "{1to" in scheme.text or "{er}" in scheme.text or "{sae}" in scheme.text else "",)
        + (("kz",) if "{z}" in scheme.text else ("k",) if "{k}" in scheme.text else ())
    )
    tokens = [_letters(operand, explicit[0].width) for operand in explicit]
    if any(not choices for choices in tokens):
        return
    last = len(tokens) - 1
    for positions, cost in _named_operands(scheme, explicit):
        for tail, tail_cost in _join_tokens([tokens[place] for place in positions]):
            at_end = bool(positions) and positions[-1] == last and explicit[last].kind == "immediate"
            decorated = re.sub(r"i\d*$", rf"{decoration[:1]}\g<0>{decoration[1:]}", tail)
            if decoration.startswith("b") and at_end:
                yield decorated, cost + tail_cost
            yield f"{tail}{decoration}", cost + tail_cost


def _named_operands(scheme: Scheme, explicit: list[Operand]) -> Iterator[tuple[list[int], int]]:
    """Positions of the named operands, with a penalty for unusual choices."""
    places = list(range(len(explicit)))
    vector = any(operand.name[:3] in ("XMM", "YMM", "ZMM") for operand in explicit)
    several = scheme.encoding != "legacy" and len(places) > 2 and explicit[0].kind == "register"
    choices = [(places, _OMITTED_COST if several else 0)]
    if explicit and explicit[-1].kind == "memory":
        choices.append((places[:-2], _OLD_STYLE_COST))  # PREFETCH, VBROADCASTF128
    if len(places) > 2 and explicit[0].kind == "memory":
        choices.append((places[:-1], _OMITTED_COST))
    elif vector and len(places) == 2:
        choices.append((places[1:], _UNLIKELY_COST))  # VSQRTPSr
    if several:
        choices.append((places[1:], 0))
    if several and len(places) > 2:
        choices += [(places[2:], _OMITTED_COST), (places[:-1], _OMITTED_COST), (places[1:-1], _UNLIKELY_COST)]
    if scheme.mnemonic in ("xadd", "xchg"):
        choices.append((places[::-1], 0))
    for positions, cost in choices:
        yield positions, cost
        if positions and explicit[positions[-1]].kind == "immediate" and vector:
            yield positions[:-1], cost + _OLD_STYLE_COST


def _letters(operand: Operand, size: int) -> list[tuple[str, int]]:
    """Spellings of an operand, [] for one that no name has; `size` is the width of the first operand."""
    name = operand.name.partition("{")[0]
    if operand.kind in ("immediate", "memory"):
        return (
            _letters_of_immediate(operand, size)
            if operand.kind == "immediate"
            else _letters_of_memory(operand)
        )
    if name.startswith("GPR"):
        plain = 0 if name in ("GPR[8]", "GPR[16]", "GPR[32]", "GPR[64]") else _OMITTED_COST
        return [("r", plain), (f"r{operand.width}", plain + _OMITTED_COST)]
    if name in ("XMM", "YMM", "ZMM", "MM", "TMM"):
        return [("r", 0)]
    letters = {"K": ("r", "k"), "SEG": ("s",), "cl": ("cl",)}.get(name, ("", "a"))
    return [(letter, 0) for letter in letters if operand.kind != "address" or not letter]


def _letters_of_immediate(operand: Operand, size: int) -> list[tuple[str, int]]:
    if operand.name == "0x1":
        return [("1", 0)]
    if not operand.name.startswith("IMM"):
        return []
    plain = operand.width in (8, size) or (operand.width == 32 and size > 64)
    return [(f"i{operand.width}", 0), ("i", 0 if plain else _OMITTED_COST)]


def _letters_of_memory(operand: Operand) -> list[tuple[str, int]]:
    if operand.registers:
        return [("", 0)]  # of string instructions
    if operand.name.startswith("MOFFS"):
        return [("o64", 0)]
    return [("m", 0), (f"m{operand.width}", _OMITTED_COST)]


def _join_tokens(tokens: list[list[tuple[str, int]]]) -> Iterator[tuple[str, int]]:
    if not tokens:
        yield "", 0
        return
    for first, cost in tokens[0]:
        for remaining, suffix in _join_tokens(tokens[1:]):
            yield f"{first}{remaining}", cost + suffix
