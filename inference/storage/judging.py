"""What the words on a mapping rest on, between rows and values: held-out experiments, and other results.

The mapping's `report["judging"]` is what `HeldOutChecks.as_json` makes. Other results of its machine that say
something else of a scheme are rows: they come and go with the mappings that they are about.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from django.db.models import Count, OuterRef, Subquery

from inference.core.cegar import Determinacy
from inference.core.experiment import Measured
from inference.core.judging.contradictions import UopsConflict, conflict_in_words, uops_conflicts
from inference.core.judging.held_out import HeldOutChecks, held_out_checks
from inference.core.judging.words import AllowedWord, Grounds, StrongWord, strongest_word
from inference.core.mapping import PortMapping
from inference.core.protocols import Json
from inference.models import Machine, SchemeConflict
from inference.models import PortMapping as PortMappingRow
from inference.storage.evaluating import Predictions
from inference.storage.evidence import KEY as CEGAR
from inference.storage.evidence import Evidence, verdict_in_words
from inference.storage.rows import BATCH, ids_of_schemes, load_mapping

KEY = "judging"
"""Where a mapping's report has its held-out experiments."""
MOST_OTHERS = 20
"""Other results of a machine that a new one is compared with: the newest."""
_EXPLAINED = "explained"
_SHORT = {"Explainable inference": _EXPLAINED}
"""What results of an algorithm are called beside those of others; else as the algorithm is."""


def judging_json(results: Sequence[Measured], judged: Predictions, epsilon: float | None) -> Json:
    """What a mapping's report keeps of its held-out experiments. `judged` has indices into `results`."""
    predicted = np.full(len(results), np.nan)
    predicted[judged.kept] = judged.predicted
    return held_out_checks(results, predicted, epsilon).as_json()


@dataclass(frozen=True)
class FoundConflicts:
    """Where a mapping that is not stored yet and the stored mapping `other` contradict, from both sides."""

    other: int
    here: Sequence[UopsConflict]
    there: Sequence[UopsConflict]


def conflicts_with_others(machine: Machine | None, value: PortMapping) -> list[FoundConflicts]:
    """Compare a result with the other results of its machine: a second for each at most."""
    if machine is None:
        return []
    found = []
    others = PortMappingRow.objects.filter(machine=machine, origin=PortMappingRow.Origin.RUN)
    for row in others.order_by("-pk")[:MOST_OTHERS]:
        other = load_mapping(row)
        if value.usage.keys() & other.usage.keys():
            sides = uops_conflicts(value, other), uops_conflicts(other, value)
            found.append(FoundConflicts(row.pk, *sides))
    return found


def store_conflicts(row: PortMappingRow, conflicts: Iterable[FoundConflicts]) -> None:
    """Keep the conflicts of a new mapping, with the results that are still there."""
    listed = list(conflicts)
    others = [each.other for each in listed]
    known = set(PortMappingRow.objects.filter(pk__in=others).values_list("pk", flat=True))
    listed = [each for each in listed if each.other in known]
    texts = {conflict.scheme for each in listed for conflict in (*each.here, *each.there)}
    ids = ids_of_schemes(row.isa_id, texts)
    SchemeConflict.objects.bulk_create(
        [
            SchemeConflict(
                mapping_id=mapping,
                other_id=other,
                scheme_id=ids[conflict.scheme],
                here=conflict.here,
                there=conflict.there,
            )
            for each in listed
            for mapping, other, side in ((row.pk, each.other, each.here), (each.other, row.pk, each.there))
            for conflict in side
        ],
        batch_size=BATCH,
    )


@dataclass(frozen=True)
class SchemeConflictText:
    """Another result that says something else of a scheme: its row's number, its name, and all in words."""

    mapping: int
    name: str
    words: str


def conflicts_of(
    mappings: Collection[int], schemes: Collection[str] | None = None
) -> dict[tuple[int, str], list[SchemeConflictText]]:
    """{(mapping, scheme): the results that say otherwise} of these mappings, for all schemes or some."""
    rows = SchemeConflict.objects.filter(mapping__in=mappings)
    if schemes is not None:
        rows = rows.filter(scheme__text__in=schemes)
    found: defaultdict[tuple[int, str], list[SchemeConflictText]] = defaultdict(list)
    names = ("mapping__name", "mapping__source", "other__name", "other__source")
    columns = ("mapping_id", "other_id", "scheme__text", "here", "there", *names)
    for mapping, other, scheme, here, there, *told in rows.values_list(*columns):
        own, others = _names(*told)
        found[mapping, scheme].append(
            SchemeConflictText(other, told[2], conflict_in_words(here, own, there, others))
        )
    return dict(found)


