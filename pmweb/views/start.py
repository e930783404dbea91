"""The start page: three doors, recent work, the CPUs, and the first steps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from django.db.models import Case, Max, QuerySet, Value, When
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from anica_app.features.campaigns.query import discovery_row, newest, newest_mistakes
from inference.features.asking.loop.query import cpus
from inference.features.library.mappings.query import port_mappings
from inference.features.library.sets.query import experiment_sets
from inference.features.machines.machines.query import (
    condition_of,
    machines,
    obstacle,
    unfinished_inferences_on,
)
from inference.models import ExperimentSet, Machine, PortMapping, Run, StoredCoreModel
from inference.storage.instruction_sets import core_of
from inference.web.listed_mappings import ListedMapping, listed_mappings

NEWEST = 6  # rows of each list
COMPARISONS = ("judge", "comparison", "accuracy-check")
"""Kinds of runs that compare sources."""


@dataclass(frozen=True)
class FirstStep:
    """One of the first steps on the start page.

    `result` is the address of its result, "" before it is taken. `hindrance` says why it cannot be taken now,
    and what would help; such a step has no button. The button of a `post` step acts, others lead to a page.
    """

    title: str
    why: str
    button: str
    url: str
    result: str = ""
    post: bool = False
    hindrance: str = ""
    next: bool = False

    @property
    def done(self) -> bool:
        return bool(self.result)


@dataclass(frozen=True)
class ProfileDoor:
    """The door *Profile this CPU*, in one of four states: it has a `core`, an unfinished `run`, a
    `hindrance`, or none of them.

    `processor`: what the site's computer has, "" where it is not known.
    """

    processor: str
    core: StoredCoreModel | None
    run: Run | None
    hindrance: str
    machine: Machine | None


def start(request: HttpRequest) -> HttpResponse:
    overview = SiteOverview()
    machines = [(machine, condition_of(machine)) for machine in overview.machines]
    online = [row for row in machines if row[1].online]
    anica_results = newest()
    context = {
        "overview": overview,
        "fresh": overview.fresh and not anica_results.campaigns,
        "newest_campaigns": anica_results.campaigns,
        "newest_discoveries": [discovery_row(row, None) for row in anica_results.discoveries],
        "checklist": _first_steps(overview),
        "door": _profile_door(overview),
        "mistakes": None if overview.local_core is None else newest_mistakes(overview.local_core),
        "cores": cpus(),
        "newest_set": overview.sets[0].pk if overview.sets else None,
        "comparison": overview.compared,
        "machines": online,
        "away": len(machines) - len(online),
    }
    return render(request, "pmweb/start.html", context)


def _profile_door(overview: SiteOverview) -> ProfileDoor:
    local = overview.local
    return ProfileDoor(
        "" if local is None else _processor(local),
        overview.local_core,
        overview.profile_run,
        obstacle(local),
        local,
    )


def _processor(machine: Machine) -> str:
    """Microarchitecture and CPU of a machine, without unknown parts."""
    core = core_of(machine)
    return " · ".join(filter(None, ("" if core is None else core.name, machine.cpu)))


def _steps_here(overview: SiteOverview) -> list[FirstStep]:
    """Steps that measure the computer that the site runs on."""
    local, mappings = overview.local, overview.local_mappings
    pk = None if local is None else local.pk
    hindrance = obstacle(local)
    processor = "" if local is None else _processor(local)
    newest = max((mapping for algorithm, mapping in mappings.items() if algorithm != "cegar"), default=None)
    return [
        _or_watch(
            overview.local_inferences.get("pmevo"),
            "It is being measured, and its port mapping is inferred. You can close the page meanwhile.",
            FirstStep(
                "Measure this computer",
                f"{processor or 'A starter set'}: measured, and its port mapping inferred, live and within "
                "minutes.",
                "Measure this computer",
                reverse("measure-this-computer"),
                _page("mapping", newest),
                post=True,
                hindrance=hindrance,
            ),
        ),
        _or_watch(
            overview.local_inferences.get("cegar"),
            "Experiments are measured, one after another, that decide between candidate mappings.",
            FirstStep(
                "Find ports (quick)",
                "A dozen instructions, one or two for each kind of execution unit: within a minute, which "
                "ports each can use, and whether anything else would explain the measurements.",
                "Find ports (quick)",
                _page("find-ports", pk),
                _page("mapping", mappings.get("cegar")),
                post=True,
                hindrance=hindrance,
            ),
        ),
        _or_watch(
            overview.local_inferences.get("explain"),
            "Sets of ports are blocked one after another, which shows the µops that need them.",
            FirstStep(
                "Show the evidence per instruction",
                "Finds the µops of each instruction and their ports, with the measurements that show them; "
                "for other instructions it gives the reason. Takes minutes for a thousand instructions.",
                "Show the evidence",
                f"{reverse('infer')}?algorithm=explain&machine={pk}",
                _page("mapping", mappings.get("explain")),
                hindrance=hindrance,
            ),
        ),
    ]


def _or_watch(run: Run | None, why: str, step: FirstStep) -> FirstStep:
    """The step, or a link to the unfinished run that takes it."""
    return step if run is None else FirstStep(step.title, why, "Watch", reverse("run", args=[run.pk]))


def _page(name: str, pk: int | None) -> str:
    return "" if pk is None else reverse(name, args=[pk])


def _first_steps(overview: SiteOverview) -> list[FirstStep]:
    """The first steps with the next one marked; [] when all are done or hindered."""
    steps = [
        *_steps_here(overview),
        FirstStep(
            "Try the recorded example",
            "Real measurements of an AMD Zen 4 core and the port mapping inferred from them.",
            "Load the example",
            reverse("example"),
            _page("set", _newest(ExperimentSet.objects.filter(origin=ExperimentSet.Origin.EXAMPLE))),
            post=True,
        ),
        FirstStep(
            "Compare tools",
            "Predictors and mappings side by side on measurements: who is right, and on which instructions.",
            "Compare tools",
            reverse("comparison-new"),
            _page("comparison", overview.compared),
        ),
        FirstStep(
            "Upload measurements",
            "A CSV with one experiment per row, or PMEvo's JSON files.",
            "Upload",
            reverse("upload"),
            _page("set", _newest(ExperimentSet.objects.filter(origin=ExperimentSet.Origin.UPLOAD))),
        ),
        FirstStep(
            "Infer a port mapping",
            "From a machine, from measurements that you have uploaded, or from a simulated processor.",
            "Infer",
            reverse("infer"),
            _page("mapping", _newest(PortMapping.objects.filter(origin=PortMapping.Origin.RUN))),
        ),
    ]
    first = next((step for step in steps if not (step.done or step.hindrance)), None)
    return [replace(step, next=step is first) for step in steps] if first else []


class SiteOverview:
    """The newest rows of each kind, by id, and results of first steps; at most thirteen queries."""

    @cached_property
    def runs(self) -> list[Run]:
        """The newest runs, unfinished ones first."""
        finished = Case(When(state__in=Run.FINAL, then=Value(1)), default=Value(0))
        return list(Run.objects.defer("config", "result").order_by(finished, "-id")[:NEWEST])

    @cached_property
    def mappings(self) -> list[ListedMapping]:
        return listed_mappings(port_mappings().order_by("-id")[:NEWEST])

    @cached_property
    def sets(self) -> list[ExperimentSet]:
        return list(experiment_sets().order_by("-id")[:NEWEST])

    @cached_property
    def machines(self) -> list[Machine]:
        return list(machines().filter(kind=Machine.Kind.AGENT))

    @property
    def fresh(self) -> bool:
        """Whether the site has no runs, mappings and sets."""
        return not (self.runs or self.mappings or self.sets)

    @cached_property
    def local_core(self) -> StoredCoreModel | None:
        """The newest core model of the local machine; None without one."""
        rows = StoredCoreModel.objects.filter(machine=self.local).select_related("mapping", "machine")
        return None if self.local is None else rows.defer("document").order_by("-pk").first()

    @cached_property
    def done(self) -> dict[str, int]:
        """{kind of `COMPARISONS`: id of its newest finished run}."""
        done = Run.objects.filter(kind__in=COMPARISONS, state=Run.State.DONE).order_by()
        return dict(done.values_list("kind").annotate(newest=Max("pk")))

    @cached_property
    def compared(self) -> int | None:
        return max((self.done[kind] for kind in COMPARISONS if kind in self.done), default=None)

    @property
    def local(self) -> Machine | None:
        """The machine of the site's own computer; None without one."""
        return next((machine for machine in self.machines if machine.local), None)

    @cached_property
    def local_inferences(self) -> dict[str, Run]:
        """{algorithm: unfinished inference on the local machine}."""
        runs = list(unfinished_inferences_on(self.local)) if self.local else []
        return {run.config.get("algorithm", ""): run for run in reversed(runs)}

    @cached_property
    def local_mappings(self) -> dict[str, int]:
        """{algorithm: id of its newest mapping of the local machine}; the key is "" without a run."""
        if self.local is None:
            return {}
        rows = PortMapping.objects.filter(machine=self.local).order_by().values_list("run__config__algorithm")
        return {algorithm or "": pk for algorithm, pk in rows.annotate(newest=Max("pk"))}

    @cached_property
    def profile_run(self) -> Run | None:
        """The unfinished run that profiles the local machine; None without one."""
        if self.local is None:
            return None
        rows = Run.objects.filter(kind="know", config__machine=self.local.pk).exclude(state__in=Run.FINAL)
        return rows.only("name", "state", "progress").order_by("-pk").first()


def _newest(rows: QuerySet[Any]) -> int | None:
    pk: int | None = rows.order_by("-pk").values_list("pk", flat=True).first()
    return pk
