"""What is told of a mapping beside the mapping itself, as far as pages look into it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import ConfigDict, Field

from inference.core.cegar import Determinacy, Hidden
from inference.core.cegar.events import ClashFound, Terms
from inference.core.event_fields import Amount, Count, RMax, Uop, one_of
from inference.core.explain.events import BottleneckFound, StoredClass
from inference.formats.archived_parts import ABSENT, ArchivedPart

_Positive = Annotated[int, Field(ge=1, le=1_000_000)]


class _Asked(ArchivedPart):
    terms: Terms
    cycles: Amount | None
    state: str


class _Alternative(ArchivedPart):
    usage: dict[str, list[Uop]]
    hidden: Annotated[str, one_of(tuple(Hidden))]


class _Unexplained(ArchivedPart):
    terms: Terms
    cycles: Amount
    predicted: Amount


class _Cegar(ArchivedPart):
    """What `inference.storage.evidence` reads."""

    verdict: Annotated[str, one_of(tuple(Determinacy))]
    limit: str
    experiments: list[_Asked]
    alternatives: list[_Alternative]
    more_alternatives: bool
    clashes: list[ClashFound]
    unexplained: list[_Unexplained] = []
    counter_examples: Count
    solver: str
    epsilon: Amount
    r_max: RMax | None
    max_length: Count | None
    seconds: Amount
    searching_seconds: Amount


class _Explain(ArchivedPart):
    """What `inference.storage.characterisations` reads, which knows these names and no others."""

    model_config = ConfigDict(extra="forbid")

    classes: list[StoredClass]
    r_max: RMax | None
    noise: Amount
    counts_from: str
    warnings: list[str]
    verdict: str
    alternatives: Count
    experiments: Count
    measurements: Count
    per_scheme: Amount
    seconds: Amount
    funnel: dict[str, int]
    epsilon: Amount
    evidence: str


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


class ReportTold(ArchivedPart):
    """A mapping's report."""

    cegar: _Cegar = ABSENT
    explain: _Explain = ABSENT
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
        for other in self.cegar.alternatives if self.cegar else ():
            yield from (mask for uops in other.usage.values() for mask, _ in uops)
        for each in self.explain.classes if self.explain else ():
            yield from each.masks


class FactTold(ArchivedPart):
    """An experiment that a verdict rests on."""

    terms: Terms
    expected: Amount | None
    observed: Amount | None
