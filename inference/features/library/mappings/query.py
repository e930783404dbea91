"""Queries of port mappings: the list, cached facts, and comparisons of two."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from statistics import median
from typing import Any, TypeVar

from django.db.models import (
    Case,
    F,
    FloatField,
    OuterRef,
    QuerySet,
    Subquery,
    Value,
    When,
)
from django.db.models.fields.json import KT
from django.db.models.functions import Coalesce

from inference.core.experiment import Experiment
from inference.core.identity import MappingComparison, compare
from inference.core.mapping import PortMapping as Mapping
from inference.core.mapping import hidden_kinds
from inference.core.measured_slots import MeasuredSlots, padding_of, read_slots
from inference.formats.problems import ExchangeError
from inference.models import Evaluation, Measurement, PortMapping, PortUsage, ResourceMapping
from inference.models.row_counts import row_count
from inference.storage.instruction_sets import CORE
from inference.storage.mappings import load_mapping
from inference.storage.rows import measurements_of
from inference.storage.singletons import own_sets
from inference.web.paging import having_words

UNKNOWN_ERROR = 1e300  # sorts mappings without a score behind all others; no MAPE is as large
UNKNOWN_AGREEMENT = -2.0  # r and τ are at least -1
MAPPING_COLUMNS = {
    "created": "id",
    "name": "name",
    "schemes": "scheme_count",
    "mape": "mape_or_last",
    "pearson": "pearson_or_last",
    "kendall": "kendall_or_last",
}


FactT = TypeVar("FactT")


@dataclass(frozen=True)
class MappingSubject:
    """The subject of the panels of a mapping's page: row, value, and cached facts."""

    row: PortMapping
    value: Mapping
    _cache: dict[Callable[[PortMapping], Any], Any] = field(default_factory=dict)

    def once(self, compute: Callable[[PortMapping], FactT]) -> FactT:
        """The function's result for the row, computed once for all panels of a page."""
        if compute not in self._cache:
            self._cache[compute] = compute(self.row)
        fact: FactT = self._cache[compute]
        return fact


def port_mappings(text: str = "", on: int | None = None) -> QuerySet[PortMapping]:
    """Port mappings, filtered by a text in name or note.

    Each has `scheme_count`, and `evaluation_id`, `mape`, `pearson`, `kendall` and the set `judged_on` of an
    evaluation in cycles, None without one: on the set with the id `on`, or, without `on`, on held-out
    experiments, else the newest.
    """
    evaluations = Evaluation.objects.filter(mapping=OuterRef("pk"), unit=Evaluation.Unit.CYCLES)
    if on is not None:
        evaluations = evaluations.filter(experiment_set=on)
    held_out_first = Case(When(held_out_by__isnull=False, then=Value(0)), default=Value(1))
    best = evaluations.order_by(held_out_first, "-id")
    return (
        PortMapping.objects.filter(having_words(text))
        .defer("report")
        .select_related("isa", "machine__isa", "run")
        .annotate(
            scheme_count=row_count(PortUsage.objects.all(), "mapping", "scheme"),
            evaluation_id=Subquery(best.values("pk")[:1]),
            mape=Subquery(best.values("mape")[:1]),
            pearson=Subquery(best.values("pearson")[:1]),
            kendall=Subquery(best.values("kendall")[:1]),
            judged_on=Subquery(best.values("experiment_set__name")[:1]),
            stated_core=KT(f"report__{CORE}"),
        )
        .annotate(
            mape_or_last=Coalesce(F("mape"), Value(UNKNOWN_ERROR), output_field=FloatField()),
            pearson_or_last=Coalesce(F("pearson"), Value(UNKNOWN_AGREEMENT), output_field=FloatField()),
            kendall_or_last=Coalesce(F("kendall"), Value(UNKNOWN_AGREEMENT), output_field=FloatField()),
        )
    )


def hidden_kinds_of(row: PortMapping) -> frozenset[int]:
    """The port sets of µops that no experiment over the mapping's schemes can reveal; cached."""
    return _hidden_kinds(row.pk, row.created)


