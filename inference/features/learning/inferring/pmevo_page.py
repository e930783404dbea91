"""What PMEvo shows on a run's page, folded from its journal: an evolution, a re-fit, and what came of
them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode

from inference.core.events import Event
from inference.core.metrics import SchemeError
from inference.core.pair_conflicts import pair_conflicts
from inference.core.pmevo.events import Cloud, Congruence, FrontImproved, FrontObjectives, Generation, Sweep
from inference.core.protocols import Json
from inference.features.learning.inferring.classes_section import classes_context, classes_told
from inference.features.learning.inferring.front import FrontView, front_of, front_shown, front_told
from inference.features.running.runs.query import inferred_by
from inference.features.running.runs.record import RunRecord, thinned
from inference.figures.conflicts import GrowingMatrix, growing_matrix
from inference.figures.curves import cloud_figure, cloud_points, fitness_curve, sweep_curve
from inference.figures.length_maps import length_figure
from inference.models import ISA, Measurement, PortMapping, PortUsage, Run
from inference.runs.events import HeatMapDrawn, RecordPart
from inference.runs.stages import BOTTLENECK, MIXES, SINGLETONS
from inference.storage.listing import lengths_from, schemes_from
from inference.storage.rows import ids_of_schemes, load_mapping, measurements_of

CURVE_POINTS = 800

CLOUD_FRAMES = 32
"""Populations that a page gets to leaf through: the first, the newest, and some evenly between."""

CLASSES_SHOWN = 10
"""On a page of the run's page: the mapping's own page has more room for them."""

MOST_MEASURED = 4000
"""Measurements looked at: a page is drawn anew every few seconds while they come."""

MEASURING = (SINGLETONS, BOTTLENECK, "measuring")
"""The stages whose time is benchmarking time; the mixes that only judge the result do not belong to it."""


Step = TypeVar("Step")


@dataclass
class EvolutionRecord(RecordPart):
    """Generations, populations, the sweeps of the re-fit, the front so far, and what filtering found.

    See `inference.core.pmevo.events`.
    """

    generations: list[Generation] = field(default_factory=list)
    clouds: list[Cloud] = field(default_factory=list)
    sweeps: list[Sweep] = field(default_factory=list)
    front: Sequence[FrontObjectives] = ()
    congruence: Congruence = field(default_factory=lambda: Congruence(schemes=0, classes=0))

    @property
    def last_generation(self) -> Generation | None:
        """The newest point of the fitness curve."""
        return self.generations[-1] if self.generations else None

    def curve(self) -> list[Generation]:
        """At most `CURVE_POINTS` generations, evenly chosen, the first and the last among them."""
        return thinned(self.generations, CURVE_POINTS)

    @property
    def best_sweep(self) -> Sweep | None:
        """The newest sweep of the independent re-fit that is best off so far."""
        newest = {sweep.start: sweep for sweep in self.sweeps}
        return min(newest.values(), key=lambda sweep: sweep.error, default=None)

    def take(self, event: Event) -> None:
        match event:
            case Generation():
                append_again(self.generations, event, lambda point: point.generation)
            case Cloud():
                append_again(self.clouds, event, lambda cloud: cloud.generation)
            case Sweep(start=start, sweep=number):
                self.sweeps = [sweep for sweep in self.sweeps if sweep.start != start or sweep.sweep < number]
                self.sweeps.append(event)
            case FrontImproved():
                self.front = event.points
            case Congruence():
                self.congruence = event

    def log_line(self, event: Event) -> str:
        if not isinstance(event, Congruence):
            return ""
        return f"{event.schemes} schemes in {event.classes} classes of equal behaviour"


def append_again(steps: list[Step], step: Step, number: Callable[[Step], int]) -> None:
    """Append; a run that is taken up from a checkpoint tells its last steps again."""
    while steps and number(steps[-1]) >= number(step):
        steps.pop()
    steps.append(step)


def evolution_of(record: RunRecord) -> EvolutionRecord:
    """What an evolution has told."""
    part = record.parts["evolution"]
    assert isinstance(part, EvolutionRecord)
    return part


@dataclass(frozen=True)
class Card:
    """The numbers of Table 5.2 for one run, None where there is none yet.

    Times in seconds. `measured`: experiments learnt from. `exhaustive`: what the paper's plan would have
    measured, None where recorded data were learnt from.
    """

    recorded: bool
    benchmarking: float | None
    inference: float | None
    schemes: int | None
    classes: int | None
    kinds: int | None
    measured: int | None
    exhaustive: int | None

    @property
    def congruent(self) -> float | None:
        """Per cent of the schemes that are like another one, so that the search need not look at them."""
        if not self.schemes or self.classes is None:
            return None
        return 100 * (self.schemes - self.classes) / self.schemes

    @property
    def saved(self) -> float | None:
        """Per cent of the exhaustive plan's experiments that were not needed."""
        if not self.exhaustive or self.measured is None or self.measured > self.exhaustive:
            return None
        return 100 * (1 - self.measured / self.exhaustive)


