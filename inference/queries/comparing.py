"""Two stored port mappings side by side, with what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from django.db.models import QuerySet

from inference.core.experiment import Experiment
from inference.core.identity import ComparedScheme, Comparison, Distinction, Kind, compare
from inference.core.identity.hidden import agreement_up_to_hidden
from inference.core.mapping import PortMapping as Mapping
from inference.core.throughput import inverse_throughput
from inference.exchange.errors import ExchangeError
from inference.exchange.stored import load_mapping, measurements_of
from inference.models import ExperimentSet, Measurement, PortMapping
from inference.queries.answers import measured_row, settled_cycles

SHORT = 3  # instructions of the measured experiments among which one that distinguishes is looked for
LOOKED_AT = 1000  # of them, at most

_ORDER = {kind: place for place, kind in enumerate(Kind)}


@dataclass(frozen=True)
class Witness:
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


def comparable(row: PortMapping) -> QuerySet[PortMapping]:
    """The other mappings of the same instruction set, newest first."""
    return PortMapping.objects.filter(isa=row.isa_id).exclude(pk=row.pk).defer("report").order_by("-id")


def comparison_of(row: PortMapping, other: PortMapping) -> Comparison:
    """Both mappings up to a renaming of the other's ports; raises `ExchangeError` for different ISAs."""
    if row.isa_id != other.isa_id:
        raise ExchangeError(
            f"{row.name!r} describes {row.isa.name}, {other.name!r} describes {other.isa.name}: "
            "mappings of the same instruction set can be compared"
        )
    return _compared((row.pk, row.created), (other.pk, other.created))


@lru_cache(maxsize=16)
def _compared(row: tuple[int, datetime], other: tuple[int, datetime]) -> Comparison:
    """Remembered, since what a mapping says never changes; a new mapping has a new number and date."""
    return compare(*(load_mapping(PortMapping.objects.get(pk=pk)) for pk, _ in (row, other)))


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
    values = [load_mapping(PortMapping.objects.get(pk=pk)) for pk, _ in (row, other)]
    stored = Measurement.objects.filter(experiment_set=set_id, state=Measurement.State.SETTLED)
    return agreement_up_to_hidden(*values, (each.value.experiment for each in measurements_of(stored)))


def differences_first(rows: Sequence[ComparedScheme]) -> list[ComparedScheme]:
    """Different schemes first, the largest difference in cycles at the top, then those that one mapping
    lacks."""
    return sorted(rows, key=lambda row: (_ORDER[row.kind], -row.factor, row.scheme))


def witnesses(row: PortMapping, other: PortMapping, comparison: Comparison) -> list[Witness]:
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


def summary(comparison: Comparison) -> str:
    """The comparison in a sentence or two."""
    agreement = comparison.agreement
    told = [_agreement_in_words(comparison)]
    for schemes, where in ((agreement.only_first, "first"), (agreement.only_second, "second")):
        if schemes:
            told.append(f"{_counted(len(schemes), 'scheme')} only in the {where}.")
    for what in ("instructions", "slots"):
        rates = (each.get(what) for each in comparison.limits)
        first, second = ("no limit" if rate is None else f"{rate:.4g}" for rate in rates)
        if first != second:
            told.append(f"{what.capitalize()} per cycle: {first} in the first, {second} in the second.")
    if comparison.other_slots:
        told.append(f"{_counted(len(comparison.other_slots), 'scheme')} with other numbers of slots.")
    if agreement.differing and not agreement.renaming.exact:
        told.append("Another renaming of ports might make more schemes equal.")
    return " ".join(told)


def _agreement_in_words(comparison: Comparison) -> str:
    agreement = comparison.agreement
    common = len(agreement.agreeing) + len(agreement.differing)
    if not common:
        return "No scheme is described by both."
    renamed = any(port != k for k, port in enumerate(agreement.renaming.ports))
    if comparison.are_equal:
        return "Equal up to renaming ports." if renamed else "Equal."
    if not agreement.differing:
        how = ", up to renaming ports" if renamed else ""
        return f"All {_counted(common, 'common scheme')} use the same µops{how}."
    share = f"({100 * len(agreement.agreeing) / common:.1f} %)"
    return f"{len(agreement.agreeing):,} of {_counted(common, 'common scheme')} use the same µops {share}."


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _witness(row: PortMapping, distinction: Distinction) -> Witness:
    found = measured_row(distinction.experiment, row.isa)
    if found is None:
        return Witness(distinction, None, None)
    return Witness(distinction, settled_cycles(found.measurements.all()), found.pk)


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