def _names(name: str, source: str, other_name: str, other_source: str) -> tuple[str, str]:
    """What two results are called: by their algorithms, where these differ."""
    if source and other_source and source != other_source:
        return _SHORT.get(source, source), _SHORT.get(other_source, other_source)
    return name, other_name


@dataclass(frozen=True)
class MappingGrounds:
    """What the words on a mapping and on its schemes rest on.

    `checks`: None where no experiment was held out, or an earlier version made the mapping. `conflicts`:
    {scheme: the results that say otherwise}. `results`: of its machine, this one included.
    """

    checks: HeldOutChecks | None
    conflicts: Mapping[str, Sequence[SchemeConflictText]]
    results: int

    def whole(self, unexplained: int = 0) -> Grounds:
        """Of the mapping; `unexplained` by its search."""
        held_out = None if self.checks is None else self.checks.whole
        return Grounds(held_out, self.results, _named(self.conflicts.values()), unexplained)

    def of(self, scheme: str) -> Grounds:
        """Of what it says of a scheme."""
        held_out = None if self.checks is None else self.checks.schemes.get(scheme)
        return Grounds(held_out, self.results, _named([self.conflicts.get(scheme, [])]))

    def uops_word(self, scheme: str) -> AllowedWord:
        """What may be said of a scheme's µops that witnesses show."""
        return strongest_word(StrongWord.PROVEN, self.of(scheme))

    def conflict_words(self, scheme: str) -> list[str]:
        """Of each result that says otherwise: what both say."""
        return [text.words for text in self.conflicts.get(scheme, [])]


def _named(texts: Iterable[Sequence[SchemeConflictText]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text.name for each in texts for text in each))


def grounds_of(row: PortMappingRow, schemes: Collection[str] | None = None) -> MappingGrounds:
    """Of one mapping, for all schemes or some (two queries)."""
    return grounds_by_mapping([row], schemes)[row.pk]


def grounds_by_mapping(
    rows: Collection[PortMappingRow], schemes: Collection[str] | None = None
) -> dict[int, MappingGrounds]:
    """{mapping: its grounds}, for all schemes or some (two queries, however many mappings)."""
    pks = [row.pk for row in rows]
    same_machine = PortMappingRow.objects.filter(
        machine=OuterRef("machine"), origin=PortMappingRow.Origin.RUN
    )
    counted = same_machine.order_by().values("machine").annotate(n=Count("pk")).values("n")
    known = PortMappingRow.objects.filter(pk__in=pks).annotate(results=Subquery(counted))
    conflicts: defaultdict[int, dict[str, list[SchemeConflictText]]] = defaultdict(dict)
    for (mapping, scheme), texts in conflicts_of(pks, schemes).items():
        conflicts[mapping][scheme] = texts
    return {
        pk: MappingGrounds(HeldOutChecks.from_json(told) if told else None, conflicts[pk], results or 1)
        for pk, told, results in known.values_list("pk", f"report__{KEY}", "results")
    }


@dataclass(frozen=True)
class SearchVerdict:
    """What a search by counter-examples concluded, in the words that may be used of it.

    `determinacy`: unique only where that word is allowed.
    """

    determinacy: Determinacy
    words: str
    is_strong: bool


def search_verdict(row: PortMappingRow, evidence: Evidence) -> SearchVerdict:
    """The verdict on a mapping with this evidence."""
    word = strongest_word(StrongWord.UNIQUE, grounds_of(row).whole(len(evidence.unexplained)))
    is_strong = evidence.verdict is Determinacy.UNIQUE and word.is_strong
    demoted = evidence.verdict is Determinacy.UNIQUE and not is_strong
    return SearchVerdict(
        Determinacy.UNPROVEN if demoted else evidence.verdict, verdict_in_words(evidence, word), is_strong
    )


def allowed_report(row: PortMappingRow) -> Json:
    """The mapping's report, with what its search concluded in the word that may be used of it."""
    evidence = Evidence.of(row.report)
    if evidence is None:
        return dict(row.report)
    verdict = search_verdict(row, evidence).determinacy.value
    return {**row.report, CEGAR: {**row.report[CEGAR], "verdict": verdict}}
