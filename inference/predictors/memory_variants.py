"""The same block with other addresses, to compare a tool's dependencies through memory (thesis §8.3.1)."""

from __future__ import annotations

from inference.core.errors import InvalidInputError
from inference.isa.block_changes import OFFSET_DISTANCE, AddressRelation, MemoryVariants
from inference.isa.code.block import BlockError
from inference.isa.targets import DEFAULT, target_of

__all__ = ["OFFSET_DISTANCE", "AddressRelation", "MemoryVariants", "variants"]


def variants(code: bytes, isa: str = DEFAULT) -> MemoryVariants:
    """The block with the same address, other offsets, other bases; of a loop, its body.

    Raises `InvalidInputError` where it has no address that can be chosen.
    """
    maker = target_of(isa).memory_variants
    if maker is None:
        raise InvalidInputError(f"the addresses of blocks of {isa} cannot be changed yet")
    try:
        return maker.variants(code)
    except BlockError as error:
        raise InvalidInputError(str(error)) from error
