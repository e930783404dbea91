"""Schemes in GNU assembler syntax (AT&T), and their machine code, for tools with that syntax."""

from __future__ import annotations

from functools import cache

from iced_x86 import Decoder, Encoder, Formatter, FormatterSyntax

from inference.isa.facets import WrittenScheme
from inference.isa.x86.instances import ADDRESS_OF_CODE, instance
from inference.isa.x86.scheme_set import scheme_and_form


@cache
def gnu_scheme(text: str) -> WrittenScheme | None:
    """The scheme in AT&T syntax; None for an unknown text, and for a scheme with a prefix."""
    scheme_form = scheme_and_form(text)
    if scheme_form is None or scheme_form[1].prefix:
        return None
    scheme, form = scheme_form
    example = instance(form)
    plain, suffixing = _formatter(), _formatter(suffix=True)
    explicit = [operand for operand in scheme.operands if not operand.implicit]
    places = [plain.get_instruction_operand(example, place) for place in range(plain.operand_count(example))]
    operands = tuple(explicit[place] for place in places if place is not None and place < len(explicit))
    return WrittenScheme(plain.format_mnemonic(example), suffixing.format_mnemonic(example), operands)


def example_code(text: str) -> bytes | None:
    """Machine code of one instance of a scheme, None for an unknown text."""
    scheme_form = scheme_and_form(text)
    if scheme_form is None:
        return None
    encoder = Encoder(64)
    encoder.encode(instance(scheme_form[1]), ADDRESS_OF_CODE)
    return encoder.take_buffer()


def gnu_lines(code: bytes) -> list[str]:
    """Machine code as lines in AT&T syntax."""
    formatter = _formatter()
    return [formatter.format(instruction) for instruction in Decoder(64, code, ip=ADDRESS_OF_CODE)]


@cache
def _formatter(*, suffix: bool = False) -> Formatter:
    formatter = Formatter(FormatterSyntax.GAS)
    formatter.gas_show_mnemonic_size_suffix = suffix
    formatter.space_after_operand_separator = True
    formatter.small_hex_numbers_in_decimal = True
    return formatter
