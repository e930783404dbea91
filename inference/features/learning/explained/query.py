"""What explainable inference concluded, as pages, API and shell list it: verdicts, filtered and sorted."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from statistics import median

from django.db.models import Count, Q, QuerySet, Value
from django.db.models.functions import Coalesce

from inference.core.experiment import Experiment
from inference.core.explain import Seen, Witness
from inference.core.explain.judging import Repeated, measured_again
from inference.core.explain.regularity import Regularity, regularity
from inference.core.identity import MappingComparison, SchemeRelation
from inference.core.mapping import Uops, uops_of
from inference.models import ISA, Characterisation, ExperimentSet, Measurement, PortMapping, Run
from inference.models import Experiment as ExperimentRow
from inference.models import Witness as WitnessRow
from inference.models.scheme_search import search_schemes
from inference.storage.characterisations import KEY
from inference.storage.rows import BATCH, experiment_key, ids_of_schemes, load_mapping

# What explainable inference concluded, as pages and shell list it: verdicts, filtered and sorted.


UNKNOWN = -1.0  # sorts what was not measured or counted below everything else
VERDICT_COLUMNS = {
    "row": "id",
    "text": "scheme__text",
    "cycles": "cycles_or_less",
    "counted": "counted_or_less",
}
"""Columns that verdicts can be sorted by, for `paging.Order`."""


@dataclass(frozen=True)
class VerdictQuery:
    """Which verdicts to list; empty fields ask for nothing.

    `q` is a search over schemes, `doubtful`: only those with doubts or alternatives, `among`: scheme texts.
    """

    outcome: str = ""
    stage: str = ""
    reason: str = ""
    q: str = ""
    doubtful: bool = False
    among: tuple[str, ...] = ()


def is_explained(row: PortMapping) -> bool:
    """Whether there are verdicts beside the mapping, or what concerns them all."""
    return KEY in row.report or row.characterisations.exists()


def verdicts(row: PortMapping, wanted: VerdictQuery | None = None) -> QuerySet[Characterisation]:
    """The verdicts of a mapping with their schemes; raises `SearchError` for a search it cannot read.

    Each has `cycles_or_less` and `counted_or_less`, `UNKNOWN` where there is no number.
    """
    wanted = wanted or VerdictQuery()
    rows = row.characterisations.select_related("scheme").annotate(
        cycles_or_less=Coalesce("cycles", Value(UNKNOWN)), counted_or_less=Coalesce("counted", Value(UNKNOWN))
    )
    for name in ("outcome", "stage", "reason"):
        if value := getattr(wanted, name):
            rows = rows.filter(**{name: value})
    if wanted.q.strip():
        rows = rows.filter(scheme__in=search_schemes(row.isa.schemes.all(), wanted.q).values("pk"))
    if wanted.among:
        rows = rows.filter(scheme__in=row.isa.schemes.filter(text__in=wanted.among).values("pk"))
    if wanted.doubtful:
        rows = rows.exclude(doubts=[], alternatives=[])
    return rows


@dataclass(frozen=True)
class Counts:
    """How many verdicts there are of each outcome, and of those without µops by stage and by reason."""

    outcomes: Counter[str]
    stages: Counter[str]
    reasons: Counter[str]
    doubtful: int

    @property
    def asked(self) -> int:
        """All of them."""
        return self.outcomes.total()


def counts_of(row: PortMapping) -> Counts:
    """Numbers for a summary and for the choices of a filter (two queries)."""
    outcomes: Counter[str] = Counter()
    stages: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    grouped = row.characterisations.order_by().values("outcome", "stage", "reason").annotate(n=Count("pk"))
    for group in grouped:
        outcomes[group["outcome"]] += group["n"]
        stages[group["stage"]] += group["n"]
        if group["reason"]:
            reasons[group["reason"]] += group["n"]
    doubtful = row.characterisations.filter(~Q(doubts=[], alternatives=[])).count()
    return Counts(outcomes, stages, reasons, doubtful)


def usages_in(row: PortMapping, scheme_ids: Iterable[int]) -> dict[int, Uops]:
    """{scheme id: µops} of those of the schemes that the mapping describes."""
    found: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    rows = row.usages.filter(scheme__in=list(scheme_ids))
    for scheme, mask, count in rows.values_list("scheme_id", "mask", "count"):
        entry = found[scheme]
        if count:
            entry.append((mask, count))
    return {scheme: uops_of(pairs) for scheme, pairs in found.items()}


def regularity_of(row: PortMapping) -> Regularity:
    """How regular the mapping's port usages are (§6.3.5)."""
    return _regularity(row.pk, row.created)


@lru_cache(maxsize=16)
def _regularity(pk: int, created: datetime) -> Regularity:
    """Remembered, since what a mapping says never changes; a new mapping has a new number and date."""
    del created
    return regularity(load_mapping(PortMapping.objects.get(pk=pk)).usage)


# Where a reference says otherwise than an explained mapping: the witness that contradicts the reference.


@dataclass(frozen=True)
class ReferenceContradiction:
    """`copies` of a blocker beside the scheme: `shown` µops cannot evade its ports, `said` by the reference.

    `mask` are ports of the explained mapping.
    """

    blocker: str
    copies: int
    mask: int
    shown: int
    said: int


