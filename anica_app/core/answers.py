"""What a predictor says of a basic block: a number of cycles, or one of four ways of having none."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum


class Failure(StrEnum):
    """Why there is no number. The four are different findings and are never mixed up."""

    CRASH = "crash"
    """The tool ended by a signal, or with a complaint about itself."""
    TIMEOUT = "timeout"
    """The tool did not answer within its time."""
    UNSUPPORTED = "unsupported"
    """The tool says that it does not know an instruction of the block."""
    NO_NUMBER = "no number"
    """The tool ended well, but its output holds no usable number of cycles."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Inverse throughput in cycles per execution of the block in a steady state, or why there is none.

    Exactly one of `cycles` (finite, ≥ 0) and `failure` is there. `detail` is one line for the reader: what
    the tool complained of, "" where nothing is to be said.
    """

    cycles: float | None = None
    failure: Failure | None = None
    detail: str = ""

    def __post_init__(self) -> None:
        if (self.cycles is None) == (self.failure is None):
            raise ValueError(
                f"an answer is a number of cycles or a failure, not {self.cycles!r} and {self.failure!r}"
            )
        if self.cycles is not None and not (math.isfinite(self.cycles) and self.cycles >= 0):
            raise ValueError(f"cycles must be a finite number from 0 on, not {self.cycles!r}")

    @property
    def supported(self) -> bool:
        """Whether the tool can work with such a block at all: a number other than zero (thesis §8.2.2)."""
        return self.cycles is not None and self.cycles > 0
