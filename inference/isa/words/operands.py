"""The operands of a form from the fields of a word, and back."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from inference.isa.document import OperandForm
from inference.isa.encodings import ZERO_REGISTER, Codec, Field
from inference.isa.scheme import Operand, Scheme
from inference.isa.words.accesses import (
    FLOAT,
    GENERAL,
    VECTOR,
    ZERO,
    ZERO_NUMBER,
    InMemory,
    NamedImmediate,
    OperandValue,
    RegisterPart,
)

Fields = Mapping[str, tuple[Field, Codec]]
"""The fields of an operand by its part, "" for the operand itself."""

Values = dict[str, Any]
"""The values of an operand's fields by its part."""

_NAMED = re.compile(r"(lsl|lsr|asr|ror|msl|uxtb|uxth|uxtw|uxtx|sxtb|sxth|sxtw|sxtx)\b(?: (\d+))?")
_INDEX = re.compile(r"\{index(32)?\}(?:, (lsl|uxtw|sxtw|sxtx)(?: #(\d+))?)?\]")
_FIXED_MOVE = re.compile(r"\], #([1-9]\d*)$")
_ELEMENT = re.compile(r"\[(\d+)\]$")
_CONDITION = "COND"
_PAGE = "page"


class NoOperandError(ValueError):
    """A field has no value, or an operand no field."""


class OperandCoder(NamedTuple):
    """`decode`: the operand of a word. `encode`: the values of its fields. Both raise `NoOperandError`."""

    decode: Callable[[int], OperandValue]
    encode: Callable[[OperandValue], Values]


def operand_coders(
    form: Scheme, forms: Mapping[str, OperandForm], fields: Sequence[tuple[Field, Codec]]
) -> tuple[OperandCoder, ...]:
    """The coders of a form's explicit operands, in order."""
    parts: dict[str, dict[str, tuple[Field, Codec]]] = {}
    for field, codec in fields:
        place, _, part = field.place.partition(" ")
        parts.setdefault(place, {}).setdefault(part, (field, codec))
    joint = {
        place: number for places in parts if "," in places for number, place in enumerate(places.split(","))
    }
    coders = []
    for number, operand in enumerate((operand for operand in form.operands if not operand.implicit), start=1):
        place = str(number)
        if place in joint:
            (places,) = (text for text in parts if "," in text)
            coders.append(_joint(parts[places][""], joint[place]))
        else:
            coders.append(_coder(operand, forms[operand.name], parts.get(place, {})))
    return tuple(coders)


def extractor(field: Field) -> Callable[[int], int]:
    """A function from a word to a field's bits."""
    if len(field.pieces) != 1:
        return field.extracted
    ((low, width),) = field.pieces
    bits = (1 << width) - 1
    return lambda word: word >> low & bits


def _coder(operand: Operand, form: OperandForm, fields: Fields) -> OperandCoder:
    if operand.kind == "memory":
        return _memory(form, fields)
    if operand.kind == "register":
        return _register(form, fields) if fields else _fixed_register(form)
    if operand.kind == "address":
        return _address(fields[""], is_page=_PAGE in operand.name)
    named = _NAMED.fullmatch(operand.name)
    if named is not None:
        return _named_coder(named[1], int(named[2] or 0), fields)
    if operand.name == _CONDITION:
        return _named_number("", fields[""])
    return _number(fields[""]) if fields else OperandCoder(lambda _word: None, _no_values)


def _no_values(operand: OperandValue) -> Values:
    return {}


def _value(codec: Codec, bits: int) -> Any:
    value = codec.decode(bits)
    if value is None:
        raise NoOperandError
    return value


def _number(field: tuple[Field, Codec]) -> OperandCoder:
    extract, codec = extractor(field[0]), field[1]

    def decode(word: int) -> OperandValue:
        value = codec.decode(extract(word))
        if value is None:
            raise NoOperandError
        return NamedImmediate("", value) if isinstance(value, float) else value

    return OperandCoder(decode, lambda operand: {"": getattr(operand, "value", operand)})


def _named_number(word_text: str, field: tuple[Field, Codec]) -> OperandCoder:
    extract, codec = extractor(field[0]), field[1]

    def decode(word: int) -> OperandValue:
        return NamedImmediate(word_text, _value(codec, extract(word)))

    return OperandCoder(decode, lambda operand: {"": getattr(operand, "value", None)})


def _named_coder(word_text: str, amount: int, fields: Fields) -> OperandCoder:
    if fields:
        return _named_number(word_text, fields[""])
    fixed = NamedImmediate(word_text, amount)

    def encode(operand: OperandValue) -> Values:
        if operand != fixed:
            raise NoOperandError
        return {}

    return OperandCoder(lambda _word: fixed, encode)


