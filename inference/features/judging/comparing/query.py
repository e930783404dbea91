"""Two stored port mappings side by side: µops, what was measured, and the comparison as CSV."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from inference.core.experiment import Experiment
from inference.core.identity import ComparedScheme, Distinction, MappingComparison, SchemeRelation
from inference.core.identity.hidden import agreement_up_to_hidden
from inference.core.mapping import PortMapping as Mapping
from inference.core.mapping import Uops, described
from inference.core.throughput import inverse_throughput
from inference.features.library.experiments.query import measured_row, settled_cycles
from inference.formats.csv_cells import written
from inference.models import ExperimentSet, Measurement, PortMapping
from inference.storage.provenance import provenance_of
from inference.storage.rows import load_mapping, measurements_of

SHORT = 3  # instructions of the measured experiments among which one that distinguishes is looked for
LOOKED_AT = 1000  # of them, at most

_ORDER = {kind: place for place, kind in enumerate(SchemeRelation)}


@dataclass(frozen=True)
class DifferingExperiment:
    """An experiment on which two mappings differ, with what both predict and, if it was measured, the result.

    `measured` is the median of the settled measurements in cycles; `experiment_id` the row, None without one.
    """

    distinction: Distinction
    measured: float | None
    experiment_id: int | None

    @property
    def nearer(self) -> int | None:
        """Which mapping is nearer to the measurement: 0 the first, 1 the second; None if neither is."""
        if self.measured is None:
            return None
        first, second = (
            abs(said - self.measured) for said in (self.distinction.first, self.distinction.second)
        )
        return None if first == second else int(second < first)


def up_to_hidden(row: PortMapping, other: PortMapping, judged_by: ExperimentSet) -> float | None:
    """The share of the common schemes, 0 to 1, with equal µops but for those that a set does not show.

    None where both describe no scheme, or no experiment. Seconds for tens of thousands of experiments.
    """
    n = judged_by.measurements.count()
    return _up_to_hidden((row.pk, row.created), (other.pk, other.created), judged_by.pk, n)


@lru_cache(maxsize=16)
def _up_to_hidden(
    row: tuple[int, datetime], other: tuple[int, datetime], set_id: int, measurements: int
) -> float | None:
    del measurements  # with more of them it is another question
    first, second = (load_mapping(PortMapping.objects.get(pk=pk)) for pk, _ in (row, other))
    stored = Measurement.objects.filter(experiment_set=set_id, state=Measurement.State.SETTLED)
    return agreement_up_to_hidden(first, second, (each.value.experiment for each in measurements_of(stored)))


def differences_first(rows: Sequence[ComparedScheme]) -> list[ComparedScheme]:
    """Different schemes first, the largest difference in cycles at the top, then those that one mapping
    lacks."""
    return sorted(rows, key=lambda row: (_ORDER[row.kind], -row.factor, row.scheme))


def witnesses(
    row: PortMapping, other: PortMapping, comparison: MappingComparison
) -> list[DifferingExperiment]:
    """A smallest experiment that tells the mappings apart, then, if nobody measured it, a measured one that
    does.

    The measured one is looked for among the shortest experiments of all sets; it is the one on which the
    mappings are furthest apart.
    """
    if comparison.distinction is None:
        return []
    smallest = _witness(row, comparison.distinction)
    if smallest.measured is not None:
        return [smallest]
    measured = _measured_distinction(row, other, comparison.noise)
    return [smallest] if measured is None else [smallest, _witness(row, measured)]


def _witness(row: PortMapping, distinction: Distinction) -> DifferingExperiment:
    found = measured_row(distinction.experiment, row.isa)
    if found is None:
        return DifferingExperiment(distinction, None, None)
    return DifferingExperiment(distinction, settled_cycles(found.measurements.all()), found.pk)


def _measured_distinction(row: PortMapping, other: PortMapping, noise: float) -> Distinction | None:
    """Of the shortest measured experiments the one on which the mappings differ most, if by more than
    noise."""
    settled = Measurement.objects.filter(
        experiment__isa=row.isa_id, experiment__length__lte=SHORT, state=Measurement.State.SETTLED
    )
    stored = measurements_of(settled.order_by("experiment__length", "id")[:LOOKED_AT])
    mappings = (load_mapping(row), load_mapping(other))
    best, furthest = None, 0.0
    for experiment in dict.fromkeys(entry.value.experiment for entry in stored):
        if not all(_describes(mapping, experiment) for mapping in mappings):
            continue
        first, second = (inverse_throughput(mapping, experiment) for mapping in mappings)
        apart = abs(first - second) / experiment.length
        if apart > max(2 * noise, furthest):
            best, furthest = Distinction(experiment, first, second), apart
    return best


def _describes(mapping: Mapping, experiment: Experiment) -> bool:
    return all(scheme in mapping.usage for scheme in experiment.schemes)


HEADER = (
    "scheme",
    "comparison",
    "µops first",
    "µops second",
    "cycles first",
    "cycles second",
    "difference %",
    "differs in hidden",
)
"""µops are written as on pages, `2×[0,1] + 1×[5]`, both with the port names of the first mapping; cells are
empty where a mapping does not describe the scheme. `differs in hidden` is 1 where only µops differ that no
experiment can show, 0 where others do.
"""


def write_comparison_csv(
    comparison: MappingComparison, rows: Iterable[ComparedScheme], head: str = ""
) -> str:
    """Some schemes of a comparison as CSV, in the order given, below the lines of `head`."""
    return written(HEADER, (_cells(comparison, row) for row in rows), head)


def comparison_head(first: PortMapping, second: PortMapping) -> str:
    """Lines of comments: which is which, and who made them."""
    both = (("first", first), ("second", second))
    return "".join(f"# {which}\n{provenance_of(row).commented('#')}" for which, row in both)


def _cells(comparison: MappingComparison, row: ComparedScheme) -> list[object]:
    usages = [_usage(uops, comparison.ports) for uops in row.uops]
    cycles = [_finite(value) for value in row.cycles]
    hidden = int(row.differs_in_hidden) if row.kind is SchemeRelation.DIFFERENT else None
    return [row.scheme, row.kind.value, *usages, *cycles, _finite(row.difference), hidden]


def _usage(uops: Uops | None, ports: tuple[str, ...]) -> str:
    return "" if uops is None else described(uops, ports)


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value
