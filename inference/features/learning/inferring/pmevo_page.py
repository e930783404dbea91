"""The run page of PMEvo, folded from its journal: evolution, re-fit, front and results."""

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
from inference.features.learning.inferring.classes_section import classes_context, classes_of_report
from inference.features.learning.inferring.front import FrontView, front_of, live_front, stored_front
from inference.features.running.runs.query import inferred_by
from inference.features.running.runs.record import RunRecord, thinned
from inference.figures.conflicts import GrowingMatrix, growing_matrix
from inference.figures.curves import cloud_figure, cloud_points, fitness_curve, sweep_curve
from inference.figures.length_maps import length_figure
from inference.models import ISA, Measurement, PortMapping, PortUsage, Run
from inference.runs.events import HeatMapEvent, RecordPart
from inference.runs.stages import BOTTLENECK, MIXES, SINGLETONS
from inference.storage.listing import lengths_from, schemes_from
from inference.storage.mappings import load_mapping
from inference.storage.rows import ids_of_schemes, measurements_of

CURVE_POINTS = 800

CLOUD_FRAMES = 32
"""Maximum number of populations on a page: the first, the newest, and some evenly between."""

CLASSES_PER_PAGE = 10
"""Classes per page; the mapping's own page lists more."""

MAX_MEASURED = 4000
"""Maximum number of measurements in the matrix: the page reloads every few seconds."""

MEASURING = (SINGLETONS, BOTTLENECK, "measuring")
"""The stages that count as benchmarking time; mixes for judging do not."""


Step = TypeVar("Step")


@dataclass
class EvolutionRecord(RecordPart):
    """The state of an evolution or re-fit, see `inference.core.pmevo.events`."""

    generations: list[Generation] = field(default_factory=list)
    clouds: list[Cloud] = field(default_factory=list)
    sweeps: list[Sweep] = field(default_factory=list)
    front: Sequence[FrontObjectives] = ()
    congruence: Congruence = field(default_factory=lambda: Congruence(schemes=0, classes=0))

    @property
    def last_generation(self) -> Generation | None:
        """The newest generation, None before the first."""
        return self.generations[-1] if self.generations else None

    def curve(self) -> list[Generation]:
        """At most `CURVE_POINTS` generations, evenly spaced, including the first and the last."""
        return thinned(self.generations, CURVE_POINTS)

    @property
    def best_sweep(self) -> Sweep | None:
        """The newest sweep of the re-fit with the smallest error so far."""
        newest = {sweep.start: sweep for sweep in self.sweeps}
        return min(newest.values(), key=lambda sweep: sweep.error, default=None)

    def take(self, event: Event) -> None:
        match event:
            case Generation():
                append_step(self.generations, event, lambda point: point.generation)
            case Cloud():
                append_step(self.clouds, event, lambda cloud: cloud.generation)
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


def append_step(steps: list[Step], step: Step, number: Callable[[Step], int]) -> None:
    """Appends a step. A resumed run repeats the steps since its checkpoint: these replace the earlier
    ones.
    """
    while steps and number(steps[-1]) >= number(step):
        steps.pop()
    steps.append(step)


def evolution_of(record: RunRecord) -> EvolutionRecord:
    part = record.parts["evolution"]
    assert isinstance(part, EvolutionRecord)
    return part


@dataclass(frozen=True)
class Card:
    """The numbers of Table 5.2 for a run, None if not known yet.

    Times are in seconds.

    Attributes:
        measured: Training experiments.
        exhaustive: Experiments of the paper's plan, None with recorded data.
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
        """Per cent of the schemes that are congruent to another, so that the search skips them."""
        if not self.schemes or self.classes is None:
            return None
        return 100 * (self.schemes - self.classes) / self.schemes

    @property
    def saved(self) -> float | None:
        """Per cent of the exhaustive plan's experiments that were not measured."""
        if not self.exhaustive or self.measured is None or self.measured > self.exhaustive:
            return None
        return 100 * (1 - self.measured / self.exhaustive)


@dataclass(frozen=True)
class SchemeLine:
    """A scheme with its mean errors; addresses are "" if there is no page."""

    error: SchemeError
    scheme_url: str
    experiments_url: str


