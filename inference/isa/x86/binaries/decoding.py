"""The machine code of a function as steps, for `control_flow.cut`: whatever the bytes are."""

from __future__ import annotations

from collections.abc import Iterator

from iced_x86 import Decoder, FlowControl, Instruction, OpKind

from inference.isa.x86.binaries.program import Function, Program
from inference.isa.x86.control_flow import Step

PIECE = 1 << 18
"""Bytes of code after which the steps are handed over at the next end of a path: what is held at a time."""
LONGEST = 2 * PIECE
"""Bytes after which they are handed over wherever that is."""

_FLOWS = {
    FlowControl.NEXT: "next",
    FlowControl.UNCONDITIONAL_BRANCH: "jump",
    FlowControl.CONDITIONAL_BRANCH: "branch",
    FlowControl.CALL: "call",
    FlowControl.INDIRECT_CALL: "call",
}
_DIRECT = ("jump", "branch", "call")
_NEAR = frozenset((OpKind.NEAR_BRANCH16, OpKind.NEAR_BRANCH32, OpKind.NEAR_BRANCH64))


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
        flow, target, length = "end", None, 1
        if not one.is_invalid:
            length = one.len
            flow = _FLOWS.get(one.flow_control, "end")
            if flow in _DIRECT and one.op0_kind in _NEAR:
                target = one.near_branch_target
                if moved and length > 4 and one.ip + length - 4 in moved:
                    target = moved[one.ip + length - 4]
        else:
            decoder.position = position + 1
            decoder.ip = address + position + 1
        found.append(Step(address + position, code[position : position + length], flow, target))
        position += length
        if position - begin >= PIECE and (flow in ("end", "jump") or position - begin >= LONGEST):
            yield found
            found, begin = [], position
    if found:
        yield found
