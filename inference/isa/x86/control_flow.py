"""How instructions of x86-64 go on: decoded ones as steps of `inference.isa.code.control_flow`."""

from __future__ import annotations

from collections.abc import Iterator

from iced_x86 import Decoder, FlowControl, Instruction, OpKind

from inference.isa.code.block import BlockError
from inference.isa.code.control_flow import CodeStep, Flow
from inference.isa.x86.instances import ADDRESS_OF_CODE

_FLOWS: dict[int, Flow] = {
    FlowControl.NEXT: "next",
    FlowControl.UNCONDITIONAL_BRANCH: "jump",
    FlowControl.INDIRECT_BRANCH: "end",
    FlowControl.CONDITIONAL_BRANCH: "branch",
    FlowControl.RETURN: "end",
    FlowControl.CALL: "call",
    FlowControl.INDIRECT_CALL: "call",
    FlowControl.INTERRUPT: "call",
    FlowControl.XBEGIN_XABORT_XEND: "call",
    FlowControl.EXCEPTION: "end",
}
_NEAR_TARGETS = (OpKind.NEAR_BRANCH64, OpKind.NEAR_BRANCH32, OpKind.NEAR_BRANCH16)


def step_of(instruction: Instruction, code: bytes) -> CodeStep:
    """A decoded instruction as a step."""
    flow = _FLOWS.get(instruction.flow_control, "end")
    target = None
    if flow in ("jump", "branch") and instruction.op_kind(0) in _NEAR_TARGETS:
        target = instruction.near_branch_target
    return CodeStep(instruction.ip, code, flow, target)


def steps_of(code: bytes, address: int = ADDRESS_OF_CODE) -> list[CodeStep]:
    """Machine code that lies at an address. Raises `BlockError` at bytes that are no instruction."""
    steps = []
    for one in Decoder(64, code, ip=address):
        begin = one.ip - address
        if one.is_invalid:
            rest = code[begin : begin + 8].hex()
            raise BlockError(f"the bytes from number {begin + 1} on ({rest}…) are no instruction of x86-64")
        steps.append(step_of(one, code[begin : begin + one.len]))
    return steps


def steps_of_region(code: bytes, address: int) -> Iterator[CodeStep]:
    """Whatever the bytes are: what is no instruction ends a path, and the next byte is tried then."""
    decoder, one = Decoder(64, code, ip=address), Instruction()
    position = 0
    while decoder.can_decode:
        decoder.decode_out(one)
        if one.is_invalid:
            yield CodeStep(address + position, code[position : position + 1], "end")
            position += 1
            decoder.position = position
            decoder.ip = address + position
        else:
            yield step_of(one, code[position : position + one.len])
            position += one.len
