"""A line of Intel-syntax assembly, taken apart: prefixes, mnemonic, operands and decorations.

line       = {prefix} mnemonic [operand {"," operand}]
operand    = register | number | memory, with {decoration}
memory     = [size ["ptr" | "bcst"]] [segment ":"] "[" [segment ":"] address "]"
address    = sum of registers, register*scale and numbers
decoration = "{k1}" | "{z}" | "{1to8}" | "{sae}" | "{rn-sae}" …
number     = 42 | 0x2a | 2ah | 0b101, "-" before it or not
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from functools import cache
from typing import cast

from iced_x86 import Register

from inference.isa.x86.blocks.aliases import known_mnemonics, readings
from inference.isa.x86.blocks.errors import BlockError
from inference.isa.x86.iced_types import RegisterValue
from inference.isa.x86.instances import register_names

PREFIXES = {
    **{name: name for name in ("lock", "rep", "repe", "repne", "data16", "rex.w", "{evex}", "{vex}")},
    "repz": "repe",
    "repnz": "repne",
    "data64": "rex.w",
    "{vex3}": "{vex}",
    "{vex2}": "{vex}",
}
SIZES = {
    "byte": 8, "word": 16, "dword": 32, "fword": 48, "qword": 64, "mmword": 64, "tbyte": 80, "tword": 80,
    "xmmword": 128, "oword": 128, "ymmword": 256, "zmmword": 512,
}  # fmt: skip
_STATES = {"fpuenv14": 112, "fpuenv28": 224, "fpustate94": 752, "fpustate108": 864}
_SEGMENTS = ("es", "cs", "ss", "ds", "fs", "gs")
_ROUNDINGS = ("rn-sae", "rne-sae", "rd-sae", "ru-sae", "rz-sae")
_DECORATION = re.compile(r"\{([^{}]*)\}")
_COMMA = re.compile(r",(?![^\[]*\])")
_MEMORY = re.compile(r"(?:([a-z]\w*)\s*?\b)??(?:\s*(ptr|bcst)\b)?\s*(?:(\w\w)\s*:)?\s*\[([^\[\]]*)\]")
_TERM = re.compile(r"([+-]?)([^+-]+)")
_NUMBER = re.compile(r"([+-]?)(?:0x([0-9a-f]+)|([0-9][0-9a-f]*)h|0b([01]+)|([0-9]+))")
_MOST = 2**64
_LONGEST = 100  # characters of a number, leading zeros among them


@dataclass(frozen=True)
class RegisterOperand:
    """A register by iced's number."""

    register: RegisterValue


@dataclass(frozen=True)
class ImmediateOperand:
    """A number; negative ones are kept as they are written."""

    value: int


@dataclass(frozen=True)
class MemoryOperand:
    """`width` in bits or None where none was given, registers by iced's numbers, `broadcast` as in {1to8}."""

    width: int | None = None
    base: RegisterValue = Register.NONE
    index: RegisterValue = Register.NONE
    scale: int = 1
    displacement: int = 0
    segment: RegisterValue = Register.NONE
    broadcast: int = 0


Operand = RegisterOperand | ImmediateOperand | MemoryOperand


@dataclass(frozen=True)
class Line:
    """One instruction as it is written; `mask`, `zeroing` and `rounding` are EVEX's decorations."""

    prefixes: frozenset[str]
    mnemonic: str
    operands: tuple[Operand, ...]
    mask: RegisterValue = Register.NONE
    zeroing: bool = False
    rounding: str = ""


def read_line(text: str) -> Line:
    """An instruction, without comment. Raises `BlockError`."""
    rest = " ".join(text.lower().split())
    prefixes = set()
    while True:
        word, _, after = rest.partition(" ")
        if word not in PREFIXES or not after:
            break
        prefixes.add(PREFIXES[word])
        rest = after
    mnemonic, _, written = rest.partition(" ")
    if not re.fullmatch(r"[a-z][a-z0-9_.]*", mnemonic):
        raise BlockError(f"an instruction begins with its mnemonic, not with {mnemonic[:40]!r}")
    if not any(readings(mnemonic)):
        near = difflib.get_close_matches(mnemonic, known_mnemonics(), 3)
        hint = f"; is it {' or '.join(near)}?" if near else ""
        raise BlockError(f"x86-64 has no instruction {mnemonic[:40]!r}{hint}")
    decorations = _DECORATION.findall(written)
    found = _Decorations.of(decorations)
    parts = [part.strip() for part in _COMMA.split(_DECORATION.sub("", written))] if written else []
    if parts and decorations and not parts[-1]:
        parts.pop()  # a rounding of its own after the last comma
    operands = [_operand(part) for part in parts]
    if found.broadcast:
        operands = [
            MemoryOperand(**{**vars(one), "broadcast": found.broadcast})
            if isinstance(one, MemoryOperand)
            else one
            for one in operands
        ]
    if any(isinstance(one, MemoryOperand) and _is_vector(one.index) for one in operands):
        for one in [one for one in operands if isinstance(one, RegisterOperand) and _is_mask(one.register)]:
            operands.remove(one)  # of gathers and scatters, some write the mask as an operand
            found.mask = one.register
    return Line(frozenset(prefixes), mnemonic, tuple(operands), found.mask, found.zeroing, found.rounding)


