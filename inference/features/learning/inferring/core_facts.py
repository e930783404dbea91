"""What is known of a measured core beside its ports, for searches that correct times by what it wastes."""

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
from inference.runs.machines.measurer import LogText, suited_options
from inference.storage.core_models import core_model_of, core_model_of_parts


def core_facts(machine: Machine | None, schemes: Collection[str], begun: datetime) -> WasteSource | None:
    """Of a computer whose loop bodies are made here; None for others. `begun`: when measuring was.

    The newest core model with latencies counts, else the newest latencies and the newest front end.
    """
    if machine is None or machine.kind != Machine.Kind.AGENT:
        return None
    target = target_of(machine.isa.name)
    reader = target.accesses
    if reader is None:
        return None
    known = [*filter(None, map(target.schemes.scheme_of, schemes))]
    options = suited_options(machine, begun)
    return ScheduledTimes(
        _model(machine, schemes), known, lambda experiment: reader.loop_body(experiment.terms, options)
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


MOST_PORTS = 20
_SHOWN = 5
_SLACK = 1.02  # a rate that was measured may be as much above the documented one


def like_one_uop(cycles: float, epsilon: float) -> bool:
    """Whether a scheme that takes so long alone may be one µop: 1/k cycles for k ports, but for ε.

    More µops, and µops that keep their port busy for longer than a cycle, take a cycle or more; more µops
    may also end up between two fractions.
    """
    return any(abs(cycles - 1 / ports) <= epsilon for ports in range(1, MOST_PORTS + 1))


def single_uops(alone: Mapping[str, float], epsilon: float, log: LogText) -> list[str]:
    """Of probes measured alone, {scheme: cycles}, those that look like one µop; the log names the others."""
    others = {scheme: cycles for scheme, cycles in alone.items() if not like_one_uop(cycles, epsilon)}
    if others:
        shown = "; ".join(
            f"{scheme} takes {cycles:.3g} cycles" for scheme, cycles in [*others.items()][:_SHOWN]
        )
        more = " …" if len(others) > _SHOWN else ""
        log(f"{len(others)} left out, not like a single µop: {shown}{more}", "warning")
    return [scheme for scheme in alone if scheme not in others]


def bottleneck_facts(found: Bottleneck, documented: float | None, log: LogText) -> Json:
    """What was found, for the report and the log; a documented rate stands in where none was seen.

    It only does so if nothing exceeded it.
    """
    facts = found.as_json()
    if found.r_max is not None:
        log(
            f"bottleneck: {found.r_max:g} instructions per cycle, seen as {found.highest:.2f} in "
            f"{found.experiment} ({found.experiments} experiments)",
            "info",
        )
    elif documented is not None and found.highest <= _SLACK * documented:
        facts["r_max"] = facts["documented"] = documented
        log(
            f"no bottleneck beside the ports was seen ({found.highest:.2f} instructions per cycle at most); "
            f"the documented one of this core is used, {documented:g}",
            "info",
        )
    else:
        log(
            f"no bottleneck beside the ports was seen: {found.highest:.2f} instructions per cycle at "
            "most, which the ports may explain, so none is modelled",
            "info",
        )
    if found.warning:
        log(found.warning, "warning")
    return facts
