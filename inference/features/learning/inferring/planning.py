"""The run's configuration of a filled-in form, and an estimate of its effort from earlier runs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from inference.core.protocols import Json
from inference.features.learning.inferring.algorithm import setting_text
from inference.features.learning.inferring.form import SETTING, InferForm
from inference.features.learning.inferring.request import InferConfig, SimulatedSource
from inference.features.machines.measure.form import measurable_schemes
from inference.formats.scheme_lists import counts_text, ports_text
from inference.measuring.simulated import NOISE_OPTIONS
from inference.models import ISA, ExperimentSet, InstructionScheme, Machine, Measurement, PortMapping, Run
from inference.models.scheme_search import select_schemes
from inference.runs.estimates import completed, estimate
from inference.runs.machines.facts import estimated_seconds, measuring_pace
from inference.runs.request import MAX_SCHEMES

EXAMPLES = 3  # schemes that the count shows by name


_LEFT_EMPTY = ("known", "sample", "scheme_filter")
"""Fields that the form's configuration omits if they are empty."""


@dataclass(frozen=True)
class InferencePlan:
    """The plan of a valid form: configuration, schemes and effort.

    Attributes:
        recorded: Experiments come from sets instead of measuring.
        held_out: Number of experiments for judging.
        measuring: Seconds of measuring, a part of `seconds`.
        note: The basis of the estimate.
        carried_over: Settings of the copied run that the form has no field for, as text.
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
    carried_over: tuple[str, ...] = ()

    @property
    def more(self) -> bool:
        return self.schemes > len(self.examples)


def _carried_over_settings(forked: Run | None, config: Json) -> Json:
    """Settings of the copied run that the form has no field for; {} for another algorithm."""
    if forked is None or forked.config["algorithm"] != config["algorithm"]:
        return {}
    return InferConfig.carried_over(forked.config, (*config, *_LEFT_EMPTY))


def plan(form: InferForm, forked: Run | None = None) -> InferencePlan:
    """The plan of a valid form. Raises `SearchError` for an invalid search."""
    data = form.cleaned_data
    selection = data["filter"] if data["selection"] == "filter" else data["selection"]
    isa, available = _available_schemes(data, selection)
    form.check_known(isa)
    selected = available if selection == "all" else select_schemes(available, selection)
    schemes = min(selected.count(), data.get("sample") or MAX_SCHEMES)
    settings = form.settings()
    config = _config(form, settings, isa, selected)
    carried = _carried_over_settings(forked, config)
    mixes = carried.get("mixes", form.offer.mixes)
    held_out, recorded = _experiments(data, selected if selection != "all" else None, mixes)
    processors = len(os.sched_getaffinity(0))  # those that the search will use
    machine: Machine | None = data["machine"] if data["source"] == "machine" else None
    pace = 0.0 if machine is None else estimated_seconds(1, machine)
    experiments, seconds = (
        form.offer.effort(schemes, settings, recorded, processors, pace) if schemes else (0, 0.0)
    )
    judging = 0.0 if data.get("evaluate") else pace * held_out
    config |= carried
    earlier = None if machine is None else estimate("infer", completed("infer", config))
    note = _pace_of(machine)
    seconds += judging
    if earlier is not None and earlier.time.runs and earlier.time.total is not None:
        seconds, note = earlier.time.total.likely, earlier.reason
    return InferencePlan(
        config=config,
        schemes=schemes,
        examples=tuple(selected.order_by("id").values_list("text", flat=True)[:EXAMPLES]),
        experiments=experiments,
        held_out=held_out,
        seconds=seconds,
        recorded=recorded is not None,
        measuring=min(pace * experiments + judging, seconds),
        note=note,
        carried_over=tuple(
            f"{name.replace('_', ' ')} {setting_text(value)}"
            for name, value in carried.items()
            if name not in form.fields
        ),
    )


def _pace_of(machine: Machine | None) -> str:
    """The machine's measuring rate and its basis, as a sentence; "" for machines without an agent."""
    if machine is None or machine.kind != Machine.Kind.AGENT:
        return ""
    rate = f"{1 / estimated_seconds(1, machine):.3g}"
    if history := measuring_pace(machine):
        runs_text = "run" if history.runs == 1 else f"{history.runs} runs"
        return f"{machine.name} measured {rate} experiments per second in its last {runs_text}."
    if machine.rate:
        return f"{machine.name} recently measured {rate} experiments per second."
    return f"Assumes {rate} experiments per second: {machine.name} has not measured since it connected."


def _available_schemes(data: Mapping[str, Any], selection: str) -> tuple[ISA, QuerySet[InstructionScheme]]:
    """The instruction set, and the schemes that the source can measure."""
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
    data: Mapping[str, Any], selected: QuerySet[InstructionScheme] | None, mixes: int
) -> tuple[int, int | None]:
    """(held-out experiments, recorded experiments to learn from; None if fresh ones are measured).

    `mixes`: number of mixes that are measured for judging if no set judges.
    """
    judge: ExperimentSet | None = data.get("evaluate")
    if data["source"] != "datasets":
        return (judge.measurements.count() if judge else mixes), None
    rows = Measurement.objects.filter(experiment_set__in=data["datasets"], state=Measurement.State.SETTLED)
    if selected is not None:
        unselected = data["datasets"][0].isa.schemes.exclude(pk__in=selected.values("pk"))
        rows = rows.exclude(experiment__terms__scheme__in=unselected.values("pk"))
    if judge:
        judging = judge.measurements.filter(state=Measurement.State.SETTLED)
        rows = rows.exclude(experiment__in=judging.order_by().values("experiment"))  # not trained on
        return judging.count(), rows.count()
    total = rows.count()
    held_out = round(total * (data["held_out"] or 0))
    return held_out, total - held_out


def _config(form: InferForm, settings: Json, isa: ISA, selected: QuerySet[InstructionScheme]) -> Json:
    data, facts = form.cleaned_data, form.known()
    source: Json
    if data["source"] == "datasets":
        source = {"datasets": [row.pk for row in data["datasets"]]}
    elif data["source"] == "simulate":
        source = {"simulate": data["mapping"].pk, **form.stated(SimulatedSource)}
    else:
        source = {"machine": data["machine"].pk}
    measures_bottleneck = data["source"] == "machine" and data["machine"].kind == Machine.Kind.AGENT
    measures_bottleneck |= form.offer.exact and data["source"] != "datasets"
    measures_bottleneck &= not form.offer.explores
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
    if measures_bottleneck:
        config["bottleneck"] = data["bottleneck"]
    if facts:
        config["known"] = facts
    if data["sample"] is not None:
        config["sample"] = data["sample"]
    if data["selection"] == "filter":
        config["schemes"] = list(selected.order_by("id").values_list("pk", flat=True))
        config["scheme_filter"] = data["filter"]
    return config


def initial_of(run: Run) -> dict[str, Any]:
    """The form's initial values from a run of kind "infer"."""
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
    facts = config.get("known", {})
    initial |= {name: counts_text(facts[name]) for name in ("uops", "widths") if name in facts}
    if "documented" in facts:
        initial["documented"] = ports_text(facts["documented"])
    initial["improper"] = "\n".join(facts.get("improper", ()))
    initial |= {name: source[name] for name in NOISE_OPTIONS if name in source}
    initial |= {SETTING + name: setting_text(value) for name, value in config["settings"].items()}
    return initial