@dataclass
class _Decorations:
    mask: RegisterValue = Register.NONE
    zeroing: bool = False
    rounding: str = ""
    broadcast: int = 0

    @classmethod
    def of(cls, names: list[str]) -> _Decorations:
        found = cls()
        for name in (name.strip() for name in names):
            if name == "z":
                found.zeroing = True
            elif name == "sae" or name in _ROUNDINGS:
                found.rounding = name
            elif re.fullmatch(r"1to\d{1,2}", name):
                found.broadcast = int(name[3:])
            elif re.fullmatch(r"k[0-7]", name):
                found.mask = registers()[name]
            else:
                raise BlockError(
                    f"there is no decoration {{{name[:20]}}}: {{k1}}, {{z}}, {{1to8}}, {{rn-sae}} are some"
                )
        return found


def _operand(text: str) -> Operand:
    if text in registers():
        return RegisterOperand(registers()[text])
    if "[" in text or "]" in text:
        return _memory(text)
    number = _number(text.replace(" ", ""))
    if number is not None:
        return ImmediateOperand(number)
    if not text:
        raise BlockError("an operand is missing beside a comma")
    raise BlockError(f"{text[:40]!r} is no register, number or memory like [rax+8]; labels mean nothing here")


def _memory(text: str) -> MemoryOperand:
    found = _MEMORY.fullmatch(text)
    if found is None:
        raise BlockError(f"memory is written like 'qword ptr [rax+rcx*8+16]', not {text[:40]!r}")
    size, _, segment, inside = found.groups()
    if size is not None and size not in SIZES and size not in _STATES:
        raise BlockError(f"there is no memory size {size!r}; there are {', '.join(SIZES)}")
    before, colon, after = inside.partition(":")
    if colon:
        segment, inside = before.strip(), after
    if segment is not None and segment not in _SEGMENTS:
        raise BlockError(f"there is no segment {segment!r}; there are {', '.join(_SEGMENTS)}")
    return _address(
        inside, {**SIZES, **_STATES}.get(size or ""), registers()[segment] if segment else Register.NONE
    )


def _address(inside: str, width: int | None, segment: RegisterValue) -> MemoryOperand:
    packed = inside.replace(" ", "")
    if not packed or "".join(match.group(0) for match in _TERM.finditer(packed)) != packed:
        raise BlockError(f"[{inside[:40]}] is no address: registers, register*scale and numbers are added")
    plain: list[RegisterValue] = []
    scaled: list[tuple[RegisterValue, int]] = []
    displacement = 0
    for sign, term in _TERM.findall(packed):
        number = _number(term)
        if number is not None:
            displacement += -number if sign == "-" else number
            continue
        if sign == "-":
            raise BlockError(f"a register cannot be subtracted in [{inside[:40]}]")
        first, star, second = term.partition("*")
        name, factor = (second, first) if star and second in registers() else (first, second)
        if name not in registers():
            raise BlockError(f"{name[:20]!r} in [{inside[:40]}] is no register")
        if not star:
            plain.append(registers()[name])
        elif factor in ("1", "2", "4", "8"):
            scaled.append((registers()[name], int(factor)))
        else:
            raise BlockError(f"a scale is 1, 2, 4 or 8, not {factor[:20]!r}")
    if len(plain) + len(scaled) > 2 or len(scaled) > 1:
        raise BlockError(f"[{inside[:40]}] has too many registers: a base and an index is what there can be")
    base = plain[0] if plain else Register.NONE
    index, scale = scaled[0] if scaled else (plain[1] if len(plain) > 1 else Register.NONE, 1)
    if not scaled and (_is_stack_pointer(index) or _is_vector(base)):
        base, index = index, base
    return MemoryOperand(width, base, index, scale, displacement, segment)


def _is_stack_pointer(register: RegisterValue) -> bool:
    return register in (Register.RSP, Register.ESP)


def _is_vector(register: RegisterValue) -> bool:
    return bool(Register.XMM0 <= register <= Register.ZMM31)


def _is_mask(register: RegisterValue) -> bool:
    return bool(Register.K0 <= register <= Register.K7)


def _number(text: str) -> int | None:
    found = _NUMBER.fullmatch(text)
    if found is None:
        return None
    sign, *digits = found.groups()
    places = zip(digits, (16, 16, 2, 10), strict=True)
    # Python converts no decimal number of thousands of digits.
    value = _MOST if len(text) > _LONGEST else next(int(some, base) for some, base in places if some)
    if value >= _MOST:
        raise BlockError(f"{text[:40]} does not fit into 64 bits")
    return -value if sign == "-" else value


@cache
def registers() -> dict[str, RegisterValue]:
    """{name: iced's number} of all registers, with their usual other names."""
    found = {name: cast(RegisterValue, number) for number, name in register_names().items() if name != "none"}
    for number in range(8, 16):
        found[f"r{number}b"] = found[f"r{number}l"]
    for number in range(8):
        found[f"st({number})"] = found[f"st{number}"]
    return {**found, "st": found["st0"]}
