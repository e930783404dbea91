"""Meanings of a written mnemonic: synonyms of conditions, implied immediates, AT&T's suffixes.

A reading is a mnemonic of iced's tables with further facts of the written name. Several readings of one name
are tried in turn: `movsd` moves a double or a string element, `movq` general or vector registers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import NamedTuple

from inference.isa.x86.forms import MNEMONICS

_CONDITIONS = {
    "c": "b", "nae": "b", "nb": "ae", "nc": "ae", "z": "e", "nz": "ne", "na": "be", "nbe": "a", "pe": "p",
    "po": "np", "nge": "l", "nl": "ge", "ng": "le", "nle": "g",
}  # fmt: skip
_PREDICATES = (
    *("eq", "lt", "le", "unord", "neq", "nlt", "nle", "ord", "eq_uq", "nge", "ngt", "false", "neq_oq", "ge"),
    *("gt", "true", "eq_os", "lt_oq", "le_oq", "unord_s", "neq_us", "nlt_uq", "nle_uq", "ord_s", "eq_us"),
    *("nge_uq", "ngt_uq", "false_os", "neq_os", "ge_oq", "gt_oq", "true_us"),
)
_LONG_PREDICATES = {  # with the default spelt out
    "eq_oq": 0, "lt_os": 1, "le_os": 2, "unord_q": 3, "neq_uq": 4, "nlt_us": 5, "nle_us": 6, "ord_q": 7,
    "nge_us": 9, "ngt_us": 10, "false_oq": 11, "ge_os": 13, "gt_os": 14, "true_uq": 15,
}  # fmt: skip
_LEGACY_PREDICATES = 8  # of SSE comparisons; AVX has 32
_INTEGER_PREDICATES = {
    name: value for value, name in enumerate(("eq", "lt", "le", "false", "neq", "nlt", "nle", "true"))
}
_XOP_PREDICATES = ("lt", "le", "gt", "ge", "eq", "neq", "false", "true")
_QUARTERS = {"lqlq": 0x00, "hqlq": 0x01, "lqhq": 0x10, "hqhq": 0x11}

_ALIASES = {
    "movabs": "mov", "sal": "shl", "fwait": "wait", "xlat": "xlatb", "retn": "ret", "lret": "retf",
    "pushf": "pushfq", "popf": "popfq", "pushfw": "pushf", "popfw": "popf", "iret": "iretd", "iretw": "iret",
    "ud2a": "ud2", "ud2b": "ud1", "icebp": "int1", "lcall": "call",
    "ljmp": "jmp", "sysexitl": "sysexit", "sysretl": "sysret", "loopz": "loope", "loopnz": "loopne",
    "fsetpm": "fnsetpm", "fcompi": "fcomip", "fucompi": "fucomip", "movsx": "movsxd", "movd": "movq",
    "vmovd": "vmovq",
}  # fmt: skip
_ATT_CONVERSIONS = {  # of both syntaxes, by AT&T's names: compilers mix them
    "cbtw": "cbw", "cwtl": "cwde", "cltq": "cdqe", "cwtd": "cwd", "cltd": "cdq", "cqto": "cqo",
}  # fmt: skip
_STRINGS = ("movs", "cmps", "stos", "lods", "scas", "ins", "outs")
_POPPING = ("fadd", "fmul", "fsub", "fsubr", "fdiv", "fdivr")
_BETWEEN_REGISTERS = ("fsub", "fdiv", "fsubr", "fdivr")

_NO_INSTRUCTIONS = frozenset({"invalid", "db", "dw", "dd", "dq", "zero_bytes"})
_LETTERS = {"b": 8, "w": 16, "l": 32, "q": 64}
_FLOATING = {"s": 32, "l": 64, "t": 80}
_INTEGERS = {"s": 16, "l": 32, "ll": 64, "q": 64}
_VECTORS = {"x": 128, "y": 256, "z": 512}
_EXTENDING = re.compile(r"mov([zs])(b|w|l)([wlq]?)")


class MnemonicReading(NamedTuple):
    """A meaning of a name: a mnemonic of iced's, an implied immediate, and widths in bits.

    Attributes:
        size: Size of an operand (or the operation, where no operand shows it), 0 where the name does not
            say.
        source: Source of the extended operand.
        long: `movabs`, with an immediate or address of eight bytes.
    """

    mnemonic: str
    implied: int | None = None
    size: int = 0
    source: int = 0
    long: bool = False


@lru_cache(maxsize=1 << 12)
def readings(name: str) -> tuple[MnemonicReading, ...]:
    """Meanings of a mnemonic in Intel syntax, the plainest first."""
    return tuple(dict.fromkeys(_readings(name)))


@lru_cache(maxsize=1 << 12)
def att_readings(name: str) -> tuple[MnemonicReading, ...]:
    """Meanings of a mnemonic in AT&T syntax: unchanged, or with a size suffix."""
    return tuple(dict.fromkeys(_att_readings(name)))


def is_mnemonic(name: str) -> bool:
    """Whether any assembler has an instruction of this name, in either syntax."""
    return bool(readings(name) or att_readings(name))


def _readings(name: str) -> Iterator[MnemonicReading]:
    """What a mnemonic may mean, the likeliest first: itself, aliases, pseudo-operations, other conditions."""
    mnemonics = known_mnemonics()
    if name in mnemonics and name not in ("sal", "pushf", "popf", "iret"):  # iced has others by these names
        yield MnemonicReading(name)
    if name in _STRINGS:
        yield from (MnemonicReading(f"{name}{size}") for size in "bwdq" if f"{name}{size}" in mnemonics)
    elif name in _ALIASES:
        yield MnemonicReading(_ALIASES[name], long=name == "movabs")
    elif name in _ATT_CONVERSIONS:
        yield MnemonicReading(_ATT_CONVERSIONS[name])
    if name in _pseudo_operations():
        mnemonic, implied = _pseudo_operations()[name]
        yield MnemonicReading(mnemonic, implied)
    for start, end in (("cmov", ""), ("set", ""), ("j", ""), ("cmp", "xadd")):
        condition = name.removeprefix(start).removesuffix(end)
        if f"{start}{condition}{end}" == name:
            for spelling in (_CONDITIONS.get(condition), *_same_as(condition)):
                if spelling is not None and f"{start}{spelling}{end}" in mnemonics:
                    yield MnemonicReading(f"{start}{spelling}{end}")
    if name in ("leaveq", "retq"):
        yield MnemonicReading(name[:-1], size=64)
    elif name in ("pushw", "popw"):  # objdump writes them so
        yield MnemonicReading(name[:-1], size=16)


def _att_readings(name: str) -> Iterator[MnemonicReading]:
    if match := _EXTENDING.fullmatch(name):
        sign, source, target = match.groups()
        mnemonic = "movzx" if sign == "z" else "movsxd" if source == "l" else "movsx"
        if mnemonic != "movsxd" or target == "q":
            yield MnemonicReading(mnemonic, size=_LETTERS.get(target, 0), source=_LETTERS[source])
    for stem, size in _with_suffix(name):
        if name == f"{stem}q" and stem in ("mov", "vmov"):
            yield from _size_readings(stem, size)  # of general registers, before that of vectors by this name
    if name in _STRINGS or name[:-1] in _STRINGS:
        yield from _att_string(name)
    yield from readings(name)
    for stem, size in _with_suffix(name):
        yield from _size_readings(stem, size)


def _att_string(name: str) -> Iterator[MnemonicReading]:
    """`movsl` moves 32 bits; the SSE instructions by such names have operands of their own."""
    letters = {"b": "b", "w": "w", "l": "d", "q": "q"}
    if (
        name[:-1] in _STRINGS
        and name[-1] in letters
        and f"{name[:-1]}{letters[name[-1]]}" in known_mnemonics()
    ):
        yield MnemonicReading(f"{name[:-1]}{letters[name[-1]]}")


def _with_suffix(name: str) -> Iterator[tuple[str, int]]:
    """(mnemonic without the suffix, its size in bits)."""
    if name.startswith("fi") and name[:-2] and name.endswith("ll"):
        yield name[:-2], _INTEGERS["ll"]
    stem, letter = name[:-1], name[-1:]
    if not stem:
        return
    if name.startswith("fi"):
        if letter in _INTEGERS:
            yield stem, _INTEGERS[letter]
    elif name.startswith("f"):
        if letter in _FLOATING:
            yield stem, _FLOATING[letter]
        if letter == "w":  # fnstsww and the like
            yield stem, 16
    elif letter in _LETTERS:
        yield stem, _LETTERS[letter]
    elif letter in _VECTORS:  # also of SSE, as VTune prints them
        yield stem, 0 if stem.startswith("prefetch") else _VECTORS[letter]


def _size_readings(stem: str, size: int) -> Iterator[MnemonicReading]:
    for reading in readings(stem):
        if reading.mnemonic == "crc32":
            yield MnemonicReading(reading.mnemonic, source=size)
        elif not reading.size:
            yield MnemonicReading(reading.mnemonic, reading.implied, size, long=reading.long)


def exchange_reversed(mnemonic: str) -> str:
    """AT&T's name of an x87 subtraction or division with target st(i): `fsub` for `fsubr` and back."""
    stem, popping = (mnemonic[:-1], "p") if mnemonic.endswith("p") else (mnemonic, "")
    if stem not in _BETWEEN_REGISTERS:
        return mnemonic
    return f"{stem[:-1] if stem.endswith('r') else f'{stem}r'}{popping}"


