"""The protocol of predictors: for a basic block, the number of cycles that it takes, or why there is none."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from inference.core.protocols import Json

IMPORTED = "imported"
"""The kind of a predictor that exists in an imported file only."""


class PredictorError(Exception):
    """A predictor cannot work: the message says what to install or to configure."""


class Failure(StrEnum):
    """Why there is no number. The four are different findings and are never merged."""

    CRASH = "crash"
    """The tool ended by a signal, or with a complaint about itself."""
    TIMEOUT = "timeout"
    """The tool did not answer within its time."""
    UNSUPPORTED = "unsupported"
    """The tool reports an instruction of the block as unknown."""
    NO_NUMBER = "no number"
    """The tool ended well, but its output holds no usable number of cycles."""


RAW_TEXT = " — its message: "
"""Stands between a sentence about a failure and what the tool itself printed, which pages fold."""
_EXCEPTION = re.compile(
    r"(?P<kind>[A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt|Warning))\b:?\s*(?P<text>.*)"
)


def own_error(tool: str, raw: object) -> str:
    """What a tool prints when it fails on a block, as a sentence with the raw text behind it.

    >>> own_error("OSACA", "Traceback (most recent call last):\\n  File x\\nKeyError: 'vaddpd'")
    "OSACA failed on this block with an error of its own (KeyError) — its message: KeyError: 'vaddpd'"
    """
    lines = [line.strip() for line in str(raw).splitlines() if line.strip()]
    last = lines[-1] if lines else ""
    match = _EXCEPTION.match(last)
    kind = f" ({match['kind']})" if match else ""
    return f"{tool} failed on this block with an error of its own{kind}{RAW_TEXT}{last}"[:300]


@dataclass(frozen=True, slots=True)
class Answer:
    """Inverse throughput in cycles per execution of the block in a steady state, or why there is none.

    Exactly one of `cycles` (finite, ≥ 0) and `failure` is set. `detail`: one line for the reader, such as the
    tool's complaint; "" for none.

    Raises:
        ValueError: For values that contradict this.
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
        """Whether the tool can handle such a block at all: a number other than zero (thesis §8.2.2)."""
        return self.cycles is not None and self.cycles > 0


class Predictor(Protocol):
    """Predicts how many cycles a basic block takes per execution: a tool, a mapping, a machine.

    A basic block is its machine code: one or more instructions without control flow. All blocks of one
    predictor are of one instruction set, for which it was opened.
    """

    @property
    def name(self) -> str:
        """Displayed name, e.g. `llvm-mca 19 · haswell`."""
        ...

    @property
    def identity(self) -> Json:
        """Everything that changes its answers: kind, version, options. With a block, the key of an answer."""
        ...

    def predict(self, blocks: Sequence[bytes]) -> list[Answer]:
        """One answer per block, in order; blocks are asked in bulk because tools are slow to start.

        A failure for one block is an answer.

        Raises:
            PredictorError: Where the tool cannot work at all.
        """
        ...

    def close(self) -> None:
        """End its processes. It is not asked afterwards."""
        ...
