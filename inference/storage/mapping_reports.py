"""What is told of a mapping beside the mapping itself, as far as pages look into it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from inference.core.events import Amount, Count
from inference.core.explain.events import BottleneckFound
from inference.formats.archived_parts import ABSENT, ArchivedPart
from inference.storage.characterisations import ExplainedMapping
from inference.storage.evidence import Evidence

_Positive = Annotated[int, Field(ge=1, le=1_000_000)]


class _Elsewhere(ArchivedPart):
    """What was said against a mapping where its archive was written: (name of a result, words) by scheme."""

    objections: list[str]
    conflicts: dict[str, list[tuple[str, str]]]


class _Judging(ArchivedPart):
    """What `inference.storage.judging` reads: held-out experiments, all and those with each scheme."""

    n: Count
    off: Count
    error: Amount | None
    repeats: Amount | None
    elsewhere: _Elsewhere = ABSENT
    schemes: dict[str, tuple[Count, Count, Amount | None]]


class MappingReport(ArchivedPart):
    cegar: Evidence = ABSENT
    explain: ExplainedMapping = ABSENT
    judging: _Judging = ABSENT
    congruence_classes: list[Annotated[list[str], Field(min_length=1)]] = []
    assumptions: list[str] = []
    excess: Count = 0
    experiments: Count | None = None
    exhaustive: Count | None = None
    bottleneck: BottleneckFound | None = None
    instructions: Count | None = None
    left_out: dict[str, str] = {}
    loop_code: list[tuple[_Positive, _Positive, Amount]] = []

    def masks(self) -> Iterator[int]:
        """Every port set that it names."""
        for other in self.cegar.others if self.cegar else ():
            yield from (mask for uops in other.usage.values() for mask, _ in uops)
        for blocking in self.explain.classes if self.explain else ():
            yield from blocking.masks
