"""Evaluates reference blocks: is this computer fit for measuring, and is it undisturbed right now?

The blocks themselves are defined per instruction set: see `targets`.
"""

from __future__ import annotations

import statistics
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from inference.agent.protocol import BatchItem

COPIES = 120  # of an instruction in a loop body: enough that the loop's own branch does not matter
TOLERANCE = 0.04
"""Relative deviation from the true time up to which a block counts as undisturbed."""


@dataclass(frozen=True)
class ReferenceBlock:
    """A block of independent instructions. `plausible`: cycles per instruction on known cores."""

    name: str
    item: BatchItem
    plausible: tuple[float, ...]


def item(name: str, instructions: Sequence[bytes]) -> BatchItem:
    """A loop body of `COPIES` instructions, each a copy."""
    code = b"".join(instructions)
    half = len(b"".join(instructions[: COPIES // 2]))
    return BatchItem(
        id=name, code=code, copies=COPIES, half_bytes=half, half_copies=COPIES // 2, instructions=1
    )


_HISTORY_LENGTH = 40  # last answers of a check that count
_MIN_ANSWERS = 5  # before anything is concluded from them


@dataclass
class CheckAnswers:
    """Recent times of the reference blocks, and conclusions from them.

    `documented`: {block: cycles per instruction} for known microarchitectures. For others, the shortest
    plausible time that recurs counts as the true one: on a disturbed computer, single times can be anything,
    too fast ones included.
    """

    documented: Mapping[str, float]
    _answers: dict[str, deque[float]] = field(default_factory=dict)
    _near_counts: Counter[tuple[str, float]] = field(default_factory=Counter)

    def record(self, check: ReferenceBlock, cycles: float) -> None:
        """Add a time, in cycles per instruction."""
        self._answers.setdefault(check.name, deque(maxlen=_HISTORY_LENGTH)).append(cycles)
        for value in check.plausible:
            self._near_counts[check.name, value] += abs(cycles / value - 1) <= TOLERANCE

    def deviations(self, checks: Sequence[ReferenceBlock]) -> dict[str, float]:
        """{block: latest time / true time − 1} of the blocks that were timed."""
        return {check.name: self._deviation(check) for check in checks if check.name in self._answers}

    def latest(self, checks: Sequence[ReferenceBlock]) -> dict[str, tuple[float, float | None]]:
        """{block: (latest time, true time)} in cycles per instruction."""
        return {
            check.name: (self._answers[check.name][-1], self.true_cycles(check))
            for check in checks
            if check.name in self._answers
        }

    def noise(self, checks: Sequence[ReferenceBlock]) -> float | None:
        """The median absolute deviation of the latest times, None before the first."""
        deviations = self.deviations(checks)
        return statistics.median(abs(value) for value in deviations.values()) if deviations else None

    def disturbance(self, checks: Sequence[ReferenceBlock]) -> str:
        """The most disturbed block as a sentence, "" where none is disturbed."""
        deviations = {
            name: value for name, value in self.deviations(checks).items() if abs(value) > TOLERANCE
        }
        if not deviations:
            return ""
        name = max(deviations, key=lambda check: abs(deviations[check]))
        how = "slower" if deviations[name] > 0 else "faster"
        return f"{name} are {100 * abs(deviations[name]):.0f} % {how} than they should be"

    def contradiction(self, checks: Sequence[ReferenceBlock]) -> str:
        """Why the clock cannot be trusted: a block is always faster than possible; "" where it can."""
        for check in checks:
            answers = self._answers.get(check.name, ())
            least = self.documented.get(check.name, min(check.plausible))
            if len(answers) >= _MIN_ANSWERS and (typical := statistics.median(answers)) < least * (
                1 - 2 * TOLERANCE
            ):
                return (
                    f"{check.name} take {typical:.3f} cycles each where {least:.3f} is the least possible: "
                    "the chain of dependent additions is no clock on this computer"
                )
        return ""

    def true_cycles(self, check: ReferenceBlock) -> float | None:
        """The documented time, else the shortest plausible one that recurred; None where there is none."""
        if check.name in self.documented:
            return self.documented[check.name]
        return min(
            (value for value in check.plausible if self._near_counts[check.name, value] >= _MIN_ANSWERS),
            default=None,
        )

    def _deviation(self, check: ReferenceBlock) -> float:
        return self._answers[check.name][-1] / (self.true_cycles(check) or check.plausible[0]) - 1
