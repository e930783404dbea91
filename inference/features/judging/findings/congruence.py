"""Members of congruence classes with few comparisons, and the pairs to measure for them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from inference.core.experiment import Experiment
from inference.core.pmevo.congruence import Likenesses
from inference.core.pmevo.events import Congruence
from inference.core.protocols import Json
from inference.features.judging.engine.tables import code, number, table_of
from inference.features.learning.inferring.classes_section import FEW_COMPARED, classes_of_report
from inference.models import ExperimentSet, Measurement, PortMapping, RunEvent
from inference.storage.rows import experiment_of, texts_in
from inference.web.published_page import PublishedTable

SUFFICIENT_COMPARISONS = 10
"""Comparisons with its representative that are enough for a member."""
MAX_PAIRS = 1000
"""Pairs that one run measures."""


@dataclass(frozen=True)
class WeakMember:
    """A scheme in a representative's class after few comparisons, with the missing pairs.

    `pairs`: not measured so far; enough for `SUFFICIENT_COMPARISONS`, if there are as many classes.
    """

    scheme: str
    representative: str
    compared: int
    pairs: tuple[Experiment, ...]


@dataclass(frozen=True)
class ComparedClasses:
    """Congruence `classes`, and the `likeness` of each scheme to its representative, as the run stored
    them."""

    classes: Sequence[Sequence[str]]
    likeness: Likenesses
    weak: tuple[WeakMember, ...]

    @property
    def pairs(self) -> list[Experiment]:
        """All missing pairs, each once, those of the least compared schemes first; at most `MAX_PAIRS`."""
        pairs = dict.fromkeys(pair for member in self.weak for pair in member.pairs)
        return list(pairs)[:MAX_PAIRS]


def congruence_of(row: PortMapping) -> ComparedClasses:
    """The classes of a mapping, from its report and the journal of its run (a bounded number of queries)."""
    classes = classes_of_report(row.report)
    likeness = stored_likeness(row)
    members = [
        (likeness[scheme].compared, scheme, representative)
        for representative, *following in classes
        for scheme in following
        if scheme in likeness and likeness[scheme].compared < FEW_COMPARED
    ]
    if not members:
        return ComparedClasses(classes, likeness, ())
    measured = _measured_pairs(row)
    weak = tuple(
        WeakMember(
            scheme,
            representative,
            compared,
            _missing_pairs(scheme, representative, classes, measured, compared),
        )
        for compared, scheme, representative in sorted(members)
    )
    return ComparedClasses(classes, likeness, weak)


def stored_likeness(row: PortMapping) -> Likenesses:
    """{scheme: its likeness to its representative} from the run's journal; {} if it has none."""
    if row.run_id is None:
        return {}
    event = RunEvent.objects.filter(run=row.run_id, kind=Congruence.kind).order_by("-seq").first()
    return {} if event is None else Congruence.read(event.payload).likeness


def _measured_pairs(row: PortMapping) -> frozenset[Experiment]:
    """The settled pairs in the sets of the run, in those it learnt from, and in all others of the machine."""
    assert row.run is not None, "the likeness comes from a run"
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


def _missing_pairs(
    scheme: str,
    representative: str,
    classes: Sequence[Sequence[str]],
    measured: Collection[Experiment],
    compared: int,
) -> tuple[Experiment, ...]:
    """Missing pairs of both schemes with the same partners, first those with one of the two measured
    already."""
    partners = [members[0] for members in classes if members[0] != representative]
    unmeasured = [
        [pair for pair in (_pair(representative, partner), _pair(scheme, partner)) if pair not in measured]
        for partner in partners
    ]
    shortest = sorted((pairs for pairs in unmeasured if pairs), key=len)[
        : max(SUFFICIENT_COMPARISONS - compared, 0)
    ]
    return tuple(pair for pairs in shortest for pair in pairs)


def _pair(first: str, second: str) -> Experiment:
    return Experiment.of([first, second])


def weak_members_table(compared: ComparedClasses) -> PublishedTable:
    """A row per member with few comparisons, the least compared first."""
    unknown = "" if compared.likeness or not compared.classes else "; the run has stored no comparisons"
    return table_of(
        "weak",
        f"{len(compared.classes)} classes, {len(compared.weak)} weak members{unknown}",
        compared.weak,
        (code("scheme"), lambda weak: weak.scheme),
        (number("compared", 0), lambda weak: weak.compared),
        (code("representative"), lambda weak: weak.representative),
        (code("pairs to measure"), lambda weak: " | ".join(map(str, weak.pairs))),
    )


def congruence_json(compared: ComparedClasses) -> Json:
    """The classes and the members with few comparisons, as JSON."""
    return {
        "classes": [list(members) for members in compared.classes],
        "known": bool(compared.likeness),
        "few": FEW_COMPARED,
        "weak": [
            {
                "scheme": weak.scheme,
                "representative": weak.representative,
                "compared": weak.compared,
                "missing": list(map(str, weak.pairs)),
            }
            for weak in compared.weak
        ],
        "missing": list(map(str, compared.pairs)),
    }
