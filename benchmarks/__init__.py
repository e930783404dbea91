"""Benchmarks: what depends on a machine's speed, and what is compared with published numbers.

A benchmark is a module in this package with a function `run(quick: bool) -> Iterator[Result]`; its name on
the command line is the module's name with `-` for `_`. `quick` asks for seconds instead of minutes, on
smaller cases, to see whether the benchmark still works.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


class MissingDataError(Exception):
    """Published data that a benchmark needs is not there; the message says where it was looked for."""


@dataclass(frozen=True)
class Result:
    """One number that was measured.

    `reference` is the published number in the same unit, None where there is none; `more` holds
    whatever helps to judge the number (sizes, seeds, counts), as plain JSON data.
    """

    case: str
    value: float
    unit: str
    reference: float | None = None
    more: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self, name: str) -> dict[str, Any]:
        """The line that `python -m benchmarks` prints; `ratio` is value by reference."""
        ratio = round(self.value / self.reference, 4) if self.reference else None
        return {
            "name": name,
            "case": self.case,
            "value": self.value,
            "unit": self.unit,
            "reference": self.reference,
            "ratio": ratio,
            **self.more,
        }