def contradictions(
    row: PortMapping, comparison: MappingComparison, schemes: Collection[str] | None = None
) -> dict[str, ReferenceContradiction]:
    """{scheme: the witness that contradicts the other mapping most}, for those that differ; none for others.

    `comparison`: of the explained mapping with the reference, whose µops it has under this mapping's port
    names. `schemes`: only these.
    """
    differing = {
        each.scheme: each.uops[1]
        for each in comparison.schemes
        if each.kind is SchemeRelation.DIFFERENT
        and each.uops[1] is not None
        and (schemes is None or each.scheme in schemes)
    }
    if not differing:
        return {}
    found: dict[str, ReferenceContradiction] = {}
    names = sorted(differing)
    for start in range(0, len(names), BATCH):
        witnesses = WitnessRow.objects.filter(
            characterisation__mapping=row,
            characterisation__scheme__text__in=names[start : start + BATCH],
            seen__in=(Seen.USES.value, Seen.EVADES.value),
        ).order_by("id")
        fields = ("characterisation__scheme__text", "blocker__text", "copies", "mask", "below", "uops")
        for scheme, blocker, copies, mask, below, uops in witnesses.values_list(*fields):
            new = ReferenceContradiction(blocker, copies, mask, below + uops, _bound(differing[scheme], mask))
            known = found.get(scheme)
            if new.shown != new.said and (known is None or _off(new) > _off(known)):
                found[scheme] = new
    return found


def _bound(uops: Uops | None, mask: int) -> int:
    """How many of these µops cannot evade the ports."""
    return sum(count for ports, count in uops or () if ports & ~mask == 0)


def _off(found: ReferenceContradiction) -> int:
    return abs(found.shown - found.said)


# Witnesses whose two experiments were measured another time: on which machine, when, and what that shows.


PLAN = {"kind": "measure", "config__plan": "listed"}
"""Runs that measure what they are told; see `inference.features.machines.measure.job`."""

_LATEST = 200  # such runs, and sets, that are looked through


@dataclass(frozen=True)
class Remeasured:
    """Both experiments of a witness in one set: medians of `samples` measurements each.

    `repeated` is None where one of the times is missing.
    """

    made: ExperimentSet
    at: datetime
    base_cycles: float | None
    cycles: float | None
    samples: int
    repeated: Repeated | None


def remeasured(isa: ISA, witnesses: Sequence[Witness]) -> dict[Witness, list[Remeasured]]:
    """For each witness the sets in which both experiments were measured again, newest first."""
    ids = rows_of(isa, {each for witness in witnesses for each in (witness.base, witness.tested)})
    times, sets = _times(ids.values())
    found: dict[Witness, list[Remeasured]] = {}
    for witness in witnesses:
        base, tested = ids.get(witness.base), ids.get(witness.tested)
        for made in sets if base is not None and tested is not None else ():
            mine = times[made.pk]
            if base in mine and tested in mine:
                found.setdefault(witness, []).append(_compared(witness, made, mine[base], mine[tested]))
    return found


def _compared(
    witness: Witness, made: ExperimentSet, base: Sequence[float], tested: Sequence[float]
) -> Remeasured:
    before = median(base) if base else None
    after = median(tested) if tested else None
    at = made.created if made.run is None or made.run.finished is None else made.run.finished
    return Remeasured(
        made,
        at,
        before,
        after,
        min(len(base), len(tested)),
        None if before is None or after is None else measured_again(witness, before, after),
    )


def rows_of(isa: ISA, experiments: Iterable[Experiment]) -> dict[Experiment, int]:
    """{experiment: row} of those that were ever measured."""
    wanted = list(experiments)
    schemes = {scheme for each in wanted for scheme in each.schemes}
    ids = ids_of_schemes(isa.pk, schemes)
    keys = {experiment_key(each, ids): each for each in wanted if ids.keys() >= set(each.schemes)}
    names = list(keys)
    found: dict[Experiment, int] = {}
    for start in range(0, len(names), BATCH):
        rows = ExperimentRow.objects.filter(isa=isa, key__in=names[start : start + BATCH])
        found |= {keys[key]: pk for key, pk in rows.values_list("key", "pk")}
    return found


def _times(ids: Iterable[int]) -> tuple[dict[int, dict[int, list[float]]], list[ExperimentSet]]:
    """{set: {experiment: usable times}}, and the sets that listed experiments were measured for."""
    runs = Run.objects.filter(**PLAN)
    rows = Measurement.objects.filter(experiment__in=list(ids), experiment_set__run__in=runs)
    times: defaultdict[int, defaultdict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for made, experiment, state, cycles in rows.values_list(
        "experiment_set_id", "experiment_id", "state", "cycles"
    ):
        usable = times[made][experiment]
        if state == Measurement.State.SETTLED and cycles is not None:
            usable.append(cycles)
    sets = ExperimentSet.objects.filter(pk__in=list(times)).select_related("machine", "run").order_by("-pk")
    return {made: dict(found) for made, found in times.items()}, list(sets[:_LATEST])


def unfinished(witnesses: Sequence[Witness]) -> list[Run]:
    """Runs that measure any of the witnesses again and have not ended well, since the last one that did.

    By the experiments with the scheme: floods alone are part of the witnesses of many schemes.
    """
    names = {str(witness.tested) for witness in witnesses}
    found = []
    for run in Run.objects.filter(**PLAN).order_by("-pk")[:_LATEST]:
        if names.isdisjoint(run.config["experiments"]):
            continue
        if run.state == Run.State.DONE:
            break
        found.append(run)
    return found


# What explainable inference concluded of each scheme, without the witnesses.
