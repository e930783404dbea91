"""The start page: what is going on, which machines are there, what came out lately, and the first steps."""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from anica_app.features.campaigns.discovery_rows import found_of
from anica_app.features.campaigns.query import newest
from inference.features.machines.machines.query import condition_of, microarchitecture_of, obstacle
from inference.models import Machine
from pmweb.overview import SiteOverview, overview


@dataclass(frozen=True)
class FirstStep:
    """One of the first steps; `post` ones act when their button is pressed, the others lead to a page.

    `hindrance` says why the step cannot be taken now and what would help; then there is no button. `result`:
    the address of what came of a step that was taken.
    """

    title: str
    why: str
    button: str
    url: str
    done: bool
    post: bool = False
    hindrance: str = ""
    next: bool = False
    result: str = ""

    @property
    def open(self) -> bool:
        """Whether it can be taken and has not been."""
        return not (self.done or self.hindrance)


def start(request: HttpRequest) -> HttpResponse:
    """The start page."""
    seen = overview()
    machines = [(machine, condition_of(machine), _processor(machine)) for machine in seen.machines]
    online = [row for row in machines if row[1].online]
    of_anica = newest()
    context = {
        "seen": seen,
        "fresh": seen.fresh and not of_anica.campaigns,
        "newest_campaigns": of_anica.campaigns,
        "newest_discoveries": [found_of(row, None) for row in of_anica.discoveries],
        "checklist": _first_steps(seen),
        "core": seen.core,
        "newest_set": seen.sets[0].pk if seen.sets else None,
        "comparison": seen.compared,
        "machines": online,
        "away": len(machines) - len(online),
    }
    return render(request, "pmweb/start.html", context)


def _processor(machine: Machine) -> str:
    """Microarchitecture and CPU of a machine, as far as they are known."""
    known = microarchitecture_of(machine)
    return " · ".join(filter(None, ("" if known is None else known.name, machine.cpu)))


def _measure_step(seen: SiteOverview) -> FirstStep:
    """What the product is for: one button that measures the computer that the site runs on."""
    local = seen.local
    title, run = "Measure this computer", seen.unfinished_here.get("pmevo")
    if run is not None:
        why = "It is being measured, and its port mapping is inferred. You can close the page meanwhile."
        return FirstStep(title, why, "Watch", reverse("run", args=[run.pk]), done=False)
    others = [pk for algorithm, pk in seen.inferred_here.items() if algorithm != "cegar"]
    named = "" if local is None else _processor(local)
    why = f"{named or 'A starter set'}: measured, and its port mapping inferred, live and within minutes."
    return FirstStep(
        title,
        why,
        "Measure this computer",
        reverse("measure-this-computer"),
        bool(others),
        post=True,
        hindrance=obstacle(local),
        result=_page(
            "mapping", max((pk for name, pk in seen.inferred_here.items() if name != "cegar"), default=None)
        ),
    )


def _ports_step(seen: SiteOverview) -> FirstStep:
    """The quick way to see something of this computer that its vendor may not have documented."""
    local, run = seen.local, seen.unfinished_here.get("cegar")
    title = "Find this CPU’s ports"
    if run is not None:
        why = "Experiments are asked that decide between candidate mappings, one after the other."
        return FirstStep(title, why, "Watch", reverse("run", args=[run.pk]), done=False)
    why = (
        "A dozen instructions, one or two for each kind of execution unit: within a minute, which ports each "
        "can use, and whether anything else would explain the measurements."
    )
    address = "" if local is None else reverse("find-ports", args=[local.pk])
    done = "cegar" in seen.inferred_here
    result = _page("mapping", seen.inferred_here.get("cegar"))
    return FirstStep(
        title, why, "Find its ports", address, done, post=True, hindrance=obstacle(local), result=result
    )


def _explain_step(seen: SiteOverview) -> FirstStep:
    """What takes longest and says most; the form asks how many instructions it shall be."""
    local, run = seen.local, seen.unfinished_here.get("explain")
    title = "Explain this CPU’s instructions"
    if run is not None:
        why = "Ports are blocked one set after another, and it is seen which µops cannot evade."
        return FirstStep(title, why, "Watch", reverse("run", args=[run.pk]), done=False)
    why = (
        "Which µops each instruction has and where they can execute, every one with the measurements that "
        "show it; the others with the reason why not. Takes minutes for a thousand instructions."
    )
    address = "" if local is None else f"{reverse('infer')}?algorithm=explain&machine={local.pk}"
    done = "explain" in seen.inferred_here
    result = _page("mapping", seen.inferred_here.get("explain"))
    return FirstStep(
        title, why, "Explain its instructions", address, done, hindrance=obstacle(local), result=result
    )


def _know_step(seen: SiteOverview) -> FirstStep:
    """Everything that can be found out; the form asks of how many instructions."""
    local = seen.local
    why = (
        "Ports and slots, explained µops, latencies and the front end, one after another; each can be used "
        "as soon as it is done. Some minutes for the default set, of which the starter set is the quick part."
    )
    address = "" if local is None else reverse("know", args=[local.pk])
    return FirstStep(
        "Know this CPU",
        why,
        "Know this CPU",
        address,
        seen.knows_local is not None,
        hindrance=obstacle(local),
        result=_page("run", seen.knows_local) if seen.core is None else _page("core-model", seen.core.pk),
    )


def _loop_step(seen: SiteOverview) -> FirstStep:
    """What a performance engineer comes with."""
    asked = seen.done.get("ask")
    return FirstStep(
        "Paste a loop",
        "Assembly or hex: cycles by every predictor and machine, which ports are full, and why.",
        "Paste a loop",
        reverse("blocks"),
        asked is not None,
        result=_page("asked-blocks", asked),
    )


def _compare_step(seen: SiteOverview) -> FirstStep:
    """Where predictors disagree with a machine, and with each other."""
    compared = seen.compared
    return FirstStep(
        "Compare tools",
        "Predictors and mappings side by side on measurements: who is right, and on which instructions.",
        "Compare tools",
        reverse("comparison-new"),
        compared is not None,
        result=_page("comparison", compared),
    )


def _page(name: str, pk: int | None) -> str:
    return "" if pk is None else reverse(name, args=[pk])


def _first_steps(seen: SiteOverview) -> list[FirstStep]:
    """The first steps with the next one marked; none once all are done."""
    steps = [
        _measure_step(seen),
        _know_step(seen),
        _loop_step(seen),
        _ports_step(seen),
        _explain_step(seen),
        FirstStep(
            "Try the recorded example",
            "Real measurements of an AMD Zen 4 core and the port mapping inferred from them.",
            "Load the example",
            reverse("example"),
            seen.example is not None,
            post=True,
            result=_page("set", seen.example),
        ),
        _compare_step(seen),
        FirstStep(
            "Upload measurements",
            "A CSV with one experiment per row, or PMEvo's JSON files.",
            "Upload",
            reverse("upload"),
            seen.uploaded is not None,
            result=_page("set", seen.uploaded),
        ),
        FirstStep(
            "Infer a port mapping",
            "From a machine, from measurements that you have uploaded, or from a simulated processor.",
            "Infer",
            reverse("infer"),
            seen.inferred is not None,
            result=_page("mapping", seen.inferred),
        ),
    ]
    first = next((index for index, step in enumerate(steps) if step.open), None)
    if first is None:
        return []
    return [replace(step, next=index == first) for index, step in enumerate(steps)]
