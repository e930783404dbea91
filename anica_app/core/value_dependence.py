"""Repeats findings of a machine with other operand values, and derives the condition under which they hold.

Each finding is measured again with its original values, then with those of
`inference.isa.start_values.repetitions`. Where it does not hold with all of them, the inputs of the block are
changed one at a time to find those that matter.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice, zip_longest

from inference.core.protocols import Json
from inference.isa.blocks import block_of_bytes, reads_of
from inference.isa.start_values import BlockInput, BlockReads, Repetition, StartValues, repetitions
from inference.isa.targets import DEFAULT
from inference.predictors.protocol import Answer

CLOSE = 0.05
"""Relative difference in cycles up to which two measurements count as equal."""

MAX_INPUTS = 8
"""Inputs of a block that are changed one at a time; further ones are not."""

MeasureFrom = Callable[[Sequence[tuple[bytes, StartValues]]], Sequence[Answer]]
"""Measures blocks, each from its start values; one answer per pair."""

InputChange = tuple[BlockInput, StartValues]
"""An input, and start values that differ from the original ones in this input alone."""


@dataclass(frozen=True)
class MeasuredFinding:
    """A finding to repeat.

    Attributes:
        number: Number of the discovery.
        code: The block.
        cycles: The machine's measurement.
        holds: Whether the finding would hold with other cycles.
        is_example: Whether the block is not the witness of the discovery.
    """

    number: int
    code: bytes
    cycles: float
    holds: Callable[[float], bool]
    is_example: bool = False


@dataclass(frozen=True)
class ValueReading:
    """Cycles measured from some start values.

    `holds` is None where the measurement failed; `note` says why.
    """

    values: str
    operands: Mapping[str, str]
    cycles: float | None
    holds: bool | None
    note: str = ""


@dataclass(frozen=True)
class ValueDependence:
    """The result of repeating a finding with other values.

    Attributes:
        original: The values of the finding, measured again.
        alternatives: The other values.
        condition: Where it holds, such as `only where cl = 0`; "" for all measured values; `NOT_AGAIN` where
            not even the original values show it.
    """

    original: ValueReading
    alternatives: tuple[ValueReading, ...]
    condition: str

    def as_json(self) -> Json:
        readings = (self.original, *self.alternatives)
        return {"condition": self.condition, "readings": list(map(asdict, readings))}


USUAL_LABEL = "as found"
NOT_AGAIN = "not when measured again"
NEVER_AGAIN = "as far as is known: it could not be measured again"
NO_OTHER_VALUES = "as far as is known: it could not be measured with other values"


@dataclass(frozen=True)
class _RepeatedFinding:
    """A finding with the start values to measure, the original ones first."""

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

    def single_input_changes(self, readings: Sequence[ValueReading], questions: int) -> list[InputChange]:
        """The original values with one input each replaced by a failing value.

        Empty where there is a single input.

        Inputs take turns: the first failing value of each comes first. [] where not every input can have one
        of the `questions`.
        """
        usual = self.repetitions[0].start
        failing = [
            repetition.start
            for repetition, reading in zip(self.repetitions, readings, strict=True)
            if reading.holds is False
        ]
        inputs = _independent(self.reads.inputs)
        if not readings[0].holds or len(inputs) == 1:
            return []
        changes = [
            [
                (block_input, block_input.replaced(usual, other))
                for value, other in {block_input.value(start): start for start in failing}.items()
                if value != block_input.value(usual)
            ]
            for block_input in inputs[:MAX_INPUTS]
        ]
        if sum(map(bool, changes)) > questions:
            return []
        in_turn = (change for turn in zip_longest(*changes) for change in turn if change is not None)
        return list(islice(in_turn, questions))

    def failing(
        self, changed: Sequence[InputChange], answers: Sequence[Answer]
    ) -> dict[BlockInput, list[StartValues]]:
        """The inputs that are enough to break the finding, and values that do."""
        broken: defaultdict[BlockInput, list[StartValues]] = defaultdict(list)
        for (block_input, start), answer in zip(changed, answers, strict=True):
            if self.holds(answer) is False:
                broken[block_input].append(start)
        return broken


def value_dependences(
    findings: Iterable[MeasuredFinding],
    usual: StartValues,
    measure: MeasureFrom,
    questions: int,
    isa: str = DEFAULT,
) -> list[tuple[MeasuredFinding, ValueDependence]]:
    """Findings repeated with other values, in their order.

    Args:
        findings: Most important first.
        usual: The start values that all of them were measured from.
        measure: The machine that measured them.
        questions: Largest number of measurements; findings that would exceed it are left out of the result.
        isa: Instruction set of their blocks.
    """
    repeated: list[_RepeatedFinding] = []
    for finding in findings:
        reads = reads_of(block_of_bytes(finding.code, isa))
        starts = [Repetition(USUAL_LABEL, usual), *repetitions(usual, reads)]
        if len(starts) > questions:
            break
        questions -= len(starts)
        repeated.append(_RepeatedFinding(finding, reads, starts))
    values = [[repetition.start for repetition in entry.repetitions] for entry in repeated]
    answers = _measure(measure, repeated, values)
    readings = [entry.readings(replies) for entry, replies in zip(repeated, answers, strict=True)]
    changes = []
    for entry, row in zip(repeated, readings, strict=True):
        changes.append(entry.single_input_changes(row, questions))
        questions -= len(changes[-1])
    new_answers = _measure(measure, repeated, [[start for _, start in changed] for changed in changes])
    conditions = [
        _condition(entry.reads, row, entry.failing(tried, replies))
        for entry, row, tried, replies in zip(repeated, readings, changes, new_answers, strict=True)
    ]
    return [
        (entry.finding, ValueDependence(row[0], tuple(row[1:]), condition))
        for entry, row, condition in zip(repeated, readings, conditions, strict=True)
    ]


def _measure(
    measure: MeasureFrom, repeated: Sequence[_RepeatedFinding], starts: Sequence[Sequence[StartValues]]
) -> list[list[Answer]]:
    """The answers for each block from each of its start values, by one request to the machine."""
    blocks = [
        (entry.finding.code, start)
        for entry, values in zip(repeated, starts, strict=True)
        for start in values
    ]
    answers = iter(measure(blocks) if blocks else ())
    return [list(islice(answers, len(values))) for values in starts]


def _condition(
    reads: BlockReads, readings: Sequence[ValueReading], failing: Mapping[BlockInput, Sequence[StartValues]]
) -> str:
    """Where a finding holds; `failing` is as in `_Repeated`."""
    if obstacle := _obstacle(reads, readings):
        return obstacle
    broken = [reading.operands for reading in readings if reading.holds is False]
    if not broken:
        return ""
    causes = list(failing) or _independent(reads.inputs)
    if len(causes) == 1:
        deciding = [_deciding_part(_parts(reads, causes[0]), readings, broken)]
    else:
        deciding = [
            _deciding_part(_parts(reads, cause), readings, [reads.values(start) for start in starts])
            for cause, starts in failing.items()
        ]
    if not deciding or "" in deciding:
        return f"only with some values of {', '.join(cause.name for cause in causes)}"
    holding = {name: _distinct(name, readings, holds=True) for name in deciding}
    places = [_condition_text(name, values) for name, values in holding.items()]
    if len(deciding) == 1 and len(holding[deciding[0]]) > 1:  # others like these may do as well
        failing_values = _distinct(deciding[0], readings, holds=False)
        return f"where {places[0]}, not where it is {' or '.join(failing_values)}"
    return f"only where {' and '.join(places)}"


def _obstacle(reads: BlockReads, readings: Sequence[ValueReading]) -> str:
    """Why no condition can be derived; "" where one can."""
    if not readings[0].holds:
        return NEVER_AGAIN if readings[0].holds is None else NOT_AGAIN
    is_alone = reads.inputs and all(reading.holds is None for reading in readings[1:])
    return NO_OTHER_VALUES if is_alone else ""


def _deciding_part(
    parts: Sequence[BlockInput], readings: Sequence[ValueReading], broken: Sequence[Mapping[str, str]]
) -> str:
    """The narrowest part of an input whose values separate holding from broken readings; "" for none."""
    for name in (part.name for part in reversed(parts)):
        holding = _distinct(name, readings, holds=True)
        if not any(operands[name] in holding for operands in broken):
            return name
    return ""


def _distinct(name: str, readings: Sequence[ValueReading], *, holds: bool) -> list[str]:
    """The values of an input with which a finding was measured to hold, or not to."""
    return list(dict.fromkeys(reading.operands[name] for reading in readings if reading.holds is holds))


def _condition_text(name: str, values: Sequence[str]) -> str:
    return f"{name} = {values[0]}" if len(values) == 1 else f"{name} is {' or '.join(values)}"


def _parts(reads: BlockReads, cause: BlockInput) -> list[BlockInput]:
    """All inputs of one source, the widest first."""
    return [block_input for block_input in reads.inputs if block_input.source == cause.source]


def _independent(inputs: Sequence[BlockInput]) -> list[BlockInput]:
    """One input of each source: of a register the widest part."""
    return list({block_input.source: block_input for block_input in reversed(inputs)}.values())[::-1]