def _joint(field: tuple[Field, Codec], number: int) -> OperandCoder:
    """One of two operands in one field."""
    extract, codec = extractor(field[0]), field[1]
    return OperandCoder(lambda word: _value(codec, extract(word))[number], lambda operand: {"": operand})


def _address(field: tuple[Field, Codec], *, is_page: bool) -> OperandCoder:
    extract, codec = extractor(field[0]), field[1]
    return OperandCoder(
        lambda word: InMemory(None, displacement=_value(codec, extract(word)), page=is_page),
        lambda operand: {"": getattr(operand, "displacement", None)},
    )


def _registers(form: OperandForm, codec: Codec) -> list[RegisterPart | None]:
    """The register of each number in a field."""
    return [
        None
        if value is None
        else RegisterPart(form.bank, value, form.width, form.span)
        if isinstance(value, int)
        else RegisterPart(ZERO, ZERO_NUMBER, form.width)
        for value in _decoded_fields(codec)
    ]


def _decoded_fields(codec: Codec) -> list[Any]:
    return [codec.decode(field) for field in range(1 << codec.bits)]


def _lookup(
    registers: Sequence[OperandValue], extract: Callable[[int], int]
) -> Callable[[int], OperandValue]:
    def decode(word: int) -> OperandValue:
        if (register := registers[extract(word)]) is None:
            raise NoOperandError
        return register

    return decode


def _register_value(operand: OperandValue) -> Any:
    """A register's value for its codec."""
    if not isinstance(operand, RegisterPart):
        return None
    return ZERO_REGISTER if operand.bank == ZERO else operand.number


def _fixed_register(form: OperandForm) -> OperandCoder:
    """A register without a field, such as `v0`."""
    (name,) = form.registers
    part = RegisterPart(_BANKS[name[0]], int(name[1:]), form.width)
    return OperandCoder(lambda _word: part, _no_values)


_BANKS = {"x": GENERAL, "f": FLOAT, "v": VECTOR}


def _register(form: OperandForm, fields: Fields) -> OperandCoder:
    field, codec = fields[""]
    extract, registers = extractor(field), _registers(form, codec)
    fixed = _ELEMENT.search(form.assembly)
    if fixed is None:
        return OperandCoder(
            _lookup(registers, extract) if None in registers else lambda word: registers[extract(word)],
            lambda operand: {"": _register_value(operand)},
        )
    if "element" not in fields:
        parts = [part and part._replace(element=int(fixed[1])) for part in registers]
        return OperandCoder(lambda word: parts[extract(word)], lambda operand: {"": _register_value(operand)})
    element = extractor(fields["element"][0])

    def decode(word: int) -> OperandValue:
        return RegisterPart(VECTOR, extract(word), form.width, form.span, element(word))

    return OperandCoder(
        decode,
        lambda operand: {"": _register_value(operand), "element": getattr(operand, "element", None)},
    )


def _memory(form: OperandForm, fields: Fields) -> OperandCoder:
    """A coder of what the form's assembly addresses."""
    assembly = form.assembly
    moves = (
        "pre"
        if assembly.endswith("!")
        else ""
        if assembly.endswith("]")
        else "post"
        if "[" in assembly
        else ""
    )
    fixed = _FIXED_MOVE.search(assembly)
    constant = int(fixed[1]) if fixed else 0
    base = extractor(fields["base"][0]) if "base" in fields else None
    bases = _decoded_fields(fields["base"][1]) if "base" in fields else []
    offset = fields.get("offset")
    distance = extractor(offset[0]) if offset else None
    codec = offset[1] if offset else None
    written = _INDEX.search(assembly)
    index = fields.get("index")
    width = 32 if written and written[1] else 64
    indices = _registers(OperandForm("register", width, bank=GENERAL), index[1]) if index else []
    index_bits = extractor(index[0]) if index else None
    extend = ((written and written[2]) or "lsl") if index else ""
    shift = int((written and written[3]) or 0)
    bits = form.width

    def decode(word: int) -> OperandValue:
        displacement = constant
        if distance is not None and codec is not None:
            displacement = _value(codec, distance(word))
        register = indices[index_bits(word)] if index_bits is not None else None
        return InMemory(
            bases[base(word)] if base else None, register, extend, shift, displacement, bits, moves
        )

    def encode(operand: OperandValue) -> Values:
        if not isinstance(operand, InMemory) or (operand.extend, operand.shift, operand.moves) != (
            extend,
            shift,
            moves,
        ):
            raise NoOperandError
        if codec is None and operand.displacement != constant:
            raise NoOperandError
        return {"base": operand.base, "offset": operand.displacement, "index": _register_value(operand.index)}

    return OperandCoder(decode, encode)
