"""Whether the instructions read from a compiler's text are those that an assembler makes of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from iced_x86 import Decoder, FlowControl, Instruction, Mnemonic

from benchmarks._reader_corpus import Compiled, Section, section_of_lines

_DIRECT = (FlowControl.UNCONDITIONAL_BRANCH, FlowControl.CONDITIONAL_BRANCH, FlowControl.CALL)


@dataclass(frozen=True)
class Assembled:
    """An instruction of the object file; `mask` has a zero for each byte that the linker fills in."""

    instruction: Instruction
    code: bytes
    mask: bytes


def differing(program: Compiled, instructions: Sequence[Any]) -> tuple[int, list[str]]:
    """(how many instructions there are, each that differs in words); of jumps only the kind is compared."""
    sections = section_of_lines(program.text)
    lines = program.text.splitlines()
    total, differences = 0, []
    for name, section in program.sections.items():
        read = [instruction for instruction in instructions if sections[instruction.line - 1] == name]
        expected = list(_assembled(section))
        total += sum(instruction.instruction.mnemonic != Mnemonic.NOP for instruction in expected)
        for got, right in _pairs(read, expected):
            written = lines[got.line - 1].strip() if got else "(nothing)"
            bytes_of = (right.code.hex() if right else "nothing", got.code.hex() if got else "nothing")
            differences.append(f"{program.name}: {written}  |  {bytes_of[0]}  |  {bytes_of[1]}")
    return total, differences


def _assembled(section: Section) -> Iterator[Assembled]:
    for instruction in Decoder(64, section.code):
        begin, end = instruction.ip, instruction.ip + instruction.len
        mask = bytes(0 if at in section.relocated else 255 for at in range(begin, end))
        yield Assembled(instruction, section.code[begin:end], mask)


def _pairs(read: Sequence[Any], expected: Sequence[Assembled]) -> Iterator[tuple[Any, Assembled | None]]:
    """The instructions that differ; what the assembler has filled in to align code is passed over."""
    at = 0
    for right in expected:
        got = read[at] if at < len(read) else None
        if got is not None and _same(got.code, right):
            at += 1
        elif right.instruction.mnemonic != Mnemonic.NOP:
            yield got, right
            at += 1
    for got in read[at:]:
        yield got, None


def _same(code: bytes, right: Assembled) -> bool:
    """Whether code equals what the assembler wrote, apart from places that only a linker fills in."""
    if code == right.code:
        return True
    instruction = Decoder(64, code).decode()
    if _is_direct(instruction) and _is_direct(right.instruction):
        return bool(instruction.mnemonic == right.instruction.mnemonic)
    if len(code) != len(right.code):
        return False
    masked = (
        bytes(a & b for a, b in zip(code_bytes, right.mask, strict=True)) for code_bytes in (code, right.code)
    )
    return len(set(masked)) == 1 or _place_apart(instruction, right.instruction)


def _is_direct(instruction: Instruction) -> bool:
    return instruction.flow_control in _DIRECT


def _place_apart(instruction: Instruction, other: Instruction) -> bool:
    """Whether they differ only in a place relative to the code: the assembler knows it, a piece does not."""
    if not (instruction.is_ip_rel_memory_operand and other.is_ip_rel_memory_operand):
        return False
    instruction.memory_displacement = other.memory_displacement
    return bool(instruction == other)
