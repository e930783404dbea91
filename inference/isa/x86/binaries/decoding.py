"""The machine code of a function as steps, for `control_flow.cut`: whatever the bytes are."""

from __future__ import annotations

from collections.abc import Iterator

from iced_x86 import Decoder, Instruction

from inference.isa.x86.binaries.program import Function, Program
from inference.isa.x86.control_flow import Step, step_of

PIECE = 1 << 18
"""Bytes of code after which the steps are handed over at the next end of a path: what is held at a time."""
LONGEST = 2 * PIECE
"""Bytes after which they are handed over wherever that is."""

_FIELD = 4  # bytes that a linker fills in, at the end of a jump


def steps_in(program: Program, function: Function) -> Iterator[list[Step]]:
    """The instructions of a function, a list for each piece of a long one.

    What is no instruction ends a path, as data among code does; the next byte is tried then.
    """
    code, address = program.code(function), function.address
    moved = program.relocations(function.region).targets if program.is_object else {}
    decoder, one = Decoder(64, code, ip=address), Instruction()
    found: list[Step] = []
    begin = position = 0
    while decoder.can_decode:
        decoder.decode_out(one)
        if one.is_invalid:
            step = Step(address + position, code[position : position + 1], "end")
            decoder.position = position + 1
            decoder.ip = address + position + 1
        else:
            step = step_of(one, code[position : position + one.len])
            if moved and (place := one.next_ip - _FIELD) in moved and step.flow in ("jump", "branch"):
                step = step._replace(target=moved[place])
        found.append(step)
        position += len(step.code)
        length = position - begin
        if length >= PIECE and (step.flow in ("end", "jump") or length >= LONGEST):
            yield found
            found, begin = [], position
    if found:
        yield found
