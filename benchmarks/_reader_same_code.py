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


def differing(one: Compiled, instructions: Sequence[Any]) -> tuple[int, list[str]]:
    """(how many instructions there are, each that differs in words); of jumps only the kind is compared."""
    sections = section_of_lines(one.text)
    lines = one.text.splitlines()
    total, found = 0, []
    for name, section in one.sections.items():
        read = [each for each in instructions if sections[each.line - 1] == name]
        expected = list(_assembled(section))
        total += sum(each.instruction.mnemonic != Mnemonic.NOP for each in expected)
        for got, wanted in _pairs(read, expected):
            written = lines[got.line - 1].strip() if got else "(nothing)"
            bytes_of = (wanted.code.hex() if wanted else "nothing", got.code.hex() if got else "nothing")
            found.append(f"{one.name}: {written}  |  {bytes_of[0]}  |  {bytes_of[1]}")
    return total, found


def _assembled(section: Section) -> Iterator[Assembled]:
    for instruction in Decoder(64, section.code):
        begin, end = instruction.ip, instruction.ip + instruction.len
        mask = bytes(0 if at in section.relocated else 255 for at in range(begin, end))
        yield Assembled(instruction, section.code[begin:end], mask)


def _pairs(read: Sequence[Any], expected: Sequence[Assembled]) -> Iterator[tuple[Any, Assembled | None]]:
    """The instructions that differ; what the assembler has filled in to align code is passed over."""
    at = 0
    for wanted in expected:
        got = read[at] if at < len(read) else None
        if got is not None and _same(got.code, wanted):
            at += 1
        elif wanted.instruction.mnemonic != Mnemonic.NOP:
            yield got, wanted
            at += 1
    for got in read[at:]:
        yield got, None


def _same(code: bytes, wanted: Assembled) -> bool:
    """Whether code equals what the assembler wrote, apart from places that only a linker fills in."""
    if code == wanted.code:
        return True
    one = Decoder(64, code).decode()
    if _is_direct(one) and _is_direct(wanted.instruction):
        return bool(one.mnemonic == wanted.instruction.mnemonic)
    if len(code) != len(wanted.code):
        return False
    masked = (bytes(a & b for a, b in zip(each, wanted.mask, strict=True)) for each in (code, wanted.code))
    return len(set(masked)) == 1 or _place_apart(one, wanted.instruction)


def _is_direct(one: Instruction) -> bool:
    return one.flow_control in _DIRECT


def _place_apart(one: Instruction, other: Instruction) -> bool:
    """Whether they differ only in a place relative to the code: the assembler knows it, a piece does not."""
    if not (one.is_ip_rel_memory_operand and other.is_ip_rel_memory_operand):
        return False
    one.memory_displacement = other.memory_displacement
    return bool(one == other)