@lru_cache(maxsize=64)
def _hidden_kinds(mapping_id: int, created: datetime) -> frozenset[int]:
    """Cached by id and date: a mapping never changes, but ids may be reused."""
    del created
    return hidden_kinds(load_mapping(PortMapping.objects.get(pk=mapping_id)))


def measured_slots_of(row: PortMapping) -> MeasuredSlots | None:
    """Issue slots from padded experiments in the sets of its machine or run; None without any.

    Repeated measurements of an experiment count by their median.
    """
    padding = padding_of(row.isa.name)
    if padding is None:
        return None
    padded = Measurement.objects.filter(
        experiment_set__in=own_sets(row),
        experiment__terms__scheme__text__in=[padding.move, padding.exchange],
        state=Measurement.State.SETTLED,
    ).distinct()
    cycles: dict[Experiment, list[float]] = defaultdict(list)
    for measurement in measurements_of(padded):
        if measurement.value.cycles:
            cycles[measurement.value.experiment].append(measurement.value.cycles)
    slots = read_slots({experiment: median(values) for experiment, values in cycles.items()}, padding)
    return slots if slots is not None and slots.readings else None


def comparable(row: PortMapping) -> QuerySet[PortMapping]:
    """Other mappings of the same instruction set, newest first."""
    return PortMapping.objects.filter(isa=row.isa_id).exclude(pk=row.pk).defer("report").order_by("-id")


def require_same_isa(row: PortMapping | ResourceMapping, other: PortMapping | ResourceMapping) -> None:
    """Raises `ExchangeError` for mappings of different instruction sets."""
    if row.isa_id != other.isa_id:
        raise ExchangeError(
            f"{row.name!r} describes {row.isa.name}, {other.name!r} describes {other.isa.name}: "
            "only mappings of the same instruction set can be compared"
        )


def comparison_of(row: PortMapping, other: PortMapping) -> MappingComparison:
    """The comparison of both mappings up to renaming ports; cached. Raises `ExchangeError` for different
    ISAs.
    """
    require_same_isa(row, other)
    return _compare_mappings((row.pk, row.created), (other.pk, other.created))


@lru_cache(maxsize=16)
def _compare_mappings(row: tuple[int, datetime], other: tuple[int, datetime]) -> MappingComparison:
    """Cached by id and date: a mapping never changes, but ids may be reused."""
    return compare(*(load_mapping(PortMapping.objects.get(pk=pk)) for pk, _ in (row, other)))


def summary(comparison: MappingComparison) -> str:
    """The comparison as one or more sentences."""
    agreement = comparison.agreement
    parts = [_agreement_text(comparison)]
    for schemes, side in ((agreement.only_first, "first"), (agreement.only_second, "second")):
        if schemes:
            parts.append(f"{_count_text(len(schemes), 'scheme')} only in the {side}.")
    for limit in ("instructions", "slots"):
        rates = (limits.get(limit) for limits in comparison.limits)
        first, second = ("no limit" if rate is None else f"{rate:.4g}" for rate in rates)
        if first != second:
            parts.append(f"{limit.capitalize()} per cycle: {first} in the first, {second} in the second.")
    if comparison.other_slots:
        parts.append(f"{_count_text(len(comparison.other_slots), 'scheme')} with other numbers of slots.")
    if agreement.differing and not agreement.renaming.exact:
        parts.append("Another renaming of ports might make more schemes equal.")
    return " ".join(parts)


def _agreement_text(comparison: MappingComparison) -> str:
    agreement = comparison.agreement
    common = len(agreement.agreeing) + len(agreement.differing)
    if not common:
        return "No scheme is described by both."
    renamed = any(port != k for k, port in enumerate(agreement.renaming.ports))
    if comparison.are_equal:
        return "Equal up to renaming ports." if renamed else "Equal."
    if not agreement.differing:
        remark = ", up to renaming ports" if renamed else ""
        return f"All {_count_text(common, 'common scheme')} use the same µops{remark}."
    share = f"({100 * len(agreement.agreeing) / common:.1f} %)"
    return f"{len(agreement.agreeing):,} of {_count_text(common, 'common scheme')} use the same µops {share}."


def _count_text(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