@dataclass(frozen=True)
class SchemeLine:
    """A scheme with its mean errors, and the addresses of its page and of its experiments ("" for none)."""

    error: SchemeError
    scheme_url: str
    experiments_url: str


def evolved(request: HttpRequest, run: Run, record: RunRecord) -> dict[str, Any]:
    """What the template needs; the address may search and page through the classes."""
    row = inferred_by(run).select_related("isa", "machine").first()
    isa = ISA.objects.filter(name=run.config["isa"]).first() if row is None else row.isa
    settings = run.config["settings"]
    over = run.state in Run.FINAL
    search = settings.get("search", "evolution")
    evolution = evolution_of(record)
    last, heat_map = evolution.last_generation, record.heat_map
    lengths = lengths_from(heat_map.lengths) if heat_map else []
    shows = {
        "curve": bool(evolution.generations) or not (over or search == "refit"),
        "cloud": bool(evolution.clouds) or not (over or search == "refit"),
        "sweeps": bool(evolution.sweeps) or not (over or search == "evolution"),
        "lengths": not over or len(lengths) > 1,
    }
    front = _front_on_page(evolution, row)
    judged_by = _judged_by(row)
    return {
        "draws": True,
        "matrix": _measured_so_far(run, record),
        "evolution": evolution,
        "last_generation": last,
        "best_error": None if last is None else 100 * last.best_error,
        "minimised": minimised(run),
        "sweeps_figure": sweep_curve(map(vars, evolution.sweeps)) if evolution.sweeps else None,
        "card": card_of(run, record, row),
        # Beside the heat map an odd number of pictures leaves no room in its last row.
        "worst_wide": sum(shows.values()) % 2 == 1,
        "shows": shows | {"front": front is not None or not (over or search == "evolution")},
        "front": front,
        "made": row,
        "lengths": lengths,
        "schemes_judged": heat_map.schemes if heat_map else 0,
        "all_schemes_url": _accuracy_url(row, judged_by, "by-scheme"),
        "worst_schemes": _worst(heat_map, isa, row, judged_by),
        **_classes(request, record, isa, row),
    }


def minimised(run: Run) -> str:
    """What the run's evolution minimises: the mean "error", or the mean "loss"; older runs have no choice."""
    return "loss" if run.config["settings"].get("objective") == "bounded" else "error"


def evolution_live(run: Run, record: RunRecord) -> Json:
    """What the page's script starts from: figures, and the populations to leaf through."""
    if run.config.get("algorithm") in ("cegar", "explain"):
        return {}
    evolution = evolution_of(record)
    frames = [vars(cloud) for cloud in thinned(evolution.clouds, CLOUD_FRAMES)]
    return {
        "curve": fitness_curve(map(vars, evolution.curve()), minimised(run)),
        "cloud": cloud_figure(frames, minimised(run)),
        "frames": [{"generation": frame["generation"], **cloud_points(frame)} for frame in frames],
        "lengths": length_figure(lengths_from(record.heat_map.lengths if record.heat_map else ())),
    }


