"""Loads the grounds for claims about a mapping: held-out experiments, and conflicts with other results.

`report["judging"]` of a mapping has its held-out experiments (`HeldOutChecks`). Conflicts with other results
of its machine are rows, stored by `inference.storage.results`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from django.db.models import Count, OuterRef, QuerySet, Subquery

from inference.core.cegar import Determinacy
from inference.core.experiment import Measured
from inference.core.judging.claims import ClaimEvidence, ClaimWording, StrongClaim, strongest_word
from inference.core.judging.contradictions import conflict_text
from inference.core.judging.held_out_checks import HeldOutChecks, held_out_checks
from inference.core.judging.port_model import PortModelCheck
from inference.core.protocols import Json
from inference.models import ComparedColumn, Comparison, Run, SchemeConflict, StoredCoreModel
from inference.models import PortMapping as PortMappingRow
from inference.predictors import core_model
from inference.storage.evaluations import Predictions
from inference.storage.evidence import KEY as CEGAR
from inference.storage.evidence import Evidence, verdict_in_words
from inference.storage.results import MAX_COMPARED_RESULTS

KEY = "judging"
"""Key of a mapping's report: its held-out experiments."""

ELSEWHERE = "elsewhere"
"""Key below it: objections and conflicts on the site that an imported archive is from."""

VERDICT = "verdict"
"""Key of a run's result: the conclusion of its search. Read it by `allowed_result` only: which other results
contradict it depends on when it is read."""

CHECK_MODEL = "check-model"
"""Kind of the runs that check the port model on a machine."""

_EXPLAINED = "explained"
_SHORT = {"Explainable inference": _EXPLAINED}
"""{algorithm: short name of its results}; others are called like their algorithm."""


def judging_json(results: Sequence[Measured], judged: Predictions, epsilon: float | None) -> Json:
    """The held-out experiments for a mapping's report. `judged`: its ids are indices into `results`."""
    predicted = np.full(len(results), np.nan)
    predicted[judged.ids] = judged.predicted
    return held_out_checks(results, predicted, epsilon).as_json()


@dataclass(frozen=True)
class SchemeConflictText:
    """A conflict with another result about a scheme: the result's name, and a sentence with both claims."""

    name: str
    words: str


def conflicts_of(
    mappings: Collection[int], schemes: Collection[str] | None = None
) -> dict[tuple[int, str], list[SchemeConflictText]]:
    """{(mapping, scheme): conflicts}, for all schemes or some (two queries).

    Includes conflicts that were imported with archives.
    """
    rows = SchemeConflict.objects.filter(mapping__in=mappings)
    if schemes is not None:
        rows = rows.filter(scheme__text__in=schemes)
    conflicts: defaultdict[tuple[int, str], list[SchemeConflictText]] = defaultdict(list)
    names = ("mapping__name", "mapping__source", "other__name", "other__source")
    columns = ("mapping_id", "scheme__text", "here", "there", *names)
    for mapping, scheme, here, there, *names_and_sources in rows.values_list(*columns):
        first_name, other_name = _names(*names_and_sources)
        conflicts[mapping, scheme].append(
            SchemeConflictText(names_and_sources[2], conflict_text(here, first_name, there, other_name))
        )
    archived = PortMappingRow.objects.filter(pk__in=mappings, **{f"report__{KEY}__has_key": ELSEWHERE})
    for mapping, elsewhere in archived.values_list("pk", f"report__{KEY}__{ELSEWHERE}"):
        for scheme, texts in elsewhere["conflicts"].items():
            if schemes is None or scheme in schemes:
                conflicts[mapping, scheme] += [SchemeConflictText(name, words) for name, words in texts]
    return dict(conflicts)


def _names(name: str, source: str, other_name: str, other_source: str) -> tuple[str, str]:
    """Names of two results: by their algorithms where these differ, else their own."""
    if source and other_source and source != other_source:
        return _SHORT.get(source, source), _SHORT.get(other_source, other_source)
    return name, other_name


@dataclass(frozen=True)
class MappingGrounds:
    """Grounds for claims about a mapping and its schemes.

    Attributes:
        checks: None without held-out experiments, and for mappings of earlier versions.
        conflicts: Conflicts by scheme.
        results: Number of compared results of the machine, this one included.
        objections: Objections of the newest check of the port model on the machine.
    """

    checks: HeldOutChecks | None
    conflicts: Mapping[str, Sequence[SchemeConflictText]]
    results: int
    objections: tuple[str, ...] = ()

    def mapping_grounds(self, unexplained: int = 0) -> ClaimEvidence:
        """Grounds for claims about the mapping. `unexplained`: measurements not explained by its search."""
        held_out = None if self.checks is None else self.checks.overall
        return ClaimEvidence(
            held_out, self.results, _result_names(self.conflicts.values()), unexplained, self.objections
        )

    def scheme_grounds(self, scheme: str) -> ClaimEvidence:
        held_out = None if self.checks is None else self.checks.schemes.get(scheme)
        contradicting = _result_names([self.conflicts.get(scheme, [])])
        return ClaimEvidence(held_out, self.results, contradicting, objections=self.objections)

    def uops_word(self, scheme: str) -> ClaimWording:
        """Strongest claim about a scheme's µops that witnesses show."""
        return strongest_word(StrongClaim.PROVEN, self.scheme_grounds(scheme))

    def conflict_words(self, scheme: str) -> list[str]:
        return [text.words for text in self.conflicts.get(scheme, [])]


