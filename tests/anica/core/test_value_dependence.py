"""Findings measured again with other values of their operands."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest

from anica_app.core.value_dependence import (
    NEVER_AGAIN,
    NO_OTHER_VALUES,
    NOT_AGAIN,
    MeasuredFinding,
    MeasureFrom,
    ValueDependence,
    value_dependences,
)
from inference.isa.blocks import read_blocks
from inference.isa.start_values import BlockInput, StartValues
from inference.isa.x86.block_inputs import reads_of
from inference.measuring.blocks import BlockOptions
from inference.predictors.protocol import Answer, Failure

USUAL = BlockOptions().start
SHIFT = "shl rax, cl\ncmove rbx, rdx"


def machine(cycles: Callable[[StartValues], float | None], asked: list[int] | None = None) -> MeasureFrom:
    def measure(blocks: Sequence[tuple[bytes, StartValues]]) -> list[Answer]:
        if asked is not None:
            asked.append(len(blocks))
        numbers = [cycles(start) for _, start in blocks]
        return [
            Answer(failure=Failure.CRASH) if number is None else Answer(cycles=number) for number in numbers
        ]

    return measure


def dependence(
    text: str, cycles: Callable[[StartValues], float | None], found: float, questions: int = 100
) -> ValueDependence:
    """A finding that holds where the machine takes more than 5 cycles."""
    (block,) = read_blocks(text, 1)
    finding = MeasuredFinding(7, block.code, found, lambda other: other > 5)
    ((_, checked),) = value_dependences([finding], USUAL, machine(cycles), questions)
    return checked


def slow_zero_count(start: StartValues) -> float:
    return 1.0 if start.registers["rcx"] & 63 else 41.0


def slow_no_mask(start: StartValues) -> float:
    return 1.0 if start.vector >> 63 else 307.0


@pytest.mark.parametrize(
    ("text", "cycles", "found", "condition"),
    [
        (SHIFT, slow_zero_count, 41.0, "only where cl = 0"),
        ("sar r10d, cl\ncmovno r13, rcx", slow_zero_count, 41.0, "only where cl = 0"),
        ("shl rcx, cl", slow_zero_count, 41.0, "only where cl = 0"),
        ("div rcx\nadd bl, cl", lambda s: 9.0 if s.registers["rcx"] == 0x62345600 else 1.0, 9.0,
         "only where rcx = 0x62345600"),
        ("vmaskmovpd ymm1, ymm2, [rax]", slow_no_mask, 307.0,
         "where ymm2 is 0x3f8ccccd3f8ccccd or 0 or 0x3f8000013f800001, not where it is 0xffffffffffffffff"),
        ("vpaddd zmm1{k1}, zmm2, zmm3", lambda start: 9.0 if start.masks else 1.0, 9.0,
         "only where k1 = 0xffffffffffffffff"),
        ("add rax, rbx", lambda start: 9.0, 9.0, ""),
        ("add rax, rbx", lambda start: 9.0 if start == USUAL else 5.0, 9.0,
         "only where rax = 0x62345600 and rbx = 0x62345600"),
        ("add rax, rbx", lambda s: 5.0 if s.registers["rax"] == s.registers["rbx"] == 0 else 9.0, 9.0,
         "only with some values of rax, rbx"),
        ("add rax, rbx", lambda start: 2.0, 9.0, NOT_AGAIN),
        ("add rax, rbx", lambda start: None if start == USUAL else 9.0, 9.0, NEVER_AGAIN),
        ("add rax, rbx", lambda start: 9.0 if start.registers["rax"] else None, 9.0, ""),
        ("xor edx, edx\ndiv cx", lambda s: 9.0 if s == USUAL else None, 9.0, NO_OTHER_VALUES),
        ("xor eax, eax\nmov rcx, rax", lambda start: 9.0, 9.0, ""),
    ],
)  # fmt: skip
def test_a_finding_says_where_it_holds(text, cycles, found, condition):
    checked = dependence(text, cycles, found)
    assert checked.condition == condition
    assert checked.original.values == "as found"


def test_both_inputs_that_matter_are_named():
    def cycles(start: StartValues) -> float:
        return 9.0 if start.registers["rcx"] & 63 == 0 and start.registers["rax"] == 0x62345600 else 1.0

    checked = dependence(SHIFT, cycles, 9.0)
    assert checked.condition == "only where rax = 0x62345600 and cl = 0"


def test_each_reading_has_its_operands_and_cycles():
    checked = dependence(SHIFT, slow_zero_count, 41.0)
    assert [(reading.operands["cl"], reading.cycles, reading.holds) for reading in checked.alternatives] == [
        ("0", 41.0, True),
        ("1", 1.0, False),
        ("5", 1.0, False),
        ("255", 1.0, False),
    ]


def test_small_changes_of_the_cycles_are_no_dependence():
    (block,) = read_blocks("add rax, rbx", 1)
    finding = MeasuredFinding(0, block.code, 1.0, lambda other: other >= 1.0)  # on the edge
    ((_, checked),) = value_dependences([finding], USUAL, machine(lambda start: 0.97), 100)
    assert checked.condition == ""


def test_no_more_questions_than_allowed_are_asked():
    asked: list[int] = []
    (block,) = read_blocks(SHIFT, 1)
    findings = [MeasuredFinding(number, block.code, 41.0, lambda other: other > 5) for number in range(9)]
    checked = value_dependences(findings, USUAL, machine(slow_zero_count, asked), 18)
    assert sum(asked) <= 18
    assert len(checked) == 3
    assert checked[0][1].condition == "only where cl = 0"
    assert checked[2][1].condition == "only with some values of rax, cl, rdx"  # no question was left


FINDINGS = 60
TEXTS = (
    SHIFT,
    "rol ebx, cl\nadd rax, rbx",
    "imul rax, rbx\nlea rcx, [rax + 4*rdx]",
    "xor edx, edx\ndiv rcx",
    "mov al, bl\nmovzx ecx, ah",
    "vmaskmovps ymm1, ymm2, [rax]",
    "vpmaskmovd [rsi], xmm3, xmm4\nvpaddd xmm3, xmm4, xmm5",
    "vdivps ymm0, ymm1, [rdi]\nvaddps ymm2, ymm0, ymm2",
    "vpaddd zmm1{k1}, zmm2, zmm3",
    "vmovups [rdi]{k2}, zmm1\nadd rax, rcx",
    "add rax, [rax]\nshlx rbx, rax, rcx",
    "push rax\npop rbx\nadd [rsi], bh",
)
PROPERTIES: tuple[Callable[[int], bool], ...] = (
    bool,
    lambda value: bool(value & 63),
    lambda value: bool(value & 1),
    lambda value: bool(value >> 63),
    lambda value: value < 1 << 32,
    lambda value: value == 2**64 - 1,
)
"""Of what an input holds, by which times are known to differ."""


@pytest.mark.parametrize("seed", range(FINDINGS))
def test_findings_hold_with_the_values_that_they_say(seed: int) -> None:
    """A machine whose times depend on one or two inputs, in a way that nothing is told of."""
    dice = random.Random(seed)
    text = dice.choice(TEXTS)
    (block,) = read_blocks(text, 1)
    reads = reads_of(entry.code for entry in block.instructions)
    causes = [(dice.choice(reads.inputs), dice.choice(PROPERTIES)) for _ in range(dice.choice((1, 1, 2)))]

    def is_slow(start: StartValues) -> bool:
        return all(has(entry.value(start)) == has(entry.value(USUAL)) for entry, has in causes)

    def cycles(start: StartValues) -> float:
        return dice.gauss(1, 0.01) * (20 if is_slow(start) else 1)

    condition = dependence(text, cycles, 20.0).condition
    for _ in range(50):
        start = reads.with_addresses(USUAL, other_values(dice))
        if is_slow(start):
            continue
        assert condition, (text, start)
        assert not is_within(condition, reads.inputs, start), (text, condition, start)


def is_within(condition: str, inputs: Sequence[BlockInput], start: StartValues) -> bool:
    """Whether a condition says that the finding holds with these values."""
    where, _, _ = condition.partition(", not where")
    if not where.startswith(("where ", "only where ")):
        return False
    values = {entry.name: entry.value_text(start) for entry in inputs}
    places = where.removeprefix("only ").removeprefix("where ").split(" and ")
    named = (place.replace(" = ", " is ").partition(" is ") for place in places)
    return all(values[name] in holding.split(" or ") for name, _, holding in named)


def other_values(dice: random.Random) -> StartValues:
    def value() -> int:
        return dice.choice((0, 1, dice.randrange(256), dice.randrange(2**64), 2**64 - 1))

    registers = {name: value() for name in USUAL.registers}
    return StartValues(registers, value(), value(), masks=dice.random() < 0.5)