def pops_without_operands(mnemonic: str) -> bool:
    """Whether it is its popping variant without operands: `fadd` is `faddp st(1), st`."""
    return mnemonic in _POPPING


@cache
def known_mnemonics() -> frozenset[str]:
    """All mnemonics in iced's opcode tables."""
    return frozenset(MNEMONICS.values()) - _NO_INSTRUCTIONS


def _same_as(condition: str) -> list[str]:
    return [other for other, name in _CONDITIONS.items() if condition in (name, _CONDITIONS.get(other))]


@cache
def _pseudo_operations() -> dict[str, tuple[str, int]]:
    """{mnemonic: (the one with an immediate, its value)}, such as `vcmpeqps` for `vcmpps` with 0."""
    operations: dict[str, tuple[str, int]] = {}
    predicates = [*((name, value) for value, name in enumerate(_PREDICATES)), *_LONG_PREDICATES.items()]
    for name, value in predicates:
        for kind in ("ps", "pd", "ss", "sd", "ph", "sh"):
            operations[f"vcmp{name}{kind}"] = f"vcmp{kind}", value
            if value < _LEGACY_PREDICATES and name in _PREDICATES:
                operations[f"cmp{name}{kind}"] = f"cmp{kind}", value
    for kind in ("b", "w", "d", "q", "ub", "uw", "ud", "uq"):
        for name, value in _INTEGER_PREDICATES.items():
            operations[f"vpcmp{name}{kind}"] = f"vpcmp{kind}", value
        for value, name in enumerate(_XOP_PREDICATES):
            operations[f"vpcom{name}{kind}"] = f"vpcom{kind}", value
    for name, value in _QUARTERS.items():
        operations[f"pclmul{name}dq"] = "pclmulqdq", value
        operations[f"vpclmul{name}dq"] = "vpclmulqdq", value
    return operations
