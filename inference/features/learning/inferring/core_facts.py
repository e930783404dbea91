"""Facts about a core besides its ports: lost cycles, the bottleneck, and which schemes are single µops."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime

from inference.core.bottleneck import Bottleneck
from inference.core.core_model import CoreModel
from inference.core.core_model.scheduled_times import ScheduledTimes
from inference.core.protocols import Json
from inference.core.waste import WasteSource
from inference.isa.targets import target_of
from inference.models import LatencySet, Machine, MeasuredFrontEnd, StoredCoreModel
from inference.runs.machines.measurer import LogText, options_for
from inference.storage.core_models import core_model_of, core_model_of_parts

MAX_PORTS = 20
_LISTED = 5
_SLACK = 1.02  # measured rates may exceed the documented one by this factor


def core_facts(machine: Machine | None, schemes: Collection[str], start_time: datetime) -> WasteSource | None:
    """Lost cycles of a computer, from its measured parts; None for other machines. `start_time`: time of
    measuring.

    Uses the newest core model with latencies, else the newest latencies and the newest front end.
    """
    if machine is None or machine.kind != Machine.Kind.AGENT:
        return None
    target = target_of(machine.isa.name)
    reader = target.accesses
    if reader is None:
        return None
    parsed = [*filter(None, map(target.schemes.scheme_of, schemes))]
    options = options_for(machine, start_time)
    return ScheduledTimes(
        _model(machine, schemes), parsed, lambda experiment: reader.loop_body(experiment.terms, options)
    )


def _model(machine: Machine, schemes: Collection[str]) -> CoreModel:
    row = StoredCoreModel.objects.filter(machine=machine, latencies__isnull=False).order_by("-pk").first()
    if row is not None:
        return core_model_of(row, schemes)
    parts = StoredCoreModel(
        isa=machine.isa,
        machine=machine,
        latencies=LatencySet.objects.filter(machine=machine).order_by("-pk").first(),
        front_end=MeasuredFrontEnd.objects.filter(machine=machine).order_by("-pk").first(),
    )
    return replace(core_model_of_parts(parts, schemes), mapping=None)


def fits_single_uop(cycles: float, epsilon: float) -> bool:
    """Whether a scheme with these cycles alone may be one µop: 1/k cycles for k ports, within ε.

    Several µops, and µops that occupy their port for more than a cycle, take a cycle or more; several µops
    may also lie between two fractions.
    """
    return any(abs(cycles - 1 / ports) <= epsilon for ports in range(1, MAX_PORTS + 1))


def single_uops(alone: Mapping[str, float], epsilon: float, log: LogText) -> list[str]:
    """The schemes among {scheme: cycles alone} that look like one µop; logs the others."""
    excluded = {scheme: cycles for scheme, cycles in alone.items() if not fits_single_uop(cycles, epsilon)}
    if excluded:
        examples = "; ".join(
            f"{scheme} takes {cycles:.3g} cycles" for scheme, cycles in [*excluded.items()][:_LISTED]
        )
        ellipsis = " …" if len(excluded) > _LISTED else ""
        log(f"{len(excluded)} excluded, not a single µop: {examples}{ellipsis}", "warning")
    return [scheme for scheme in alone if scheme not in excluded]


def bottleneck_facts(bottleneck: Bottleneck, documented: float | None, log: LogText) -> Json:
    """The bottleneck for the report and the log. Without a measured one, the documented rate is used.

    The documented rate is rejected if a measured rate exceeds it.
    """
    facts = bottleneck.as_json()
    if bottleneck.r_max is not None:
        log(
            f"bottleneck: {bottleneck.r_max:g} instructions per cycle, seen as {bottleneck.highest:.2f} in "
            f"{bottleneck.experiment} ({bottleneck.experiments} experiments)",
            "info",
        )
    elif documented is not None and bottleneck.highest <= _SLACK * documented:
        facts["r_max"] = facts["documented"] = documented
        log(
            f"no bottleneck besides the ports: at most {bottleneck.highest:.2f} instructions per cycle; "
            f"the documented one of this core is used, {documented:g}",
            "info",
        )
    else:
        log(
            f"no bottleneck besides the ports: {bottleneck.highest:.2f} instructions per cycle at "
            "most, which the ports may explain; none is modelled",
            "info",
        )
    if bottleneck.warning:
        log(bottleneck.warning, "warning")
    return facts
