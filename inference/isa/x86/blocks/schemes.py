"""The schemes of a block's instructions, without describing anything else."""

from __future__ import annotations

from iced_x86 import Decoder, Instruction

from inference.isa.code.block import BlockError
from inference.isa.x86.blocks.block import body_of
from inference.isa.x86.blocks.recognising import scheme_of
from inference.isa.x86.instances import ADDRESS_OF_CODE


def schemes_of_bytes(code: bytes) -> tuple[str | None, ...]:
    """The scheme of each instruction of a block, None for one of no scheme; a loop's jump is none of it.

    Raises `BlockError`.
    """
    decoder, one, found = Decoder(64, body_of(code), ip=ADDRESS_OF_CODE), Instruction(), []
    while decoder.can_decode:
        decoder.decode_out(one)
        if one.is_invalid:
            begin = one.ip - ADDRESS_OF_CODE
            raise BlockError(f"the bytes from number {begin + 1} on are no instruction of x86-64")
        found.append(scheme_of(one))
    return tuple(found)
