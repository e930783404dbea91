"""From what a program printed to an answer."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cache

from inference.containment import CallOutcome
from inference.core.errors import InvalidInputError
from inference.predictors.ambiguity import Ambiguity, Growth, ambiguity_of
from inference.predictors.pattern_automaton import PatternUse
from inference.predictors.protocol import Answer, Failure, PredictorError

MOST_AMBIGUOUS = 1 << 14
"""Characters searched by a pattern whose time grows as their square: at worst a second."""
NOT_EXECUTABLE, NOT_FOUND = 126, 127
"""Exit statuses by which a wrapper says that what it should start is not there."""


@dataclass(frozen=True)
class CyclesPattern:
    """Where a number of cycles stands in an output, and what it is multiplied with.

    `number` has one group. `unknown`: what a program says, in output or complaints, of an instruction that it
    does not know; empty where it says nothing.
    """

    number: str
    scale: float = 1.0
    unknown: str = ""

    def __post_init__(self) -> None:
        if compiled("pattern", self.number).groups != 1:
            raise InvalidInputError(
                f"pattern must have one group in parentheses, the number: {self.number!r}"
            )
        if self.unknown:
            compiled("unknown", self.unknown)

    def of_call(self, ended: CallOutcome) -> Answer:
        """The answer of a program that ran for one block.

        Raises `PredictorError` where the program, or what it should start, was not there.
        """
        if ended.status in (NOT_EXECUTABLE, NOT_FOUND) and not ended.output:
            raise PredictorError(f"what the command should start is missing: {ended.last_complaint}")
        if ended.late:
            return Answer(failure=Failure.TIMEOUT, detail=ended.ending)
        if ended.flooded:
            return Answer(failure=Failure.NO_NUMBER, detail=ended.ending)
        output = ended.output.decode(errors="replace")
        reason = self.unsupported(output) or self.unsupported(ended.complaints.decode(errors="replace"))
        if reason:
            return Answer(failure=Failure.UNSUPPORTED, detail=reason)
        if ended.status != 0:
            return Answer(failure=Failure.CRASH, detail=ended.ending_with_complaint)
        return self.of_text(output)

    def of_text(self, text: str) -> Answer:
        """The answer that a text holds."""
        if reason := self.unsupported(text):
            return Answer(failure=Failure.UNSUPPORTED, detail=reason)
        found = _search(self.number, text)
        try:
            cycles = math.nan if found is None else float(found.group(1)) * self.scale
        except (ValueError, TypeError):
            cycles = math.nan
        if math.isfinite(cycles) and cycles >= 0:
            return Answer(cycles=cycles)
        first = next((line.strip() for line in text.splitlines() if line.strip()), "nothing")
        return Answer(failure=Failure.NO_NUMBER, detail=f"no number of cycles in its output: {first[:200]}")

    def unsupported(self, text: str) -> str:
        """The line by which a text says that an instruction is not known, "" where it does not."""
        found = _search(self.unknown, text) if self.unknown else None
        if found is None:
            return ""
        begin = text.rfind("\n", 0, found.start()) + 1
        return text[begin:].partition("\n")[0].strip()[:300] or "it says so"


def compiled(name: str, pattern: str) -> re.Pattern[str]:
    """A regular expression that a user wrote. Raises `InvalidInputError`, also for exponential ambiguity."""
    try:
        ambiguity = _ambiguity(pattern)
        expression = re.compile(pattern, re.MULTILINE)  # bounded: as `_search` does, and checked here
    except (re.error, OverflowError, RecursionError) as error:
        raise InvalidInputError(f"{name} is no regular expression: {error} in {pattern!r}") from None
    if ambiguity is not None and ambiguity.growth is Growth.EXPONENTIAL:
        raise InvalidInputError(
            f"{name} could search without end: {ambiguity}; write {pattern!r} such that a text can be "
            "read in one way, as (?:\\d+ )* in place of (?:\\d+ ?)*"
        )
    return expression


def _search(pattern: str, text: str) -> re.Match[str] | None:
    """Search in a text, of which an ambiguous pattern gets the beginning alone."""
    end = len(text) if _ambiguity(pattern) is None else MOST_AMBIGUOUS
    return re.compile(pattern, re.MULTILINE).search(text, 0, end)  # bounded: by the line above


@cache
def _ambiguity(pattern: str) -> Ambiguity | None:
    return ambiguity_of(pattern, re.MULTILINE, PatternUse.SEARCH)
