"""The parts of a written instruction, in either syntax: the input of the encoder."""

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
    "byte": 8, "word": 16, "dword": 32, "fword": 48, "pword": 48, "qword": 64, "gword": 64,
    "bword": 64, "mmword": 64, "tbyte": 80,
    "tword": 80, "xword": 80, "xmmword": 128, "oword": 128, "ymmword": 256, "yword": 256, "zmmword": 512,
    "zword": 512, "fpuenv14": 112, "fpuenv28": 224, "fpustate94": 752, "fpustate108": 864,
}  # fmt: skip
SEGMENTS = ("es", "cs", "ss", "ds", "fs", "gs")

_STACK_POINTERS: frozenset[RegisterValue] = frozenset({Register.RSP, Register.ESP})
_NUMBER = re.compile(r"0x([0-9a-f]+)|([0-9][0-9a-f]*)h|0b([01]+)|([0-9]+)|'(.)'?", re.IGNORECASE)
"""`0x1F`, `1Fh`, `0b101`, `31`, `'a'`."""

_SYMBOL = re.compile(r"[A-Za-z_.$?@][\w.$?@]*")
_TOKEN = re.compile(
    rf"\s*(?:(?P<number>(?:{_NUMBER.pattern})(?![\w.$?@]))|(?P<symbol>{_SYMBOL.pattern})|(?P<sign>[-+*()~]))",
    re.IGNORECASE,
)
_WORD = re.compile(r"[\w.$?@]+")
_VALUE_LIMIT = 2**64  # exclusive
_MAX_LENGTH = 100  # characters of a number, leading zeros among them
_DEEPEST = 20  # parentheses within each other


class RegisterOperand(NamedTuple):
    register: RegisterValue


class ImmediateOperand(NamedTuple):
    """A number; negative ones are kept. `symbol`: the name in it, if any."""

    value: int
    symbol: str = ""


@dataclass(slots=True)  # frozen ones take three times as long to make
class MemoryOperand:
    """`width` in bits, None where not written; registers by iced's numbers; `broadcast` as in {1to8}.

    Attributes:
        symbol: The name in its displacement, which then has four bytes.
        has_written_zero: A displacement of 0 is written, as in listings where it has bytes.
    """

    width: int | None = None
    base: RegisterValue = Register.NONE
    index: RegisterValue = Register.NONE
    scale: int = 1
    displacement: int = 0
    segment: RegisterValue = Register.NONE
    broadcast: int = 0
    symbol: str = ""
    has_written_zero: bool = False


class TargetOperand(NamedTuple):
    """The target of a jump or call: a label, its `address` in a listing or None, an offset in bytes."""

    label: str
    address: int | None = None
    offset: int = 0


Operand = RegisterOperand | ImmediateOperand | MemoryOperand | TargetOperand


class WrittenInstruction(NamedTuple):
    """An instruction as written, with operands in Intel's order.

    `prefixes` are in the order of the text. `mask`, `zeroing` and `rounding` are EVEX's decorations.
    `is_att`: the mnemonic is in AT&T syntax.
    """

    mnemonic: str
    operands: tuple[Operand, ...] = ()
    prefixes: tuple[str, ...] = ()
    mask: RegisterValue = Register.NONE
    zeroing: bool = False
    rounding: str = ""
    is_att: bool = False


class Sum(NamedTuple):
    """The value of an expression: a number, and the first name in it."""

    value: int
    symbol: str = ""
    has_number: bool = False


