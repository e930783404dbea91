"""Reasons to doubt what a port mapping says of a scheme."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum

from inference.core.mapping import Uops


class DoubtKind(StrEnum):
    """Why a scheme's µops are doubtful."""

    AMBIGUOUS = "ambiguous"
    EXCLUDED = "excluded"
    MISPREDICTED = "mispredicted"
    SLOTS = "slots"
    CONFLICT = "conflict"


LABELS = {
    DoubtKind.AMBIGUOUS: "ambiguous",
    DoubtKind.EXCLUDED: "excluded",
    DoubtKind.MISPREDICTED: "badly predicted",
    DoubtKind.SLOTS: "other slots measured",
    DoubtKind.CONFLICT: "in conflict",
}


@dataclass(frozen=True)
class Doubt:
    """One reason to doubt one scheme.

    `words` say what is doubtful. `here`: its µops in the mapping, None where it has none; `others`: what they
    may be instead, or are elsewhere, under the ports of `Doubts.ports`. `size` ranks doubts of one kind.
    """

    kind: DoubtKind
    scheme: str
    words: str
    here: Uops | None = None
    others: tuple[Uops, ...] = ()
    size: float = 0.0


@dataclass(frozen=True)
class Doubts:
    """All doubts of a mapping, by kind, the gravest of each first; `ports` are the names that µops go by."""

    rows: tuple[Doubt, ...]
    ports: tuple[str, ...]

    @property
    def counts(self) -> Counter[DoubtKind]:
        """How many there are of each kind."""
        return Counter(each.kind for each in self.rows)

    def of(self, scheme: str) -> list[Doubt]:
        return [each for each in self.rows if each.scheme == scheme]
