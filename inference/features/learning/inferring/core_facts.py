"""What is known of a measured core beside its ports, for searches that correct times by what it wastes."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime

from inference.core.core_model import CoreModel
from inference.core.core_model.scheduled_times import ScheduledTimes
from inference.core.waste import WasteSource
from inference.isa.targets import target_of
from inference.models import LatencySet, Machine, MeasuredFrontEnd, StoredCoreModel
from inference.runs.machines.measurer import suited_options
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
