"""What became of fuzzed batches and messages."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

_SHOWN = 20


@dataclass
class Survey:
    """`sent` of each kind, the `outcomes`, and `failures`: whatever must not happen, in words."""

    sent: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    @property
    def total(self) -> int:
        """How many there were."""
        return self.sent.total()

    def expect(self, holds: bool, otherwise: str) -> None:
        """Note a failure unless something holds."""
        if not holds:
            self.failures.append(otherwise)

    def as_json(self) -> dict[str, Any]:
        """For people who read it."""
        return {
            "sent": dict(self.sent.most_common()),
            "outcomes": dict(self.outcomes.most_common()),
            "failures": self.failures[:_SHOWN],
        }
