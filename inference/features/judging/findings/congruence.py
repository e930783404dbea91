"""Members of congruence classes that few experiments were compared for, and the pairs that are missing."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from inference.core.experiment import Experiment
from inference.core.pmevo.congruence import Likenesses
from inference.core.pmevo.events import Congruence
from inference.core.protocols import Json
from inference.features.judging.engine.tables import code, number, table_of
from inference.features.learning.inferring.classes_section import FEW_COMPARED, classes_told
from inference.models import ExperimentSet, Measurement, PortMapping, RunEvent
from inference.storage.rows import experiment_of, texts_in
from inference.web.published_page import PublishedTable

ENOUGH = 10
"""Comparisons with its representative that a member shall have."""
MOST_PAIRS = 1000
"""Pairs that one run measures."""


@dataclass(frozen=True)
class WeakMember:
    """A scheme that was put into the class of a representative after few comparisons, with the missing pairs.

    `pairs`: not measured so far, and enough for `ENOUGH` comparisons where there are as many classes.
    """

    scheme: str
    representative: str
    compared: int
    pairs: tuple[Experiment, ...]


@dataclass(frozen=True)
class ComparedClasses:
    """`classes`, and `likeness` by scheme, as the run has told them."""

    classes: Sequence[Sequence[str]]
    likeness: Likenesses
    weak: tuple[WeakMember, ...]

    @property
    def pairs(self) -> list[Experiment]:
        """All pairs that are missing, each once, those of the least compared schemes first."""
        found = dict.fromkeys(pair for member in self.weak for pair in member.pairs)
        return list(found)[:MOST_PAIRS]


def congruence_of(row: PortMapping) -> ComparedClasses:
    """Of a mapping's report and the journal of its run (a bounded number of queries)."""
    classes = classes_told(row.report)
    likeness = likeness_of(row)
    members = [
        (likeness[scheme].compared, scheme, representative)
        for representative, *others in classes
        for scheme in others
        if scheme in likeness and likeness[scheme].compared < FEW_COMPARED
    ]
    if not members:
        return ComparedClasses(classes, likeness, ())
    measured = _measured_pairs(row)
    weak = tuple(
        WeakMember(
            scheme, representative, compared, _missing(scheme, representative, classes, measured, compared)
        )
        for compared, scheme, representative in sorted(members)
    )
    return ComparedClasses(classes, likeness, weak)


def likeness_of(row: PortMapping) -> Likenesses:
    """How each member compares with its representative, as the run has told; {} where nobody has."""
    if row.run_id is None:
        return {}
    told = RunEvent.objects.filter(run=row.run_id, kind=Congruence.kind).order_by("-seq").first()
    return {} if told is None else Congruence.read(told.payload).likeness


def _measured_pairs(row: PortMapping) -> frozenset[Experiment]:
    """The pairs in the sets that the run measured, or learnt from, and in all others of the machine."""
    assert row.run is not None, "somebody has told how alike the schemes are"
    source = row.run.config.get("source", {})
    sets = ExperimentSet.objects.filter(run=row.run_id) | ExperimentSet.objects.filter(
        pk__in=source.get("datasets", ())
    )
    if row.machine_id is not None:
        sets |= ExperimentSet.objects.filter(machine=row.machine_id)
    pairs = Measurement.objects.filter(
        experiment_set__in=sets.values("pk"), length=2, state=Measurement.State.SETTLED
    )
    keys = set(pairs.values_list("experiment__key", flat=True))
    texts: Mapping[int, str] = texts_in(keys)
    return frozenset(experiment_of(key, texts) for key in keys)


def _missing(
    scheme: str,
    representative: str,
    classes: Sequence[Sequence[str]],
    measured: Collection[Experiment],
    compared: int,
) -> tuple[Experiment, ...]:
    """Pairs of both with the same others, those first of which the representative's is there already."""
    others = [members[0] for members in classes if members[0] != representative]
    both = [
        [pair for pair in (_pair(representative, other), _pair(scheme, other)) if pair not in measured]
        for other in others
    ]
    wanted = sorted((pairs for pairs in both if pairs), key=len)[: max(ENOUGH - compared, 0)]
    return tuple(pair for pairs in wanted for pair in pairs)


def _pair(first: str, second: str) -> Experiment:
    return Experiment.of([first, second])


def weak_members_table(found: ComparedClasses) -> PublishedTable:
    """The members that few experiments were compared for, the least compared first."""
    unknown = "" if found.likeness or not found.classes else "; what was compared is not known"
    return table_of(
        "weak",
        f"{len(found.classes)} classes, {len(found.weak)} weak members{unknown}",
        found.weak,
        (code("scheme"), lambda weak: weak.scheme),
        (number("compared", 0), lambda weak: weak.compared),
        (code("representative"), lambda weak: weak.representative),
        (code("pairs to measure"), lambda weak: " | ".join(map(str, weak.pairs))),
    )


def congruence_json(found: ComparedClasses) -> Json:
    """The classes, and the members that rest on few comparisons, for programs."""
    return {
        "classes": [list(members) for members in found.classes],
        "known": bool(found.likeness),
        "few": FEW_COMPARED,
        "weak": [
            {
                "scheme": weak.scheme,
                "representative": weak.representative,
                "compared": weak.compared,
                "missing": list(map(str, weak.pairs)),
            }
            for weak in found.weak
        ],
        "missing": list(map(str, found.pairs)),
    }
