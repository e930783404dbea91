"""Evidence for a mapping found by counter-examples: written as JSON, loaded as a value.

It is the mapping's `report["cegar"]`. Of an alternative mapping only the schemes that differ are stored, with
the result's names of ports.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, Field

from inference.core.cegar import (
    REASONS,
    AmbiguityReason,
    CegarResult,
    CegarSettings,
    Determinacy,
    Unexplained,
)
from inference.core.cegar.events import ClashEvent, StoredTerms
from inference.core.events import Amount, Count, RMax, Uop, adapter, stored_as
from inference.core.judging.claims import ClaimWording
from inference.core.mapping import PortMapping, Uops
from inference.core.protocols import Json

KEY = "cegar"
"""Key of a mapping's report."""


def _check_clash(clash: Json) -> Json:
    ClashEvent.read(clash, strict=True)
    return clash


@dataclass(frozen=True)
class _WrittenUnexplained:
    terms: StoredTerms
    cycles: Amount
    predicted: Amount


StoredUnexplained = Annotated[
    Unexplained,
    stored_as(_WrittenUnexplained, vars, lambda written: Unexplained(*vars(written).values())),
]


@dataclass(frozen=True)
class MeasuredExperiment:
    """A measured experiment. `cycles`: None without a usable number."""

    experiment: Annotated[StoredTerms, Field(alias="terms")]
    cycles: Amount | None
    state: str


@dataclass(frozen=True)
class AlternativeUops:
    """Other µops of a scheme.

    Attributes:
        alternatives: In how many mappings.
        reasons: Why no experiment decides.
    """

    uops: Uops
    alternatives: int
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class UndeterminedScheme:
    """A scheme whose µops are not determined. `uops`: those of the result."""

    scheme: str
    uops: Uops
    alternatives: tuple[AlternativeUops, ...]


@dataclass(frozen=True)
class AlternativeMapping:
    """An alternative mapping.

    Attributes:
        usage: Usage of schemes that differ.
        reason: Why it cannot be excluded.
    """

    usage: Mapping[str, tuple[Uop, ...]]
    reason: Annotated[
        str, Field(alias="hidden"), AfterValidator(lambda hidden: REASONS[AmbiguityReason(hidden)])
    ]


@dataclass(frozen=True)
class Evidence:
    """To what extent the measurements determine a mapping.

    Attributes:
        epsilon, r_max, max_length: Settings of the search.
        clashes: Payloads of `ClashEvent`.
        unexplained: Measurements that the mapping does not explain.
        seconds: Seconds of the search.
        searching_seconds: Of that, in the search for other mappings.
        reason: Why there are other mappings that are not listed.
    """

    verdict: Determinacy
    limit: str
    experiments: tuple[MeasuredExperiment, ...]
    alternatives: tuple[AlternativeMapping, ...]
    more_alternatives: bool
    clashes: tuple[Annotated[Json, AfterValidator(_check_clash)], ...]
    counter_examples: Count
    solver: str
    epsilon: Amount
    r_max: RMax | None
    max_length: Count | None
    seconds: Amount
    searching_seconds: Amount
    unexplained: tuple[StoredUnexplained, ...] = ()
    """Empty for searches of earlier versions, which had to explain all measurements."""
    reason: str = ""

    @classmethod
    def of(cls, report: Json) -> Evidence | None:
        """From a mapping's report; None for a mapping of another origin."""
        entry = report.get(KEY)
        if entry is None:
            return None
        evidence: Evidence = adapter(cls).validate_python(entry, strict=False)
        return evidence

    @property
    def searching_share(self) -> float:
        """Per cent of the search's time spent on the search for other mappings."""
        return 100 * min(1.0, self.searching_seconds / self.seconds) if self.seconds > 0 else 0.0

    def doubts(self, mapping: PortMapping) -> list[UndeterminedScheme]:
        """Schemes of the mapping whose µops are not determined, sorted by text."""
        undetermined = []
        for scheme in sorted({scheme for alternative in self.alternatives for scheme in alternative.usage}):
            occurrences = Counter(
                alternative.usage[scheme] for alternative in self.alternatives if scheme in alternative.usage
            )
            elsewhere = tuple(
                AlternativeUops(uops, number, self._reasons(scheme, uops))
                for uops, number in occurrences.most_common()
            )
            undetermined.append(UndeterminedScheme(scheme, mapping.usage.get(scheme, ()), elsewhere))
        return undetermined

    def _reasons(self, scheme: str, uops: Uops) -> tuple[str, ...]:
        fitting = (
            alternative.reason for alternative in self.alternatives if alternative.usage.get(scheme) == uops
        )
        return tuple(dict.fromkeys(fitting))


def evidence_json(result: CegarResult, settings: CegarSettings) -> Json:
    """The evidence of a finished search as JSON; `Evidence.of` reads it."""
    return {
        "verdict": result.verdict.value,
        "limit": result.limit,
        "experiments": [
            {
                "terms": [list(term) for term in entry.experiment.terms],
                "cycles": entry.cycles if entry.usable else None,
                "state": entry.state.value,
            }
            for entry in result.experiments
        ],
        "alternatives": [
            {
                "usage": {
                    scheme: [list(pair) for pair in entry.mapping.usage[scheme]] for scheme in entry.differing
                },
                "hidden": entry.hidden.value,
            }
            for entry in result.alternatives
        ],
        "more_alternatives": result.more_alternatives,
        "clashes": [ClashEvent.of(clash).payload() for clash in result.clashes],
        "unexplained": [
            {
                "terms": [list(term) for term in entry.experiment.terms],
                "cycles": entry.cycles,
                "predicted": entry.predicted,
            }
            for entry in result.unexplained
        ],
        "counter_examples": result.counter_examples,
        "solver": result.solver,
        "epsilon": settings.epsilon,
        "r_max": settings.r_max,
        "max_length": settings.max_length,
        "seconds": round(result.seconds, 3),
        "searching_seconds": round(result.searching_seconds, 3),
        "reason": result.reason,
        "mixes": result.mixes,
        "mixes_unexplained": len(result.mixes_unexplained),
    }


def verdict_in_words(evidence: Evidence, word: ClaimWording | None = None) -> str:
    """The verdict as one sentence, or two.

    `word`: what may be said where the search found no other mapping; None while nothing but the search is
    there to judge by.
    """
    number = len(evidence.unexplained)
    if not number:
        return _verdict(evidence, word)
    noun = "measurement" if number == 1 else "measurements"
    return f"{_verdict(evidence, word)} {number} {noun} it does not explain: no mapping explains them all."


def _verdict(evidence: Evidence, word: ClaimWording | None) -> str:
    if evidence.verdict is Determinacy.UNIQUE:
        return (
            "The search found no other port mapping with as many ports." if word is None else word.explanation
        )
    if evidence.verdict is Determinacy.UNPROVEN:
        why = evidence.limit or "the search was cut off"
        return f"Other port mappings may explain the measurements as well: {why}."
    if evidence.reason and not evidence.alternatives:
        return f"Other port mappings explain the measurements as well: {evidence.reason}."
    schemes = {scheme for alternative in evidence.alternatives for scheme in alternative.usage}
    number, suffix = len(evidence.alternatives), " or more" if evidence.more_alternatives else ""
    mappings = "port mapping explains" if number == 1 and not suffix else "port mappings explain"
    noun = "scheme" if len(schemes) == 1 else "schemes"
    return (
        f"Ambiguous in {len(schemes)} {noun}: {number}{suffix} other {mappings} the measurements, and no "
        "experiment that may be asked can tell."
    )
