"""Machine code as assembly text, one instruction a line: Intel syntax that can be read in again, or AT&T."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version

from iced_x86 import Decoder, Formatter, FormatterSyntax, MemorySizeOptions

from inference.isa.x86.blocks.errors import BlockError
from inference.isa.x86.instances import ADDRESS_OF_CODE

ASSEMBLY = f"iced-x86 {version('iced-x86')}"
"""Who writes it, for the identity of answers that depend on the text."""


def intel_of_bytes(code: bytes) -> tuple[str, ...]:
    """The instructions of machine code: `mov rcx, qword ptr [rax+8]`. Raises `BlockError`."""
    return _listed(code, intel_formatter())


def att_of_bytes(code: bytes) -> tuple[str, ...]:
    """The instructions of machine code, sizes in their names: `movq 8(%rax), %rcx`. Raises `BlockError`."""
    return _listed(code, _att_formatter())


@cache
def intel_formatter() -> Formatter:
    """Intel syntax that can be read in again."""
    found = Formatter(FormatterSyntax.INTEL)
    found.space_after_operand_separator = True
    found.rip_relative_addresses = True
    found.memory_size_options = MemorySizeOptions.ALWAYS
    found.hex_prefix = "0x"
    found.hex_suffix = ""
    return found


@cache
def _att_formatter() -> Formatter:
    found = Formatter(FormatterSyntax.GAS)
    found.gas_show_mnemonic_size_suffix = True
    found.space_after_operand_separator = True
    found.rip_relative_addresses = True
    return found


def _listed(code: bytes, formatter: Formatter) -> tuple[str, ...]:
    found = []
    for one in Decoder(64, code, ip=ADDRESS_OF_CODE):
        if one.is_invalid:
            begin = one.ip - ADDRESS_OF_CODE
            raise BlockError(f"the bytes from number {begin + 1} on are no instruction of x86-64")
        found.append(formatter.format(one))
    return tuple(found)
