"""Listings without bytes, read, and compared with the bytes: what is the same, and why the rest is not."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

from iced_x86 import Decoder, Formatter, FormatterSyntax, Instruction, OpKind

from benchmarks._reader_libraries import Stretch

LINES = 400
"""Lines of a listing that are read in one go."""

BEHIND = 2
"""Lines that are read with them."""

_ADDRESS = re.compile(r"\s*([0-9a-f]+):\s+(\S.*)")
_TAIL = re.compile(r"\s*(?:#|<).*")
_NUMBER = re.compile(r"-?(?:0x[0-9a-f]+|\b\d+\b)")


@dataclass
class Comparison:
    """How many instructions are read to the same bytes, to a jump of another length to the same place.

    `rest`: {reason: {instruction as it is written, followed by both bytes: how many}}.
    """

    same: int = 0
    jumps: int = 0
    rest: dict[str, Counter[str]] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """How many instructions there were."""
        return self.same + self.jumps + sum(texts.total() for texts in self.rest.values())

    def add(self, other: Comparison) -> None:
        """Count what another comparison has found."""
        self.same += other.same
        self.jumps += other.jumps
        for reason, texts in other.rest.items():
            self.rest.setdefault(reason, Counter()).update(texts)

    def reasons(self) -> dict[str, int]:
        """How many there are for each reason, the most frequent ones first."""
        counted = {reason: texts.total() for reason, texts in self.rest.items()}
        return dict(sorted(counted.items(), key=lambda pair: -pair[1]))


def compared(stretch: Stretch) -> Comparison:
    """Read a stretch of a listing as somebody would paste it, and compare each of its instructions."""
    comparison = Comparison()
    for start in range(0, len(stretch.lines), LINES):
        end = start + LINES
        for line, got in _read(stretch.lines[start:end], stretch.lines[end : end + BEHIND]):
            row = _ADDRESS.fullmatch(line)
            address = int(row[1], 16) if row else -1  # of a heading
            if row is not None and address in stretch.code:
                _count(comparison, row[2], address, stretch.code[address], got)
    return comparison


def _read(lines: Sequence[str], behind: Sequence[str]) -> Iterator[tuple[str, bytes | str]]:
    """(line, bytes or why it is refused) of all lines; halving finds those that are refused.

    The lines `behind` are read with them, for where they lie tells how long the instruction before is.
    """
    from inference.isa.blocks import BlockError
    from inference.isa.x86.assembly.reading import read_program

    rows = [(line, _ADDRESS.fullmatch(line)) for line in lines]
    if not any(row for _, row in rows):
        return
    try:
        codes = {
            instruction.address: instruction.code
            for instruction in read_program("\n".join([*lines, *behind])).instructions
        }
    except BlockError as error:
        if len(lines) > 1:
            middle = len(lines) // 2
            yield from _read(lines[:middle], lines[middle : middle + BEHIND])
            yield from _read(lines[middle:], behind)
        elif behind:
            yield from _read(lines, behind[:-1])
        else:
            yield lines[0], error.message
        return
    yield from ((line, codes.get(int(row[1], 16), "passed over")) for line, row in rows if row)


def _count(comparison: Comparison, text: str, address: int, expected: bytes, got: bytes | str) -> None:
    """Count one instruction: the same bytes, a jump of another length, or different for a reason."""
    if got == expected:
        comparison.same += 1
        return
    reason, shown = _reason(address, expected, got)
    if reason == "jump":
        comparison.jumps += 1
        return
    text = " ".join(_TAIL.sub("", text).split())
    comparison.rest.setdefault(reason, Counter())[f"{text}  |  {expected.hex()}  |  {shown}"] += 1


def _reason(address: int, expected: bytes, got: bytes | str) -> tuple[str, str]:
    """(why it is not the same, what was got); "jump" is one of another length to the same place."""
    if isinstance(got, str):
        return f"refused: {_NUMBER.sub('…', got)[:160]}", got[:200]
    right, got_instruction = _decoded(expected, address), _decoded(got, address)
    if right is None or got_instruction is None:
        return "no single instruction", got.hex()
    if _is_jump(right) and _is_jump(got_instruction) and right.mnemonic == got_instruction.mnemonic:
        if right.near_branch_target == got_instruction.near_branch_target:
            return "jump", ""
        return "jump to another place", got.hex()
    if _written(right) != _written(got_instruction):
        return "another instruction", f"{got.hex()} {_written(got_instruction)}"
    kind = "shorter" if len(got) < len(expected) else "longer" if len(got) > len(expected) else "as long"
    return f"same text, other encoding, {kind}", got.hex()


def _decoded(code: bytes, address: int) -> Instruction | None:
    """The instruction, None where the bytes are not exactly one."""
    instruction = Decoder(64, code, ip=address).decode()
    return None if instruction.is_invalid or instruction.len != len(code) else instruction


def _is_jump(instruction: Instruction) -> bool:
    """Whether it names a place in the code: jumps, calls and loops, and where a transaction goes on."""
    return instruction.op_count > 0 and instruction.op_kind(0) == OpKind.NEAR_BRANCH64


def _written(instruction: Instruction) -> str:
    return str(_formatter().format(instruction))


@cache
def _formatter() -> Formatter:
    formatter = Formatter(FormatterSyntax.INTEL)
    formatter.show_branch_size = False
    return formatter
