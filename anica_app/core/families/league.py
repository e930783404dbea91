"""A machine as referee of two tools: which one is right about a block, and how tools do by class of
instruction.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from inference.core.protocols import Json
from inference.predictors.protocol import Answer

TOLERANCE = 0.25
"""Largest relative error of a correct prediction."""

NEITHER = 0  # in place of a tool's number


def correct_tool(answers: Sequence[Answer], measured: float, tolerance: float = TOLERANCE) -> int:
    """The tool with the smallest error, counted from 1; `NEITHER` where no error is within the tolerance.

    Args:
        answers: Answers of the tools; the first of two equal errors wins.
        measured: Cycles, more than 0.
        tolerance: Largest relative error.

    >>> correct_tool([Answer(cycles=1.0), Answer(cycles=2.0)], measured=2.2)
    2
    """
    errors = [_relative_error(answer, measured) for answer in answers]
    best = min(range(len(errors)), key=lambda at: errors[at], default=-1)
    return best + 1 if best >= 0 and errors[best] <= tolerance else NEITHER


def _relative_error(answer: Answer, measured: float) -> float:
    return math.inf if answer.cycles is None else abs(answer.cycles - measured) / measured


@dataclass(frozen=True, slots=True)
class RefereedBlock:
    """A block with the classes of its instructions, the tools' answers and the measured cycles.

    `disputed`: the tools disagree about it.
    """

    classes: tuple[str, ...]
    answers: tuple[Answer, ...]
    measured: float
    disputed: bool


@dataclass(frozen=True, slots=True)
class LeagueRow:
    """Results of the tools on blocks with an instruction of a class; the name "" stands for all blocks.

    Of the `disputed` blocks, `right` counts for each tool those that it predicts correctly, `neither` the
    others. `errors`: for each tool the mean of |predicted − measured| / measured over all blocks, None
    without an answer.
    """

    name: str
    blocks: int
    disputed: int
    right: tuple[int, ...]
    neither: int
    errors: tuple[float | None, ...]

    def as_json(self) -> Json:
        facts = asdict(self)
        return {"class": facts.pop("name"), **facts, "right": list(self.right), "errors": list(self.errors)}


def league(blocks: Iterable[RefereedBlock], tools: int) -> list[LeagueRow]:
    """A row for all blocks, then one per class, those with the most disputed blocks first."""
    by_class: dict[str, list[RefereedBlock]] = defaultdict(list)
    for block in blocks:
        for name in ("", *dict.fromkeys(block.classes)):
            by_class[name].append(block)
    rows = [_row(name, members, tools) for name, members in by_class.items()]
    return sorted(rows, key=lambda row: (row.name != "", -row.disputed, -row.blocks, row.name))


def _row(name: str, blocks: Sequence[RefereedBlock], tools: int) -> LeagueRow:
    disputed = [block for block in blocks if block.disputed]
    verdicts = [correct_tool(block.answers, block.measured) for block in disputed]
    return LeagueRow(
        name,
        len(blocks),
        len(disputed),
        tuple(verdicts.count(tool) for tool in range(1, tools + 1)),
        verdicts.count(NEITHER),
        tuple(_mean_error(blocks, tool) for tool in range(tools)),
    )


def _mean_error(blocks: Sequence[RefereedBlock], tool: int) -> float | None:
    answered = [block for block in blocks if block.answers[tool].cycles is not None]
    errors = [_relative_error(block.answers[tool], block.measured) for block in answered]
    return math.fsum(errors) / len(errors) if errors else None
