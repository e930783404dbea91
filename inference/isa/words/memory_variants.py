"""Variants of a block of words with other addresses (thesis §8.3.1); see `inference.isa.block_facets`.

In all variants no instruction writes the registers of the addresses, so that only memory can make a
difference. Addresses of a base and a displacement are free to choose; those with an index, or of a base that
moves, are left as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from inference.isa.block_changes import OFFSET_DISTANCE, AddressRelation, MemoryVariants
from inference.isa.code.block import BlockError
from inference.isa.words.accesses import (
    ADDRESS,
    GENERAL,
    DecodedInstruction,
    InMemory,
    location_of,
    word_accesses,
)
from inference.isa.words.changes import ChangeLanguage

_BYTES = 4  # of an instruction that is not compressed
_Address = tuple[int, int]
"""The number of the base, and the displacement in bytes."""


class WordMemoryVariants:
    """The facet in a language; `body_of`: code without the jump that closes a loop."""

    def __init__(self, language: ChangeLanguage, body_of: Callable[[bytes], bytes]) -> None:
        self._language = language
        self._body_of = body_of

    def variants(self, code: bytes) -> MemoryVariants:
        """The block with the same address, other offsets, other bases; of a loop, its body.

        Raises `BlockError` where no address can be chosen.
        """
        words = [*self._language.decoded(self._body_of(code))]
        if not words or any(word.form is None for word in words):
            raise BlockError("these bytes are no basic block")
        places = [number for number, word in enumerate(words) if _place(word) is not None]
        if not places:
            raise BlockError("no instruction of this block accesses memory at an address that can be chosen")
        untouched = sum(word_accesses(word).in_memory for word in words) - len(places)
        twice = len(places) == 1
        if twice:
            places = [places[0], len(words) + places[0]]
            words += words
        bases = self._bases(words, places)
        first = _place(words[places[0]])
        assert first is not None, "the first place is free to choose"
        displacement = first.displacement
        offsets = [displacement + OFFSET_DISTANCE * number for number in range(len(places))]
        addresses: dict[AddressRelation, list[_Address]] = {
            AddressRelation.SAME: [(bases[0], displacement)] * len(places),
            AddressRelation.OFFSET: [(bases[0], offset) for offset in offsets],
            AddressRelation.BASE: [(base, displacement) for base in bases],
        }
        code_by_relation = {
            kind: self._encode(words, dict(zip(places, address, strict=True)))
            for kind, address in addresses.items()
        }
        return MemoryVariants(code_by_relation, twice, untouched)

    def _bases(self, words: Sequence[DecodedInstruction], places: Sequence[int]) -> list[int]:
        """A base for each access, that of the first one first where nothing writes it."""
        rows = [word_accesses(word) for word in words]
        written = {access.location for row in rows for access in row.writes}
        in_use = written | {
            access.location
            for number, row in enumerate(rows)
            for access in row.reads
            if number not in places or not access.operand.endswith(ADDRESS)
        }
        first = _place(words[places[0]])
        original = None if first is None else first.base
        free = [number for number in self._candidates() if location_of(GENERAL, number) not in in_use]
        if original is not None and location_of(GENERAL, original) not in written:
            free = [original, *(number for number in free if number != original)]
        if len(free) < len(places):
            raise BlockError(
                f"the block accesses memory {len(places)} times, and has only {len(free)} general-purpose "
                "registers left to address it with: leave instructions out"
            )
        return free[: len(places)]

    def _candidates(self) -> Iterable[int]:
        return (number for number in self._language.pointers if number != self._language.stack_pointer)

    def _encode(self, words: Sequence[DecodedInstruction], addresses: dict[int, _Address]) -> bytes:
        code = b""
        for number, word in enumerate(words):
            if number not in addresses:
                code += word.code
                continue
            assert word.form is not None, "unknown words are refused"
            base, displacement = addresses[number]
            operands = [
                replace(value, base=base, displacement=displacement) if isinstance(value, InMemory) else value
                for value in word.operands
            ]
            # Compressed forms lack addresses; that of the scheme has one length in all variants.
            text = word.scheme if word.size < _BYTES and word.scheme else word.form.text
            encoded = self._language.table().by_text[text].word(operands)
            if encoded is None:
                raise BlockError(f"instruction {number + 1} cannot be written with another address")
            code += encoded.to_bytes(_BYTES, "little")
        return code


def _place(word: DecodedInstruction) -> InMemory | None:
    """The address of the memory that an instruction accesses, None where it cannot be chosen."""
    places = [value for value in word.operands if isinstance(value, InMemory)]
    if not word_accesses(word).in_memory or len(places) != 1:
        return None
    (place,) = places
    is_free = place.base is not None and place.index is None and not place.moves and not place.page
    return place if is_free else None
