"""Schemes as machine code, and as the GNU assembler writes them (AT&T syntax), for tools that want that."""

from __future__ import annotations

from functools import cache

from iced_x86 import Decoder, Encoder, Formatter, FormatterSyntax

from inference.isa.facets import WrittenScheme
from inference.isa.x86.instances import ADDRESS_OF_CODE, instance
from inference.isa.x86.scheme_set import described


@cache
def written(text: str) -> WrittenScheme | None:
    """The scheme in AT&T syntax; None for no scheme's text, and for one with a prefix."""
    found = described(text)
    if found is None or found[1].prefix:
        return None
    scheme, form = found
    one = instance(form)
    plain, suffixing = _formatter(), _formatter(suffix=True)
    explicit = [operand for operand in scheme.operands if not operand.implicit]
    places = [plain.get_instruction_operand(one, place) for place in range(plain.operand_count(one))]
    operands = tuple(explicit[place] for place in places if place is not None and place < len(explicit))
    return WrittenScheme(plain.format_mnemonic(one), suffixing.format_mnemonic(one), operands)


def encoded(text: str) -> bytes | None:
    """Machine code of one instance of a scheme, None for no scheme's text."""
    found = described(text)
    if found is None:
        return None
    encoder = Encoder(64)
    encoder.encode(instance(found[1]), ADDRESS_OF_CODE)
    return encoder.take_buffer()


def listed(code: bytes) -> list[str]:
    """Machine code as lines that an assembler for AT&T syntax takes."""
    formatter = _formatter()
    return [formatter.format(one) for one in Decoder(64, code, ip=ADDRESS_OF_CODE)]


@cache
def _formatter(*, suffix: bool = False) -> Formatter:
    formatter = Formatter(FormatterSyntax.GAS)
    formatter.gas_show_mnemonic_size_suffix = suffix
    formatter.space_after_operand_separator = True
    formatter.small_hex_numbers_in_decimal = True
    return formatter
