"""Basic blocks as text, and as the tools of an instruction set take them. All raise `BlockError`."""

from __future__ import annotations

from inference.isa.blocks.decoding import block_reader
from inference.isa.code.errors import BlockError
from inference.isa.targets import DEFAULT


def intel_of_bytes(code: bytes, isa: str = DEFAULT) -> tuple[str, ...]:
    """The instructions of machine code: `mov rcx, qword ptr [rax+8]`."""
    return block_reader(isa).intel_of_bytes(code)


def att_of_bytes(code: bytes, isa: str = DEFAULT) -> tuple[str, ...]:
    """The instructions of machine code, sizes in their names: `movq 8(%rax), %rcx`."""
    return block_reader(isa).att_of_bytes(code)


def plain_att_of_bytes(code: bytes, isa: str = DEFAULT) -> tuple[str, ...]:
    """The same for tools that know instructions alone: an assembler may choose another encoding of some."""
    return block_reader(isa).plain_att_of_bytes(code)


def text_writer(isa: str = DEFAULT) -> str:
    """Who writes the texts, for the identity of answers that depend on them."""
    return block_reader(isa).ASSEMBLY


def in_loop(code: bytes, isa: str = DEFAULT) -> bytes:
    """A loop as it is; another block with a counter that it does not use and a jump behind it."""
    return block_reader(isa).in_loop(code)


def between_markers(code: bytes, isa: str = DEFAULT) -> bytes:
    """The block between the marks by which analysers find it in a program."""
    return block_reader(isa).between_markers(code)


def object_file(code: bytes, name: str = "block", isa: str = DEFAULT) -> bytes:
    """A relocatable file with the code as a global function of this name."""
    return block_reader(isa).object_file(code, name)


def intel_or_digits(code: bytes, isa: str = DEFAULT) -> tuple[str, ...]:
    """The instructions of machine code; its digits where the bytes are no instructions."""
    try:
        return intel_of_bytes(code, isa)
    except BlockError:
        return (code.hex(),)
