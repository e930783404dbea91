"""From a filled-in form to the description of a run, and what that run will take."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from django.db.models import QuerySet

from inference.core.protocols import Json
from inference.features.learning.inferring.algorithm import as_text
from inference.features.learning.inferring.algorithms import ALGORITHMS
from inference.features.learning.inferring.form import SETTING, InferForm
from inference.features.learning.inferring.request import InferConfig, SimulatedSource
from inference.features.machines.measure.form import measurable_schemes
from inference.formats.known_facts import counts_text, ports_text
from inference.measuring.simulated import NOISE
from inference.models import ISA, ExperimentSet, InstructionScheme, Machine, Measurement, PortMapping, Run
from inference.models.scheme_search import select_schemes
from inference.runs.machines.facts import past_pace, past_runs, seconds_for
from inference.runs.request import MOST_SCHEMES

EXAMPLES = 3  # schemes that the count shows by name


@dataclass(frozen=True)
class InferencePlan:
    """What the form asks for: the run's description, its schemes, and the effort.

    `recorded`: the experiments come from sets and are not measured. `held_out`: experiments to judge by.
    `measuring`: the part of the seconds that a machine measures. `note`: what the estimate rests on. `kept`:
    what the form has no field for, as the run that is started again has it, in words.
    """

    config: Json
    schemes: int
    examples: tuple[str, ...]
    experiments: int
    held_out: int
    seconds: float
    recorded: bool
    measuring: float = 0.0
    note: str = ""
    kept: tuple[str, ...] = ()

    @property
    def more(self) -> bool:
        """Whether there are schemes beside the examples."""
        return self.schemes > len(self.examples)


_LEFT_EMPTY = ("known", "sample", "scheme_filter")
"""Fields of a description that the form leaves out where nothing was chosen for them."""


def _kept(forked: Run | None, config: Json) -> Json:
    """What the run that is started again was told, and no field of the form is about."""
    if forked is None or forked.config["algorithm"] != config["algorithm"]:
        return {}
    return InferConfig.unstated(forked.config, (*config, *_LEFT_EMPTY))


def plan(form: InferForm, forked: Run | None = None) -> InferencePlan:
    """Of a valid form. Raises `SearchError` for a search that cannot be read."""
    data = form.cleaned_data
    selection = data["filter"] if data["selection"] == "filter" else data["selection"]
    isa, known = _known(data, selection)
    form.check_known(isa)
    chosen = known if selection == "all" else select_schemes(known, selection)
    schemes = min(chosen.count(), data.get("sample") or MOST_SCHEMES)
    settings = form.settings()
    config = _config(form, settings, isa, chosen)
    kept = _kept(forked, config)
    mixes = kept.get("mixes", form.offer.mixes)
    held_out, recorded = _experiments(data, chosen if selection != "all" else None, mixes)
    processors = len(os.sched_getaffinity(0))  # those that the search will use
    machine: Machine | None = data["machine"] if data["source"] == "machine" else None
    pace = 0.0 if machine is None else seconds_for(1, machine)
    experiments, seconds = (
        form.offer.effort(schemes, settings, recorded, processors, pace) if schemes else (0, 0.0)
    )
    learnt = Correction() if machine is None else correction(machine, data["algorithm"], processors)
    judging = 0.0 if data.get("evaluate") else pace * held_out
    return InferencePlan(
        config={**config, **kept},
        schemes=schemes,
        examples=tuple(chosen.order_by("id").values_list("text", flat=True)[:EXAMPLES]),
        experiments=experiments,
        held_out=held_out,
        seconds=learnt.factor * (seconds + judging),
        recorded=recorded is not None,
        measuring=pace * experiments + judging,
        note=" ".join(filter(None, (_pace_of(machine), learnt.note))),
        kept=tuple(
            f"{name.replace('_', ' ')} {as_text(value)}"
            for name, value in kept.items()
            if name not in form.fields
        ),
    )


def _pace_of(machine: Machine | None) -> str:
    """What a machine measures per second, and how that is known."""
    if machine is None or machine.kind != Machine.Kind.AGENT:
        return ""
    rate = f"{1 / seconds_for(1, machine):.3g}"
    if past := past_pace(machine):
        ran = "run" if past.runs == 1 else f"{past.runs} runs"
        return f"{machine.name} measured {rate} experiments per second in its last {ran}."
    if machine.rate:
        return f"{machine.name} has measured {rate} experiments per second lately."
    return f"Computed with {rate} experiments per second: {machine.name} has not measured since it connected."


def _known(data: Mapping[str, Any], selection: str) -> tuple[ISA, QuerySet[InstructionScheme]]:
    """The schemes that the chosen source can answer for."""
    if data["source"] == "datasets":
        sets = list(data["datasets"])
        measured = Measurement.objects.filter(experiment_set__in=sets, state=Measurement.State.SETTLED)
        isa = sets[0].isa
        # Terms first: a set has far fewer schemes than measurements.
        used = measured.values("experiment__terms__scheme").distinct()
        return isa, isa.schemes.filter(pk__in=used)
    if data["source"] == "simulate":
        mapping: PortMapping = data["mapping"]
        described = mapping.usages.filter(count__gt=0).values("scheme").distinct()
        return mapping.isa, mapping.isa.schemes.filter(pk__in=described)
    machine: Machine = data["machine"]
    return machine.isa, measurable_schemes(machine, selection)


def _experiments(
    data: Mapping[str, Any], chosen: QuerySet[InstructionScheme] | None, mixes: int
) -> tuple[int, int | None]:
    """(held out, recorded to learn from); the latter None where fresh experiments are measured.

    `mixes`: how many are measured to judge by without a set that judges.
    """
    judge: ExperimentSet | None = data.get("evaluate")
    if data["source"] != "datasets":
        return (judge.measurements.count() if judge else mixes), None
    rows = Measurement.objects.filter(experiment_set__in=data["datasets"], state=Measurement.State.SETTLED)
    if chosen is not None:
        others = data["datasets"][0].isa.schemes.exclude(pk__in=chosen.values("pk"))
        rows = rows.exclude(experiment__terms__scheme__in=others.values("pk"))
    if judge:
        judged = judge.measurements.filter(state=Measurement.State.SETTLED)
        rows = rows.exclude(experiment__in=judged.order_by().values("experiment"))  # they are not learnt from
        return judged.count(), rows.count()
    total = rows.count()
    held_out = round(total * (data["held_out"] or 0))
    return held_out, total - held_out


def _config(form: InferForm, settings: Json, isa: ISA, chosen: QuerySet[InstructionScheme]) -> Json:
    data, known = form.cleaned_data, form.known()
    source: Json
    if data["source"] == "datasets":
        source = {"datasets": [row.pk for row in data["datasets"]]}
    elif data["source"] == "simulate":
        source = {"simulate": data["mapping"].pk, **form.stated(SimulatedSource)}
    else:
        source = {"machine": data["machine"].pk}
    measures = data["source"] == "machine" and data["machine"].kind == Machine.Kind.AGENT
    measures |= form.offer.exact and data["source"] != "datasets"
    measures &= not form.offer.explores
    config: Json = {
        "algorithm": data["algorithm"],
        "isa": isa.name,
        "source": source,
        "ports": settings["ports"],
        "settings": {name: value for name, value in settings.items() if name != "ports"},
        "schemes": data["selection"],
        "seed": data["seed"],
        "held_out": data["held_out"] or 0.0,
        "evaluate": data["evaluate"].pk if data["evaluate"] else None,
    }
    if measures:
        config["bottleneck"] = data["bottleneck"]
    if known:
        config["known"] = known
    if data["sample"] is not None:
        config["sample"] = data["sample"]
    if data["selection"] == "filter":
        config["schemes"] = list(chosen.order_by("id").values_list("pk", flat=True))
        config["scheme_filter"] = data["filter"]
    return config


def initial_of(run: Run) -> dict[str, Any]:
    """The form as it was for a run of kind "infer"."""
    config = run.config
    source = config["source"]
    kind = next(kind for kind in ("datasets", "simulate", "machine") if kind in source)
    initial: dict[str, Any] = {
        "source": kind,
        {"simulate": "mapping"}.get(kind, kind): source[kind],
        "selection": "filter" if config["scheme_filter"] else config["schemes"],
        "filter": config["scheme_filter"],
        "sample": config.get("sample"),
        "algorithm": config["algorithm"],
        "seed": config["seed"],
        "held_out": config["held_out"],
        "evaluate": config["evaluate"],
        "bottleneck": config.get("bottleneck", True),
        SETTING + "ports": "" if config["ports"] is None else config["ports"],
    }
    known = config.get("known", {})
    initial |= {name: counts_text(known[name]) for name in ("uops", "widths") if name in known}
    if "documented" in known:
        initial["documented"] = ports_text(known["documented"])
    initial["improper"] = "\n".join(known.get("improper", ()))
    initial |= {name: source[name] for name in NOISE if name in source}
    initial |= {SETTING + name: as_text(value) for name, value in config["settings"].items()}
    return initial


_LEAST, _MOST = 0.1, 10.0


@dataclass(frozen=True)
class Correction:
    """By how much runs of an algorithm took longer than estimated: the median of so many `runs`."""

    factor: float = 1.0
    runs: int = 0

    @property
    def note(self) -> str:
        """In words; "" where there is nothing to go by."""
        if not self.runs:
            return ""
        ran = "run" if self.runs == 1 else f"{self.runs} runs"
        return f"Corrected by what the last {ran} like it took here."


def correction(machine: Machine, algorithm: str, processors: int) -> Correction:
    """Of the runs that an algorithm has done on the machine; neither doubled nor halved more than thrice."""
    pace = seconds_for(1, machine)
    factors = []
    for run in past_runs(machine, "infer", algorithm=algorithm):
        schemes, settings = run.result.get("schemes"), run.config.get("settings")
        if not schemes or not settings or not run.busy_seconds:
            continue
        described = {name: value for name, value in settings.items() if name != "ports"}
        _, seconds = ALGORITHMS[algorithm].effort(schemes, described, None, processors, pace)
        judged = 0 if run.config.get("evaluate") else ALGORITHMS[algorithm].mixes
        estimated = seconds + pace * judged
        if estimated > 0:
            factors.append(run.busy_seconds / estimated)
    if not factors:
        return Correction()
    return Correction(min(max(median(factors), _LEAST), _MOST), len(factors))
