"""Rows of tables with several instructions: `CVTPS2DQ + CVTDQ2PS`, `VMOVAPS ymm LS pair`, `MOV+ADD r32, r32`.

A part without operands is an instruction that the table has before, alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import product

from inference.formats.document import PairEntry
from inference.formats.printed_instructions import (
    InstructionReader,
    PrintedInstruction,
    UnmatchedInstructionError,
)
from inference.isa.scheme import Operand
from inference.isa.targets import target_of

ROUND_TRIP = "a round trip through this and another instruction takes as long: this one takes no longer"
"""Reason of a bound: the time of two instructions, which one measurement cannot divide."""

_LOAD_AND_STORE = re.compile(r"(.{1,40}?)(?: ([xyz])mm)?(?: \+ 4| aligned| unaligned)? ls ?pair")
_TWO_CHAINS = re.compile(r"(\w{1,20}) ([xy])m{1,2}1\S{0,20} (\w{1,20}) \2m{1,2}2\S{0,20}")
_PLUS = re.compile(r" ?\+ ?(?![^\[]{0,60}\])")
_CLASS = re.compile(r"r(?:8|16|32|64)|[xyz]mm")
_CLASS_ALONE = re.compile(r"(r(?:8|16|32|64)|[xyz]mm)?(?:, im8)?")


def read_sequence(reader: InstructionReader, text: str) -> tuple[PrintedInstruction, ...]:
    """The instructions of a row of several, () where it is none that can be read.

    Args:
        reader: Reader of the table, up to this row.
        text: For example `MULSS xm1,xm1 ADDSS xm2,xm2`.
    """
    printed = re.sub(r"\{(?:rex|vex)\} ?", "", text.lower())
    evex = "{evex} " if printed.startswith("{evex} ") else ""
    printed = printed.removeprefix(evex)
    if pair := _LOAD_AND_STORE.fullmatch(printed):
        names, words = (evex + pair[1],) * 2, (f"{pair[2]}mm" if pair[2] else "",) * 2
        return _round_trip(reader, names, words)
    if chains := _TWO_CHAINS.fullmatch(printed):
        names, words = (evex + chains[1], evex + chains[3]), (f"{chains[2]}mm",) * 2
        return _first_readable(_latest(reader, name, word) for name, word in zip(names, words, strict=True))
    parts = _PLUS.split(printed)
    if len(parts) != 2:
        return ()
    name, _, operands = parts[0].partition(" ")
    second_name, _, second_operands = parts[1].partition(" ")
    if second_name.endswith(",") or second_name.startswith("["):  # `VMOVD r32, xmm + xmm, r32`
        second_name, second_operands = name, parts[1]
    names = evex + name, evex + second_name
    for first in dict.fromkeys((operands, second_operands)):
        instructions = _first_readable(
            _read(reader, f"{name} {printed_operands}")
            for name, printed_operands in zip(names, (first, second_operands), strict=True)
        )
        if instructions:
            return instructions
    classes = [_CLASS_ALONE.fullmatch(part) for part in (operands, second_operands)]
    if not all(classes):
        return ()
    first_word, second_word = (match[1] or "" for match in classes if match is not None)
    return _round_trip(reader, names, (first_word or second_word, second_word))


def round_trip_pairs(
    isa: str, instruction: PrintedInstruction, partner: PrintedInstruction, cycles: float
) -> tuple[PairEntry, ...]:
    """What a chain of two instructions says of one of them: () unless each has one register of the other.

    Args:
        isa: Instruction set of the schemes.
        instruction: One of the two.
        partner: The other one.
        cycles: Cycles of both.
    """
    maker, operands, their_operands = target_of(isa).chains, _explicit(instruction), _explicit(partner)
    if (
        maker is None
        or instruction.scheme.memory
        or partner.scheme.memory
        or not (operands and their_operands)
    ):
        return ()
    (mine, *sources), (theirs, *their_sources) = operands, their_operands
    numbers = [n for n, operand in enumerate(sources, start=2) if _class(operand) == _class(theirs)]
    returning = [operand for operand in their_sources if _class(operand) == _class(mine)]
    is_merged = _class(mine) == _class(theirs) and (mine.access != "W" or theirs.access != "W")
    if len(numbers) != 1 or len(returning) != 1 or is_merged:
        return ()
    ends = {(link.source, link.destination) for link in maker.links_of(instruction.scheme.text)}
    source = str(numbers[0])
    return (PairEntry(source, "1", at_most=cycles, why=ROUND_TRIP),) if (source, "1") in ends else ()


def _explicit(instruction: PrintedInstruction) -> list[Operand]:
    return [operand for operand in instruction.scheme.operands if not operand.implicit]


def _class(operand: Operand) -> str:
    """What an instruction that reads this must read; a general-purpose register is one in all its widths."""
    return "GPR" if operand.name.startswith("GPR") else operand.name


def _read(reader: InstructionReader, text: str) -> PrintedInstruction | None:
    try:
        return reader.read(text.strip())
    except UnmatchedInstructionError:
        return None


def _latest(reader: InstructionReader, name: str, word: str) -> PrintedInstruction | None:
    return next(_candidates(reader, name, word), None)


def _candidates(reader: InstructionReader, name: str, word: str) -> Iterator[PrintedInstruction]:
    """Rows of a mnemonic whose widest vector or general-purpose register is `word`, the latest first."""
    for row in reader.rows_of(name):
        classes = [match[0] for operand in row.operands if (match := _CLASS.match(operand.replace("_", "")))]
        if not word or (word in classes and not (word == "xmm" and {"ymm", "zmm"} & set(classes))):
            yield row


def _round_trip(
    reader: InstructionReader, names: Sequence[str], words: Sequence[str]
) -> tuple[PrintedInstruction, ...]:
    """The latest rows with these names of which each reads what the other one writes."""
    first_rows, second_rows = (list(_candidates(reader, *part)) for part in zip(names, words, strict=True))
    for rows in product(first_rows, second_rows):
        first_written, second_written = (
            {_class(operand) for operand in _explicit(row) if "W" in operand.access} for row in rows
        )
        first_read, second_read = (
            {_class(operand) for operand in _explicit(row) if "R" in operand.access} for row in rows
        )
        if first_written & second_read and second_written & first_read and rows[0].scheme != rows[1].scheme:
            return rows
    return ()


def _first_readable(instructions: Iterator[PrintedInstruction | None]) -> tuple[PrintedInstruction, ...]:
    """All of them, () where one is missing or all are one: such a row is a slip of its author."""
    listed = tuple(instructions)
    known = tuple(instruction for instruction in listed if instruction is not None)
    return known if len(known) == len(listed) and len({row.scheme.text for row in known}) > 1 else ()
