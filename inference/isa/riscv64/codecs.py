"""The codecs of RISC-V's fields: registers, split and wrapped numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inference.isa.encodings import CODECS, ZERO_REGISTER, Codec, CodecMaker, signed, unsigned
from inference.isa.riscv64.spelling import ROUNDINGS

_FEW_REGISTERS = 8  # the number of the first one that three bits name


def _general(bits: int) -> Codec:
    """A register, of which number 0 is always 0; without bits that one."""

    def encode(value: Any) -> int | None:
        if value == ZERO_REGISTER:
            return 0
        return value if isinstance(value, int) and 0 < value < 1 << bits else None

    return Codec(bits, encode, lambda field: field or ZERO_REGISTER)


def _fixed_codec(value: int) -> Codec:
    return Codec(0, lambda other: 0 if other == value else None, lambda _field: value)


def _rounding() -> Codec:
    return Codec(
        3,
        lambda value: value if value in ROUNDINGS else None,
        lambda field: field if field in ROUNDINGS else None,
    )


def _wrapped_codec(bits: int, total: int) -> Codec:
    """A number of `total` bits whose upper ones all are as the field's highest one, but not 0."""
    limit, codec = 1 << total, signed(bits)

    def encode(value: Any) -> int | None:
        if not isinstance(value, int) or not 0 < value < limit:
            return None
        return codec.encode(value - limit if value >= limit >> 1 else value)

    return Codec(bits, encode, lambda field: codec.decode(field) % limit or None)


def _except_zero(maker: CodecMaker) -> CodecMaker:
    """A codec like another one in which 0 has no field, and the field 0 no value."""

    def make(*numbers: int) -> Codec:
        codec = maker(*numbers)
        return Codec(
            codec.bits,
            lambda value: codec.encode(value) or None,
            lambda field: codec.decode(field) if field else None,
        )

    return make


RISCV_CODECS: Mapping[str, CodecMaker] = {
    **CODECS,
    "general": _general,
    "named": _except_zero(_general),
    "short": lambda bits: unsigned(bits, 1, _FEW_REGISTERS),
    "fixed": _fixed_codec,
    "positive": _except_zero(unsigned),
    "nonzero": _except_zero(signed),
    "wrapped": _wrapped_codec,
    "rounding": _rounding,
}
