"""Reads PMEvo's names of AArch64 schemes, `_add_((REG:W:G:64)),_((REG:R:G:64)),_((REG:R:G:32)),_sxtw_2`.

A name is one instance: immediates and shift amounts are numbers in it, where a scheme has a class.
"""

from __future__ import annotations

import re

_REGISTER = re.compile(r"\((?:\(reg:(rw|r|w):([gf]):(\d+|vec)\))\)(?:\.(\d*)([bhsdq])(?:\[(\d)\])?)?")
"""`((reg:r:f:vec)).4s`, with the arrangement and the element of a vector."""

_LIST = re.compile(r"\{(.*)\}")
_SHIFT = re.compile(r"(lsl|lsr|asr|ror|msl)_(\d+)")
_EXTENSION = re.compile(r"([su]xt[bhw])(?:_\d)?")
_NUMBER = re.compile(r"#?-?(?:0x[0-9a-f]+|[0-9.]+(?:e[+-]?\d+)?)")  # `#0x10`, `1.5`
_ELEMENT_WIDTH = {"b": 8, "h": 16, "s": 32, "d": 64}
_LOADED = {"ldrsb": 8, "ldrsh": 16, "ldrsw": 32}
_REGISTER_FILES = {"g": "gpr", "f": "fpr"}

_FIXED_SHIFTS = ("lsl8", "lsl12", "lsl16", "lsl24", "msl8")  # of constants: the amount belongs to the scheme
_NARROW = tuple(f"imm[{width}]" for width in (12, 6, 5, 3, 4, 8, 16))
"""Bits of immediate operands that such a number may be, the likeliest first."""

_WIDE = ("imm[mask,64]", "imm[mask,32]", "imm[float]", "imm[bytes]")
_SIXTEEN_BITS = 65_536  # larger numbers need an instruction with a wide immediate

CLASSES = {
    "imm": (*_NARROW, *_WIDE),
    "zero": ("0", "0.0", *_NARROW, *_WIDE),
    "wide": (*_WIDE, *_NARROW),
    **{shift: (shift, "lsl3") for shift in _FIXED_SHIFTS},
}
"""Possible classes of operands that a name in this style leaves open, the most literal first."""

MARK = "VEC["
"""Occurs in some scheme text of the AArch64 set, and in no other set."""

SAME_MNEMONIC = {"not": "mvn"}


def operands(mnemonic: str, parts: list[str]) -> list[tuple[str, str] | None]:
    """Names and accesses of the operands as in scheme texts, in lower case; None for unknown ones."""
    names_and_accesses = [_operand(part) for part in parts]
    if not names_and_accesses or not parts[-1].startswith("[") or names_and_accesses[0] is None:
        return names_and_accesses
    width = _LOADED.get(mnemonic, names_and_accesses[0][0].partition("[")[2].rstrip("]"))
    return [*names_and_accesses[:-1], (f"mem[{width}]", "w" if mnemonic.startswith("st") else "r")]


def _operand(part: str) -> tuple[str, str] | None:
    if register := _REGISTER.fullmatch(part):
        return _register(*register.groups()), register[1]
    if (listed := _LIST.fullmatch(part)) and (first_register := _operand(listed[1])):
        return first_register[0].replace("vec[", "vecx1["), first_register[1]
    if shift := _SHIFT.fullmatch(part):
        shift_text = shift[1] + shift[2]
        return (shift_text if shift_text in _FIXED_SHIFTS else f"{shift[1]}3"), ""
    if extension := _EXTENSION.fullmatch(part):
        return extension[1] + ("2" if "_" in part else ""), ""
    if _NUMBER.fullmatch(part):
        return _constant(part.lstrip("#")), "r"
    return ("mem", "") if part.startswith("[") else None


def _constant(number: str) -> str:
    if re.fullmatch(r"-?\d+", number):
        return "zero" if int(number) == 0 else "imm" if 0 < int(number) < _SIXTEEN_BITS else "wide"
    return "zero" if number == "0.0" else "imm"


def _register(_access: str, file: str, width: str, lanes: str, letter: str, index: str) -> str:
    if width != "vec":
        return f"{_REGISTER_FILES[file]}[{width}]"
    if index:
        return f"elem[{_ELEMENT_WIDTH[letter]},{index}]"
    return f"vec[{lanes}{letter}]"
