"""The number of cycles in a program's output, read by a regular expression.

A pattern of exponential ambiguity is refused. One whose time grows as a power of the text's length searches
only the beginning of an output (`inference.predictors.ambiguity`).
"""

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

MAX_AMBIGUOUS_TEXT = 1 << 14
"""Characters searched by a pattern whose time grows as their square: at worst a second."""

NOT_EXECUTABLE, NO_SUCH_COMMAND = 126, 127
"""Exit statuses by which a wrapper reports that the program it should start is missing."""


@dataclass(frozen=True)
class CyclesPattern:
    """Where a number of cycles stands in an output, and its factor.

    `number` has one group. `unknown`: a pattern of what a program prints, to either stream, about an
    instruction that it does not know; empty where it prints nothing.

    Raises:
        InvalidInputError: For a pattern without exactly one group, or one that could search without end.
    """

    number: str
    scale: float = 1.0
    unknown: str = ""

    def __post_init__(self) -> None:
        if compile_pattern("pattern", self.number).groups != 1:
            raise InvalidInputError(
                f"pattern must have one group in parentheses, the number: {self.number!r}"
            )
        if self.unknown:
            compile_pattern("unknown", self.unknown)

    def of_call(self, ended: CallOutcome) -> Answer:
        """The answer of a program that was called for one block.

        Raises:
            PredictorError: Where the program, or one that it should start, is missing.
        """
        if ended.status in (NOT_EXECUTABLE, NO_SUCH_COMMAND) and not ended.stdout:
            raise PredictorError(f"what the command should start is missing: {ended.last_error_line}")
        if ended.timed_out:
            return Answer(failure=Failure.TIMEOUT, detail=ended.ending)
        if ended.output_exceeded:
            return Answer(failure=Failure.NO_NUMBER, detail=ended.ending)
        output = ended.stdout.decode(errors="replace")
        reason = self.unsupported(output) or self.unsupported(ended.stderr.decode(errors="replace"))
        if reason:
            return Answer(failure=Failure.UNSUPPORTED, detail=reason)
        if ended.status != 0:
            return Answer(failure=Failure.CRASH, detail=ended.ending_with_error)
        return self.of_text(output)

    def of_text(self, text: str) -> Answer:
        if reason := self.unsupported(text):
            return Answer(failure=Failure.UNSUPPORTED, detail=reason)
        match = _bounded_search(self.number, text)
        try:
            cycles = math.nan if match is None else float(match.group(1)) * self.scale
        except (ValueError, TypeError):
            cycles = math.nan
        if math.isfinite(cycles) and cycles >= 0:
            return Answer(cycles=cycles)
        first = next((line.strip() for line in text.splitlines() if line.strip()), "nothing")
        return Answer(failure=Failure.NO_NUMBER, detail=f"no number of cycles in its output: {first[:200]}")

    def unsupported(self, text: str) -> str:
        """The line by which a text reports an unknown instruction, "" where it has none."""
        match = _bounded_search(self.unknown, text) if self.unknown else None
        if match is None:
            return ""
        begin = text.rfind("\n", 0, match.start()) + 1
        return text[begin:].partition("\n")[0].strip()[:300] or "it says so"


def compile_pattern(name: str, pattern: str) -> re.Pattern[str]:
    """A user's regular expression.

    Raises:
        InvalidInputError: For an invalid one, or one with exponential ambiguity.
    """
    try:
        ambiguity = _ambiguity(pattern)
        expression = re.compile(pattern, re.MULTILINE)  # bounded: as `_bounded_search` does, and checked here
    except (re.error, OverflowError, RecursionError) as error:
        raise InvalidInputError(f"{name} is no regular expression: {error} in {pattern!r}") from None
    if ambiguity is not None and ambiguity.growth is Growth.EXPONENTIAL:
        raise InvalidInputError(
            f"{name} could search without end: {ambiguity}; write {pattern!r} such that a text can be "
            "read in one way, as (?:\\d+ )* in place of (?:\\d+ ?)*"
        )
    return expression


def _bounded_search(pattern: str, text: str) -> re.Match[str] | None:
    """Search a text; an ambiguous pattern gets only its beginning."""
    end = len(text) if _ambiguity(pattern) is None else MAX_AMBIGUOUS_TEXT
    return re.compile(pattern, re.MULTILINE).search(text, 0, end)  # bounded: by the line above


@cache
def _ambiguity(pattern: str) -> Ambiguity | None:
    return ambiguity_of(pattern, re.MULTILINE, PatternUse.SEARCH)