def evolution_context(request: HttpRequest, run: Run, record: RunRecord) -> dict[str, Any]:
    """Context of the template; the address may search and page through the classes."""
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
        # With the heat map, an odd number of figures fills the last row of the grid.
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
    """The minimised quantity, "error" or "loss"; runs of older versions had no choice."""
    return "loss" if run.config["settings"].get("objective") == "bounded" else "error"


def evolution_live(run: Run, record: RunRecord) -> Json:
    """Initial data of the page's script: figures, and populations."""
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
    """The stored front of a finished run, else the newest one in the journal; None without one."""
    if not evolution.front:
        return None
    stored = None if row is None else front_of(row)
    return live_front(evolution.front) if stored is None else stored_front(stored)


def card_of(run: Run, record: RunRecord, row: PortMapping | None) -> Card:
    """The card from the journal, and from the mapping if there is one."""
    recorded = "datasets" in run.config["source"]
    evolution, report = evolution_of(record), {} if row is None else row.report
    congruence, best = evolution.congruence, evolution.best_sweep
    settled = record.experiments.settled if record.experiments else None
    return Card(
        recorded=recorded,
        benchmarking=None if recorded else _busy_seconds(record, MEASURING),
        inference=_busy_seconds(record, [p.name for p in record.phases if p.name not in (*MEASURING, MIXES)]),
        schemes=congruence.schemes or None,
        classes=congruence.classes or None,
        kinds=_kinds(row) if row is not None else best.kinds if best else None,
        measured=report.get("experiments") or settled,
        exhaustive=report.get("exhaustive"),
    )


def _busy_seconds(record: RunRecord, names: Sequence[str]) -> float | None:
    durations = [p.busy_seconds for p in record.phases if p.name in names and p.busy_seconds is not None]
    return sum(durations) if durations else None


def _kinds(row: PortMapping) -> int:
    return PortUsage.objects.filter(mapping=row, count__gt=0).order_by().values("mask").distinct().count()


def _worst(
    heat_map: HeatMapEvent | None, isa: ISA | None, row: PortMapping | None, judged_by: str
) -> list[SchemeLine]:
    """The schemes with the largest errors in the newest heat map."""
    errors = schemes_from(heat_map.worst if heat_map else ())
    ids = {} if isa is None else ids_of_schemes(isa.pk, (error.scheme for error in errors))
    return [_scheme_line(error, ids.get(error.scheme), row, judged_by) for error in errors]


def _scheme_line(error: SchemeError, pk: int | None, row: PortMapping | None, judged_by: str) -> SchemeLine:
    if pk is None:
        return SchemeLine(error, "", "")
    return SchemeLine(error, reverse("scheme", args=[pk]), _accuracy_url(row, judged_by, "bin", scheme=pk))


def _judged_by(row: PortMapping | None) -> str:
    """The set that judged the mapping, as in addresses; "" without an evaluation."""
    if row is None:
        return ""
    sets = row.evaluations.filter(unit="cycles").order_by("id").values_list("experiment_set_id", flat=True)
    set_ids = list(sets[:1])
    return str(set_ids[0] or "held-out") if set_ids else ""


def _accuracy_url(row: PortMapping | None, judged_by: str, place: str, **filters: int) -> str:
    """The address of the mapping's accuracy tab; "" without an evaluation."""
    if row is None or not judged_by:
        return ""
    parameters: dict[str, Any] = {"tab": "accuracy", "set": judged_by, **filters}
    query = urlencode(parameters)
    return f"{reverse('mapping', args=[row.pk])}?{query}#{place}"


def _classes(
    request: HttpRequest, record: RunRecord, isa: ISA | None, row: PortMapping | None
) -> dict[str, Any]:
    """Context with the congruence classes of the mapping, else of the journal; {} without classes."""
    congruence = evolution_of(record).congruence
    classes = list(congruence.members) if row is None else classes_of_report(row.report)
    if not classes:
        return {}
    value = None if row is None else load_mapping(row)
    return classes_context(request, classes, isa, value, CLASSES_PER_PAGE, congruence.likeness)


def _measured_so_far(run: Run, record: RunRecord) -> GrowingMatrix | None:
    """A matrix of measured single schemes and pairs; None without any, or once there is a mapping."""
    if run.state in Run.FINAL or record.heat_map:
        return None
    rows = Measurement.objects.filter(experiment_set__run=run, experiment__length__lte=2, repeat=0)
    measurements = measurements_of(rows.order_by("id")[:MAX_MEASURED])
    return growing_matrix(pair_conflicts(row.value for row in measurements))
