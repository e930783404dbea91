"""The control flow of x86-64 instructions: steps of `inference.isa.code.control_flow`."""

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
    flow = _FLOWS.get(instruction.flow_control, "end")
    target = None
    if flow in ("jump", "branch") and instruction.op_kind(0) in _NEAR_TARGETS:
        target = instruction.near_branch_target
    return CodeStep(instruction.ip, code, flow, target)


def steps_of(code: bytes, address: int = ADDRESS_OF_CODE) -> list[CodeStep]:
    """Machine code at an address. Raises `BlockError` at undecodable bytes."""
    steps = []
    for instruction in Decoder(64, code, ip=address):
        start = instruction.ip - address
        if instruction.is_invalid:
            digits = code[start : start + 8].hex()
            raise BlockError(f"the bytes from number {start + 1} on ({digits}…) are no instruction of x86-64")
        steps.append(step_of(instruction, code[start : start + instruction.len]))
    return steps


def steps_of_region(code: bytes, address: int) -> Iterator[CodeStep]:
    """Arbitrary bytes: an undecodable byte ends a path and is skipped."""
    decoder, instruction = Decoder(64, code, ip=address), Instruction()
    position = 0
    while decoder.can_decode:
        decoder.decode_out(instruction)
        if instruction.is_invalid:
            yield CodeStep(address + position, code[position : position + 1], "end")
            position += 1
            decoder.position = position
            decoder.ip = address + position
        else:
            yield step_of(instruction, code[position : position + instruction.len])
            position += instruction.len