def _result_names(texts: Iterable[Sequence[SchemeConflictText]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text.name for conflicts in texts for text in conflicts))


def grounds_of(row: PortMappingRow, schemes: Collection[str] | None = None) -> MappingGrounds:
    """Grounds of one mapping, for all schemes or some (four queries)."""
    return grounds_by_mapping([row], schemes)[row.pk]


def grounds_by_mapping(
    rows: Collection[PortMappingRow], schemes: Collection[str] | None = None
) -> dict[int, MappingGrounds]:
    """{mapping: its grounds}, for all schemes or some (four queries, however many mappings)."""
    pks = [row.pk for row in rows]
    same_machine = PortMappingRow.objects.filter(
        machine=OuterRef("machine"), origin=PortMappingRow.Origin.RUN
    )
    result_counts = same_machine.order_by().values("machine").annotate(n=Count("pk")).values("n")
    annotated = PortMappingRow.objects.filter(pk__in=pks).annotate(results=Subquery(result_counts))
    conflicts: defaultdict[int, dict[str, list[SchemeConflictText]]] = defaultdict(dict)
    for (mapping, scheme), texts in conflicts_of(pks, schemes).items():
        conflicts[mapping][scheme] = texts
    machines = {row.pk: row.machine_id for row in rows if row.machine_id is not None}
    checks = newest_checks(set(machines.values()))
    objections = {
        pk: tuple(checks[machine].objections(pk)) for pk, machine in machines.items() if machine in checks
    }
    return {
        pk: MappingGrounds(
            HeldOutChecks.from_json(entry) if entry else None,
            conflicts[pk],
            min(results or 1, MAX_COMPARED_RESULTS + 1),
            (*objections.get(pk, ()), *(entry or {}).get(ELSEWHERE, {}).get("objections", ())),
        )
        for pk, entry, results in annotated.values_list("pk", f"report__{KEY}", "results")
    }


def newest_checks(machines: Collection[int]) -> dict[int, PortModelCheck]:
    """{machine: the newest check of the model on it}, of those that were checked (one query)."""
    runs = Run.objects.filter(kind=CHECK_MODEL, state=Run.State.DONE, config__machine__in=list(machines))
    columns = ("config__machine", "name", "config__reference", "result")
    return {
        machine: PortModelCheck.of(name, reference, result)
        for machine, name, reference, result in runs.order_by("finished", "pk").values_list(*columns)
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
    word = strongest_word(StrongClaim.UNIQUE, grounds_of(row).mapping_grounds(len(evidence.unexplained)))
    is_strong = evidence.verdict is Determinacy.UNIQUE and word.is_strong
    demoted = evidence.verdict is Determinacy.UNIQUE and not is_strong
    return SearchVerdict(
        Determinacy.UNPROVEN if demoted else evidence.verdict, verdict_in_words(evidence, word), is_strong
    )


def allowed_result(run: Run) -> Json:
    """The run's result, with what its search concluded in the word that may be used of its mapping by now."""
    if run.result.get(VERDICT) != Determinacy.UNIQUE:
        return dict(run.result)
    row = PortMappingRow.objects.filter(pk=run.result.get("mapping")).first()
    evidence = None if row is None else Evidence.of(row.report)
    is_unique = row is not None and evidence is not None and search_verdict(row, evidence).is_strong
    return dict(run.result) if is_unique else {**run.result, VERDICT: Determinacy.UNPROVEN.value}


def archived_report(row: PortMappingRow) -> Json:
    """The mapping's report for an archive, with what is said against it here.

    Other results and checks of its machine are not in the archive.
    """
    report = allowed_report(row)
    grounds = grounds_of(row)
    if grounds.checks is None or not (grounds.conflicts or grounds.objections):
        return report  # without held-out experiments no word is strong anyway
    conflicts = {
        scheme: [[text.name, text.words] for text in texts] for scheme, texts in grounds.conflicts.items()
    }
    elsewhere = {"objections": list(grounds.objections), "conflicts": conflicts}
    return {**report, KEY: {**report[KEY], ELSEWHERE: elsewhere}}


def allowed_report(row: PortMappingRow) -> Json:
    """The mapping's report, with what its search concluded in the word that may be used of it."""
    evidence = Evidence.of(row.report)
    if evidence is None:
        return dict(row.report)
    verdict = search_verdict(row, evidence).determinacy.value
    return {**row.report, CEGAR: {**row.report[CEGAR], VERDICT: verdict}}


def columns_of_core_model(row: StoredCoreModel) -> QuerySet[ComparedColumn]:
    """The answers of a core model, as it is now, for the blocks of comparisons."""
    return ComparedColumn.objects.filter(
        predictor__kind=core_model.KIND,
        predictor__options__model=row.name,
        comparison__item_kind=Comparison.ItemKind.BLOCKS,
        comparison__made__gte=row.created,
        error="",
    )
