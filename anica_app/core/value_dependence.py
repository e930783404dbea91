"""Whether what a machine's measurement shows holds with other values of a block's operands, or where it does.

Each finding is measured again with the values that it was found with, then with those of
`inference.isa.start_values.repetitions`. Where it does not hold with all of them, the inputs of the block are
changed one by one, which shows the ones that matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from anica_app.core.protocols import Answer
from inference.core.protocols import Json
from inference.isa.start_values import BlockInput, BlockReads, Repetition, StartValues, repetitions
from inference.isa.x86.block_inputs import reads_of
from inference.isa.x86.blocks import block_of_bytes

CLOSE = 0.05
"""Of the cycles: measurements that differ by less are taken for equal."""
MOST_INPUTS = 8
"""Of a block that are changed one by one."""

MeasureFrom = Callable[[Sequence[tuple[bytes, StartValues]]], Sequence[Answer]]
"""The answer of a machine for each block, with the values that it starts with."""
InputChange = tuple[BlockInput, StartValues]
"""An input, and values of which it alone is another one than usual."""


@dataclass(frozen=True)
class MeasuredFinding:
    """What is to be measured again.

    Attributes:
        number: Of the discovery.
        code: The block.
        cycles: What the machine measured.
        holds: Whether the finding would be the same with other cycles.
        is_example: Whether the block is another one than the discovery's witness.
    """

    number: int
    code: bytes
    cycles: float
    holds: Callable[[float], bool]
    is_example: bool = False


@dataclass(frozen=True)
class ValueReading:
    """Cycles with some values. `holds`: None where nothing could be measured, as `note` says."""

    label: str
    operands: Mapping[str, str]
    cycles: float | None
    holds: bool | None
    note: str = ""


@dataclass(frozen=True)
class ValueDependence:
    """What repeating a finding with other values showed.

    Attributes:
        usual: The values that it was found with, measured again.
        others: The other values.
        condition: Where it holds, such as `only where cl = 0`; "" with all values that could be measured.
    """

    usual: ValueReading
    others: tuple[ValueReading, ...]
    condition: str

    def as_json(self) -> Json:
        """A plain object."""
        return {
            "condition": self.condition,
            "readings": [
                {
                    "values": reading.label,
                    "operands": dict(reading.operands),
                    "cycles": reading.cycles,
                    "holds": reading.holds,
                    "note": reading.note,
                }
                for reading in (self.usual, *self.others)
            ],
        }


USUAL_LABEL = "as found"
NOT_AGAIN = "not when measured again"


@dataclass(frozen=True)
class _Repeated:
    """A finding with the values to measure it with: first the usual ones."""

    finding: MeasuredFinding
    reads: BlockReads
    repetitions: Sequence[Repetition]

    def readings(self, answers: Sequence[Answer]) -> list[ValueReading]:
        return [
            ValueReading(
                repetition.label,
                self.reads.values(repetition.start),
                answer.cycles,
                self.holds(answer),
                answer.detail or str(answer.failure or ""),
            )
            for repetition, answer in zip(self.repetitions, answers, strict=True)
        ]

    def holds(self, answer: Answer) -> bool | None:
        if answer.cycles is None:
            return None
        cycles = self.finding.cycles
        return abs(answer.cycles - cycles) <= CLOSE * cycles or self.finding.holds(answer.cycles)

    def changed_one_by_one(self, readings: Sequence[ValueReading]) -> list[InputChange]:
        """The usual values with one input each as where the finding does not hold; [] where one is enough.

        Of several such values of an input, the first other one than usual.
        """
        usual = self.repetitions[0].start
        failing = [
            repetition.start
            for repetition, reading in zip(self.repetitions, readings, strict=True)
            if reading.holds is False
        ]
        if not readings[0].holds or len(self.reads.inputs) == 1:
            return []
        changes = []
        for block_input in self.reads.inputs[:MOST_INPUTS]:
            others = (start for start in failing if block_input.value(start) != block_input.value(usual))
            if other := next(others, None):
                changes.append((block_input, block_input.replaced(usual, other)))
        return changes

    def failing(self, changed: Sequence[InputChange], answers: Sequence[Answer]) -> dict[BlockInput, str]:
        """The inputs that are enough to break the finding, and a value that does."""
        return {
            block_input: block_input.value_text(start)
            for (block_input, start), answer in zip(changed, answers, strict=True)
            if self.holds(answer) is False
        }


def value_dependences(
    findings: Iterable[MeasuredFinding], usual: StartValues, measure: MeasureFrom, questions: int
) -> list[tuple[MeasuredFinding, ValueDependence]]:
    """Findings measured again, in their order.

    Args:
        findings: The ones to begin with first.
        usual: The values that all of them were found with.
        measure: The machine that found them.
        questions: Measurements at most; findings for which none are left are not in the result.
    """
    repeated: list[_Repeated] = []
    for finding in findings:
        reads = reads_of(entry.code for entry in block_of_bytes(finding.code).instructions)
        starts = [Repetition(USUAL_LABEL, usual), *repetitions(usual, reads)]
        if len(starts) > questions:
            break
        questions -= len(starts)
        repeated.append(_Repeated(finding, reads, starts))
    answers = _measured(measure, repeated, [[each.start for each in entry.repetitions] for entry in repeated])
    readings = [entry.readings(some) for entry, some in zip(repeated, answers, strict=True)]
    changes = []
    for entry, row in zip(repeated, readings, strict=True):
        changed = entry.changed_one_by_one(row)
        changes.append(changed if len(changed) <= questions else [])
        questions -= len(changes[-1])
    changed_answers = _measured(measure, repeated, [[start for _, start in changed] for changed in changes])
    conditions = [
        _condition(entry.reads.inputs, row, entry.failing(changed, some))
        for entry, row, changed, some in zip(repeated, readings, changes, changed_answers, strict=True)
    ]
    return [
        (entry.finding, ValueDependence(row[0], tuple(row[1:]), condition))
        for entry, row, condition in zip(repeated, readings, conditions, strict=True)
    ]


def _measured(
    measure: MeasureFrom, repeated: Sequence[_Repeated], starts: Sequence[Sequence[StartValues]]
) -> list[list[Answer]]:
    """The answers for each block with each of its values, all asked at once."""
    blocks = [
        (entry.finding.code, start) for entry, own in zip(repeated, starts, strict=True) for start in own
    ]
    answers = iter(measure(blocks) if blocks else ())
    return [list(islice(answers, len(own))) for own in starts]


def _condition(
    inputs: Sequence[BlockInput], readings: Sequence[ValueReading], failing: Mapping[BlockInput, str]
) -> str:
    """Where a finding holds; `failing` is as in `_Repeated`."""
    if not readings[0].holds:
        return NOT_AGAIN
    if all(reading.holds is not False for reading in readings):
        return ""
    names = [block_input.name for block_input in (failing or inputs)]
    if len(names) == 1:
        values = [reading.operands[names[0]] for reading in readings if reading.holds is False]
        return _condition_of_one(names[0], _holding(names[0], readings), list(dict.fromkeys(values)))
    holding = {name: _holding(name, readings) for name in names}
    broken = {block_input.name: value for block_input, value in failing.items()}
    if not broken or any(value in holding[name] for name, value in broken.items()):
        return f"only with some values of {', '.join(names)}"
    places = [
        f"{name} is not {value}" if len(holding[name]) > 1 else f"{name} = {holding[name][0]}"
        for name, value in broken.items()
    ]
    return f"only where {' and '.join(places)}"


def _holding(name: str, readings: Sequence[ValueReading]) -> list[str]:
    """The values of an input with which the finding was measured to hold."""
    return list(dict.fromkeys(reading.operands[name] for reading in readings if reading.holds))


def _condition_of_one(name: str, holding: Sequence[str], failing: Sequence[str]) -> str:
    if not set(holding).isdisjoint(failing):
        return f"only with some values of {name}"
    if len(failing) == 1 < len(holding):
        return f"not where {name} = {failing[0]}"
    values = f"= {holding[0]}" if len(holding) == 1 else f"is {' or '.join(holding)}"
    return f"only where {name} {values}"