def number_of(text: str) -> int | None:
    """An unsigned number in assembler syntax; None for other text. Raises `BlockError` beyond 64 bits."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    *digits, character = match.groups()
    if character is not None:
        return ord(character) if character.isascii() else None
    if digits[3] and len(digits[3]) > 1 and digits[3].startswith("0") and digits[3].strip("0"):
        raise BlockError(
            f"{text[:40]} is octal to some assemblers, decimal to others: leave out the zero, or write 0x…"
        )
    places = zip(digits, (16, 16, 2, 10), strict=True)
    # Python converts no decimal number of thousands of digits.
    value = (
        _VALUE_LIMIT if len(text) > _MAX_LENGTH else next(int(word, base) for word, base in places if word)
    )
    if value >= _VALUE_LIMIT:
        raise BlockError(f"{text[:40]} does not fit into 64 bits")
    return value


def sum_of(text: str, constants: dict[str, int]) -> Sum:
    """The value of an expression of numbers, names and + - * ~ ( ). Raises `BlockError`.

    Names among the `constants` have their value; others count 0.
    """
    tokens = []
    position = 0
    stripped = text.rstrip()
    while position < len(stripped):
        match = _TOKEN.match(stripped, position)
        if match is None:
            raise BlockError(f"{stripped[:40]!r} is neither a number nor a name")
        tokens.append(match)
        position = match.end()
    expression = _Expression(tokens, constants)
    value = expression.sum(0)
    if expression.has_tokens or not tokens:
        raise BlockError(f"{stripped[:40]!r} is neither a number nor a name")
    if not -_VALUE_LIMIT < value < _VALUE_LIMIT:
        raise BlockError(f"{stripped[:40]} does not fit into 64 bits")
    return Sum(value, expression.symbol, has_number=expression.has_number)


class _Expression:
    """A recursive descent over the tokens of a sum."""

    def __init__(self, tokens: list[re.Match[str]], constants: dict[str, int]) -> None:
        self._tokens = tokens
        self._constants = constants
        self._at = 0
        self.symbol = ""
        self.has_number = False

    @property
    def has_tokens(self) -> bool:
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
            if abs(value) > _VALUE_LIMIT * _VALUE_LIMIT:
                raise BlockError("a displacement or immediate does not fit into 64 bits")
        return value

    def _factor(self, depth: int) -> int:
        """A number, a symbol, a sum in parentheses, or a sign before one of these."""
        if depth > _DEEPEST:
            raise BlockError(f"more than {_DEEPEST} parentheses or signs stand within each other")
        if not self.has_tokens:
            raise BlockError("an operand is missing behind the last sign of a sum")
        token = self._tokens[self._at]
        self._at += 1
        if (number := token["number"]) is not None:
            self.has_number = True
            parsed = number_of(number)
            if parsed is None:
                raise BlockError(f"{number[:40]!r} is no number")
            return parsed
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
        return self._tokens[self._at]["sign"] if self.has_tokens else None


def memory_at(
    bases: list[RegisterValue], indices: list[tuple[RegisterValue, int]], address: str
) -> tuple[RegisterValue, RegisterValue, int]:
    """Base, index and scale of an address with these registers. Raises `BlockError`."""
    if len(bases) + len(indices) > 2 or len(indices) > 1:
        raise BlockError(f"{address[:40]} has too many registers: a base and an index is what there can be")
    base: RegisterValue = bases[0] if bases else Register.NONE
    index, scale = indices[0] if indices else (bases[1] if len(bases) > 1 else Register.NONE, 1)
    if not indices and (index in _STACK_POINTERS or is_vector(base)):
        base, index = index, base
    return base, index, scale


def is_vector(register: RegisterValue) -> bool:
    """Whether it is xmm0 … zmm31."""
    return bool(Register.XMM0 <= register <= Register.ZMM31)


def is_mask(register: RegisterValue) -> bool:
    """Whether it is k0 … k7."""
    return bool(Register.K0 <= register <= Register.K7)


def is_segment(register: RegisterValue) -> bool:
    return bool(Register.ES <= register <= Register.GS)


@cache
def registers() -> dict[str, RegisterValue]:
    """{name: iced's number} of all registers, including synonyms."""
    names = register_names().items()
    numbers = {name: cast(RegisterValue, number) for number, name in names if name != "none"}
    for number in range(8, 16):
        numbers[f"r{number}b"] = numbers[f"r{number}l"]
    for number in range(8):
        numbers[f"st({number})"] = numbers[f"st{number}"]
    for number in range(8):
        numbers[f"db{number}"] = numbers[f"dr{number}"]
    return {**numbers, "st": numbers["st0"]}


def mentions_register(text: str) -> bool:
    return any(word in registers() for word in _WORD.findall(text.lower()))


def bytes_of(numbers: str) -> bytes:
    """A list of plain numbers, as of `.byte`; b"" for other text."""
    code = bytearray()
    for part in numbers.split(","):
        digits = part.strip().removeprefix("-")
        value = number_of(digits) if digits else None
        is_negative = part.strip().startswith("-")
        if value is None or value > (128 if is_negative else 255):
            return b""
        code.append((-value if is_negative else value) % 256)
    return bytes(code)