def _front_on_page(evolution: EvolutionRecord, row: PortMapping | None) -> FrontView | None:
    """The stored front of a run that is done, what was told of it of one that is not."""
    if not evolution.front:
        return None
    stored = None if row is None else front_of(row)
    return front_told(evolution.front) if stored is None else front_shown(stored)


def card_of(run: Run, record: RunRecord, row: PortMapping | None) -> Card:
    """From the journal, and from the mapping for what only it can tell."""
    recorded = "datasets" in run.config["source"]
    evolution, report = evolution_of(record), {} if row is None else row.report
    congruence, best = evolution.congruence, evolution.best_sweep
    settled = record.experiments.settled if record.experiments else None
    return Card(
        recorded=recorded,
        benchmarking=None if recorded else _spent(record, MEASURING),
        inference=_spent(record, [p.name for p in record.phases if p.name not in (*MEASURING, MIXES)]),
        schemes=congruence.schemes or None,
        classes=congruence.classes or None,
        kinds=_kinds(row) if row is not None else best.kinds if best else None,
        measured=report.get("experiments") or settled,
        exhaustive=report.get("exhaustive"),
    )


def _spent(record: RunRecord, names: Sequence[str]) -> float | None:
    spent = [phase.spent for phase in record.phases if phase.name in names and phase.spent is not None]
    return sum(spent) if spent else None


def _kinds(row: PortMapping) -> int:
    return PortUsage.objects.filter(mapping=row, count__gt=0).order_by().values("mask").distinct().count()


def _worst(
    heat_map: HeatMapDrawn | None, isa: ISA | None, row: PortMapping | None, judged_by: str
) -> list[SchemeLine]:
    """The schemes with the largest errors, as the newest heat map came with them."""
    errors = schemes_from(heat_map.worst if heat_map else ())
    ids = {} if isa is None else ids_of_schemes(isa.pk, (each.scheme for each in errors))
    return [_scheme_line(each, ids.get(each.scheme), row, judged_by) for each in errors]


def _scheme_line(error: SchemeError, pk: int | None, row: PortMapping | None, judged_by: str) -> SchemeLine:
    if pk is None:
        return SchemeLine(error, "", "")
    return SchemeLine(error, reverse("scheme", args=[pk]), _accuracy_url(row, judged_by, "bin", scheme=pk))


def _judged_by(row: PortMapping | None) -> str:
    """The set that the mapping of the run was judged by, as addresses name it; "" while there is none."""
    if row is None:
        return ""
    sets = row.evaluations.filter(unit="cycles").order_by("id").values_list("experiment_set_id", flat=True)
    found = list(sets[:1])
    return str(found[0] or "held-out") if found else ""


def _accuracy_url(row: PortMapping | None, judged_by: str, place: str, **asked: int) -> str:
    """Where on the page of the run's mapping its judgement is; "" while there is none."""
    if row is None or not judged_by:
        return ""
    parameters: dict[str, Any] = {"tab": "accuracy", "set": judged_by, **asked}
    query = urlencode(parameters)
    return f"{reverse('mapping', args=[row.pk])}?{query}#{place}"


def _classes(
    request: HttpRequest, record: RunRecord, isa: ISA | None, row: PortMapping | None
) -> dict[str, Any]:
    """Of the mapping's report, or as they were told while there is none; {} before that."""
    congruence = evolution_of(record).congruence
    classes = list(congruence.members) if row is None else classes_told(row.report)
    if not classes:
        return {}
    value = None if row is None else load_mapping(row)
    return classes_context(request, classes, isa, value, CLASSES_SHOWN, congruence.likeness)


def _measured_so_far(run: Run, record: RunRecord) -> GrowingMatrix | None:
    """Of schemes alone and in pairs; None for nothing, or once there is a mapping to look at."""
    if run.state in Run.FINAL or record.heat_map:
        return None
    rows = Measurement.objects.filter(experiment_set__run=run, experiment__length__lte=2, repeat=0)
    found = measurements_of(rows.order_by("id")[:MOST_MEASURED])
    return growing_matrix(pair_conflicts(each.value for each in found))
