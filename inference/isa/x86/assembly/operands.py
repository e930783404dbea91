"""The parts of an instruction as it is written, whatever the syntax: what the encoder is given."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple, cast

from iced_x86 import Register

from inference.isa.code.block import BlockError
from inference.isa.x86.iced_types import RegisterValue
from inference.isa.x86.instances import register_names

SIZES = {
    "byte": 8, "word": 16, "dword": 32, "fword": 48, "pword": 48, "qword": 64, "mmword": 64, "tbyte": 80,
    "tword": 80, "xword": 80, "xmmword": 128, "oword": 128, "ymmword": 256, "yword": 256, "zmmword": 512,
    "zword": 512, "fpuenv14": 112, "fpuenv28": 224, "fpustate94": 752, "fpustate108": 864,
}  # fmt: skip
SEGMENTS = ("es", "cs", "ss", "ds", "fs", "gs")

_STACK_POINTERS: frozenset[RegisterValue] = frozenset({Register.RSP, Register.ESP})
_NUMBER = re.compile(r"0x([0-9a-f]+)|([0-9][0-9a-f]*)h|0b([01]+)|([0-9]+)|'(.)'?", re.IGNORECASE)
_SYMBOL = re.compile(r"[A-Za-z_.$?@][\w.$?@]*")
_TOKEN = re.compile(
    rf"\s*(?:(?P<number>(?:{_NUMBER.pattern})(?![\w.$?@]))|(?P<symbol>{_SYMBOL.pattern})|(?P<sign>[-+*()~]))",
    re.IGNORECASE,
)
_WORD = re.compile(r"[\w.$?@]+")
_MOST = 2**64
_LONGEST = 100  # characters of a number, leading zeros among them
_DEEPEST = 20  # parentheses within each other


class RegisterOperand(NamedTuple):
    """A register by iced's number."""

    register: RegisterValue


class ImmediateOperand(NamedTuple):
    """A number; negative ones are kept as they are written. `symbol`: the name that it is made of, if any."""

    value: int
    symbol: str = ""


@dataclass(slots=True)  # frozen ones take three times as long to make
class MemoryOperand:
    """`width` in bits or None where none was given, registers by iced's numbers, `broadcast` as in {1to8}.

    `symbol`: the name in its displacement, which then takes four bytes. `spelt_zero`: a displacement of 0 was
    written out, as listings do where it takes bytes.
    """

    width: int | None = None
    base: RegisterValue = Register.NONE
    index: RegisterValue = Register.NONE
    scale: int = 1
    displacement: int = 0
    segment: RegisterValue = Register.NONE
    broadcast: int = 0
    symbol: str = ""
    spelt_zero: bool = False


class TargetOperand(NamedTuple):
    """Where a jump or call leads: a label, its `address` where a listing gives one, and bytes from there."""

    label: str
    address: int | None = None
    offset: int = 0


Operand = RegisterOperand | ImmediateOperand | MemoryOperand | TargetOperand


class WrittenInstruction(NamedTuple):
    """One instruction as it is written, its operands in Intel's order.

    `prefixes` are in the order of the text. `mask`, `zeroing` and `rounding` are EVEX's decorations.
    `is_att`: the mnemonic is one of AT&T's syntax.
    """

    mnemonic: str
    operands: tuple[Operand, ...] = ()
    prefixes: tuple[str, ...] = ()
    mask: RegisterValue = Register.NONE
    zeroing: bool = False
    rounding: str = ""
    is_att: bool = False


class Sum(NamedTuple):
    """A value: a number, and the first of the names that were added to it."""

    value: int
    symbol: str = ""
    has_number: bool = False


def number_of(text: str) -> int | None:
    """A whole number as assemblers write it, its sign aside; None for anything else. Raises `BlockError`."""
    found = _NUMBER.fullmatch(text)
    if found is None:
        return None
    *digits, character = found.groups()
    if character is not None:
        return ord(character) if character.isascii() else None
    if digits[3] and len(digits[3]) > 1 and digits[3].startswith("0") and digits[3].strip("0"):
        raise BlockError(
            f"{text[:40]} is octal to some assemblers, decimal to others: leave out the zero, or write 0x…"
        )
    places = zip(digits, (16, 16, 2, 10), strict=True)
    # Python converts no decimal number of thousands of digits.
    value = _MOST if len(text) > _LONGEST else next(int(some, base) for some, base in places if some)
    if value >= _MOST:
        raise BlockError(f"{text[:40]} does not fit into 64 bits")
    return value


