"""How well a mapping predicts: the heat map on one set, the experiments in its bins, errors by length and by
scheme, other tools.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.core.exceptions import BadRequest
from django.http import HttpRequest

from inference.core.metrics import Unit
from inference.core.predicting import Predictor
from inference.exchange.listing import Listing
from inference.figures.heatmap import HeatMap
from inference.figures.lengths import length_figure
from inference.models import Evaluation, ExperimentSet, PortMapping, ResourceMapping, Run
from inference.queries.evaluations import evaluations_on, listing_in
from inference.queries.predictions import Predicted, listed
from inference.views import set_offers
from inference.views.address import chosen_bin, one_of
from inference.views.mappings.evaluating import evaluation_address, predictor_field
from inference.views.mappings.list import evaluation_url
from inference.views.mappings.residuals import scheme_experiments, schemes_context

HELD_OUT = "held-out"
UNITS = tuple((unit.value, unit.label) for unit in Unit)


@dataclass(frozen=True)
class Source:
    """Measurements to compare with: a set, or (`experiment_set` None) what the mapping's run held out."""

    label: str
    evaluated: bool
    experiment_set: ExperimentSet | None = None

    @property
    def key(self) -> str:
        """Its name in the address."""
        return HELD_OUT if self.experiment_set is None else str(self.experiment_set.pk)

    @property
    def count(self) -> int:
        """How many measurements a set has."""
        return 0 if self.experiment_set is None else self.experiment_set.measurements.count()


@dataclass(frozen=True)
class Bin:
    """The experiments in one bin of the heat map, the worst first, and its bounds on both axes in words."""

    rows: list[Predicted]
    total: int
    measured: str
    predicted: str


def accuracy_tab(
    request: HttpRequest, row: PortMapping | ResourceMapping, predictor: Predictor
) -> dict[str, Any]:
    """The chosen evaluation of what predicts, beside others on the same set; or a button to make it."""
    sources = _sources(row)
    chosen = _chosen(request, sources)
    unit = Unit(one_of(request, "unit", tuple(Unit), Unit.CYCLES))
    if chosen is not None and chosen.experiment_set is None:
        unit = Unit.CYCLES  # what was held out is stored in cycles alone
    context: dict[str, Any] = {
        "sources": sources,
        "chosen": chosen,
        "unit": unit.value,
        "unit_label": unit.label,
        "evaluate_url": evaluation_address(row),
        "pins": isinstance(row, PortMapping),
        "set_offers": set_offers.OFFERS.values(),
        "predictor_field": predictor_field(row),
        "units": UNITS[:1] if chosen is not None and chosen.experiment_set is None else UNITS,
    }
    if chosen is None:
        return context
    evaluation = row.evaluations.filter(unit=unit.value, experiment_set=chosen.experiment_set).first()
    if evaluation is None:
        return {**context, "waiting": _evaluation_run(row, chosen, unit)}
    listing = listing_in(evaluation)
    of_scheme = scheme_experiments(request, evaluation, predictor)
    found = None if of_scheme else _bin(request, evaluation, listing, predictor)
    lengths = listing.lengths or ()
    return {
        **context,
        "evaluation": evaluation,
        "on": chosen.label,
        "heat_map": {"figure": HeatMap.from_json(evaluation.heat_map).figure(unit)},
        "bin": found,
        "of_scheme": of_scheme,
        "worst": [] if found or of_scheme else listed(predictor, listing.worst, unit),
        "lengths": lengths if len(lengths) > 1 else (),
        "lengths_figure": length_figure(lengths),
        **schemes_context(request, row.isa, listing.schemes or ()),
        "tools": listing.tools,
        "others": _others(evaluation),
    }


def _others(evaluation: Evaluation) -> list[tuple[Evaluation, str]]:
    """The evaluations of other mappings on the same set in the same unit, with the address of each."""
    if evaluation.experiment_set is None:
        return []
    rows = evaluations_on(evaluation.experiment_set).filter(unit=evaluation.unit).exclude(pk=evaluation.pk)
    return [(other, evaluation_url(other)) for other in rows]


def _sources(row: PortMapping | ResourceMapping) -> list[Source]:
    evaluated = set(row.evaluations.values_list("experiment_set_id", flat=True).distinct())
    held_out = row.evaluations.filter(held_out_by__isnull=False).exists()
    first = [Source("held out by its run", True)] if held_out else []
    sets = ExperimentSet.objects.filter(isa=row.isa).order_by("name")
    others = [Source(each.name, each.pk in evaluated, each) for each in sets]
    return [*first, *sorted(others, key=lambda source: not source.evaluated)]


def _chosen(request: HttpRequest, sources: list[Source]) -> Source | None:
    key = request.GET.get("set", "")
    if not key:
        return sources[0] if sources else None
    found = next((source for source in sources if source.key == key), None)
    if found is None:
        raise BadRequest(f"set must be {HELD_OUT} or the number of a set of this ISA, not {key[:40]!r}")
    return found


def _evaluation_run(row: PortMapping | ResourceMapping, chosen: Source, unit: Unit) -> Run | None:
    """The run that makes the missing evaluation, if one was asked for and is not over."""
    if chosen.experiment_set is None:
        return None
    asked = {predictor_field(row): row.pk, "experiment_set": chosen.experiment_set.pk, "unit": unit.value}
    return Run.objects.filter(kind="evaluate", config=asked).exclude(state__in=Run.FINAL).first()


def _bin(request: HttpRequest, evaluation: Evaluation, listing: Listing, predictor: Predictor) -> Bin | None:
    heat_map = HeatMap.from_json(evaluation.heat_map)
    place = chosen_bin(request, heat_map.bins)
    if place is None:
        return None
    return Bin(
        listed(predictor, listing.bins.get(place, ()), Unit(evaluation.unit)),
        heat_map.counts[place[0]][place[1]],
        measured=heat_map.bounds(place[1]),
        predicted=heat_map.bounds(place[0]),
    )
