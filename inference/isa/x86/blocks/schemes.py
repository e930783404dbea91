"""The schemes of a block's instructions, without their other properties."""

from __future__ import annotations

from iced_x86 import Decoder, Instruction

from inference.isa.code.block import BlockError
from inference.isa.x86.blocks.block import body_of
from inference.isa.x86.blocks.scheme_lookup import scheme_of
from inference.isa.x86.instances import ADDRESS_OF_CODE


def schemes_of_bytes(code: bytes) -> tuple[str | None, ...]:
    """The scheme of each instruction but a loop's closing jump; None for one without a scheme.

    Raises `BlockError`.
    """
    decoder, instruction, schemes = Decoder(64, body_of(code), ip=ADDRESS_OF_CODE), Instruction(), []
    while decoder.can_decode:
        decoder.decode_out(instruction)
        if instruction.is_invalid:
            start = instruction.ip - ADDRESS_OF_CODE
            raise BlockError(f"the bytes from number {start + 1} on are no instruction of x86-64")
        schemes.append(scheme_of(instruction))
    return tuple(schemes)