def sum_of(text: str, constants: dict[str, int]) -> Sum:
    """What numbers, names and the signs + - * ~ ( ) between them amount to. Raises `BlockError`.

    Names that are among the `constants` have their value; every other one counts 0.
    """
    tokens = []
    position = 0
    stripped = text.rstrip()
    while position < len(stripped):
        match = _TOKEN.match(stripped, position)
        if match is None:
            raise BlockError(f"{stripped[:40]!r} is no number and no name of something")
        tokens.append(match)
        position = match.end()
    found = _Expression(tokens, constants)
    value = found.sum(0)
    if found.left or not tokens:
        raise BlockError(f"{stripped[:40]!r} is no number and no name of something")
    if not -_MOST < value < _MOST:
        raise BlockError(f"{stripped[:40]} does not fit into 64 bits")
    return Sum(value, found.symbol, has_number=found.has_number)


class _Expression:
    """A recursive descent over the tokens of a sum."""

    def __init__(self, tokens: list[re.Match[str]], constants: dict[str, int]) -> None:
        self._tokens = tokens
        self._constants = constants
        self._at = 0
        self.symbol = ""
        self.has_number = False

    @property
    def left(self) -> bool:
        return self._at < len(self._tokens)

    def sum(self, depth: int) -> int:
        value = self._product(depth)
        while (sign := self._next_sign()) in ("+", "-"):
            self._at += 1
            term = self._product(depth)
            value += term if sign == "+" else -term
        return value

    def _product(self, depth: int) -> int:
        value = self._factor(depth)
        while self._next_sign() == "*":
            self._at += 1
            value *= self._factor(depth)
            if abs(value) > _MOST * _MOST:
                raise BlockError("a displacement or immediate does not fit into 64 bits")
        return value

    def _factor(self, depth: int) -> int:
        if depth > _DEEPEST:
            raise BlockError(f"more than {_DEEPEST} parentheses or signs stand within each other")
        if not self.left:
            raise BlockError("something is missing after the last sign of a sum")
        token = self._tokens[self._at]
        self._at += 1
        if (number := token["number"]) is not None:
            self.has_number = True
            found = number_of(number)
            if found is None:
                raise BlockError(f"{number[:40]!r} is no number")
            return found
        if (symbol := token["symbol"]) is not None:
            if symbol in self._constants:
                return self._constants[symbol]
            self.symbol = self.symbol or symbol
            return 0
        sign = token["sign"]
        if sign == "(":
            value = self.sum(depth + 1)
            if self._next_sign() != ")":
                raise BlockError("a parenthesis is not closed")
            self._at += 1
            return value
        if sign in ("-", "+", "~"):
            value = self._factor(depth + 1)
            return -value if sign == "-" else ~value if sign == "~" else value
        raise BlockError(f"{sign!r} stands where a number or a name should")

    def _next_sign(self) -> str | None:
        return self._tokens[self._at]["sign"] if self.left else None


def memory_at(
    plain: list[RegisterValue], scaled: list[tuple[RegisterValue, int]], shown: str
) -> tuple[RegisterValue, RegisterValue, int]:
    """Base, index and scale of an address with these registers. Raises `BlockError`."""
    if len(plain) + len(scaled) > 2 or len(scaled) > 1:
        raise BlockError(f"{shown[:40]} has too many registers: a base and an index is what there can be")
    base: RegisterValue = plain[0] if plain else Register.NONE
    index, scale = scaled[0] if scaled else (plain[1] if len(plain) > 1 else Register.NONE, 1)
    if not scaled and (index in _STACK_POINTERS or is_vector(base)):
        base, index = index, base
    return base, index, scale


def is_vector(register: RegisterValue) -> bool:
    """Whether it is xmm0 … zmm31."""
    return bool(Register.XMM0 <= register <= Register.ZMM31)


def is_mask(register: RegisterValue) -> bool:
    """Whether it is k0 … k7."""
    return bool(Register.K0 <= register <= Register.K7)


def is_segment(register: RegisterValue) -> bool:
    """Whether it is es … gs."""
    return bool(Register.ES <= register <= Register.GS)


@cache
def registers() -> dict[str, RegisterValue]:
    """{name: iced's number} of all registers, with their usual other names."""
    found = {name: cast(RegisterValue, number) for number, name in register_names().items() if name != "none"}
    for number in range(8, 16):
        found[f"r{number}b"] = found[f"r{number}l"]
    for number in range(8):
        found[f"st({number})"] = found[f"st{number}"]
    for number in range(8):
        found[f"db{number}"] = found[f"dr{number}"]
    return {**found, "st": found["st0"]}


def mentions_register(text: str) -> bool:
    """Whether a word of it is the name of a register."""
    return any(word in registers() for word in _WORD.findall(text.lower()))
