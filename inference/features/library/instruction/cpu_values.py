"""All known CPUs of an instruction set, and what each says about all schemes: for tables of many schemes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from statistics import median

from django.db.models import Max

from inference.core.core_model import CoreModel
from inference.core.experiment import Experiment
from inference.core.mapping import Uops, ports_in
from inference.core.throughput import inverse_throughput
from inference.features.library.gallery.query import recorded_core
from inference.features.library.instruction.cpus import (
    Cpu,
    document_cpus,
    document_model,
    labelled_cpus,
    machine_core_models,
)
from inference.models import (
    ISA,
    LatencySet,
    Machine,
    Measurement,
    PortMapping,
    SchemeLatencies,
    StoredCoreModel,
)
from inference.storage.core_models import core_model_of
from inference.storage.instruction_sets import core_name
from inference.web.validation import RequestError

MAX_TABLE_CPUS = 4
"""CPUs beside each other in a table."""
_SAME_SHARE, _SAME_CYCLES = 0.05, 0.1
"""By how much of the larger, and by how many cycles, two CPUs may differ and count as equal."""


@dataclass(frozen=True, slots=True)
class SchemeOnCpu:
    """A scheme on a CPU; None for unknown numbers.

    Attributes:
        is_measured: The cycles are of one instance alone.
        latency: Latency in cycles, of the slowest pair of operands; a bound where `is_bound`.
    """

    uops: Uops | None = None
    cycles: float | None = None
    is_measured: bool = False
    least_latency: float | None = None
    latency: float | None = None
    is_bound: bool = False


NOTHING_KNOWN = SchemeOnCpu()


@dataclass(frozen=True)
class CpuColumn:
    """A CPU with {scheme text: what it says}."""

    cpu: Cpu
    values: Mapping[str, SchemeOnCpu]

    def schemes_on(self, port: str) -> set[str]:
        """The schemes with a µop for a port, by its name or its label."""
        places = {place for place, name in enumerate(self.cpu.ports) if name == port}
        places |= {place for place, label in enumerate(self.cpu.port_labels) if label == port}
        return {
            text
            for text, value in self.values.items()
            if any(places & set(ports_in(mask)) for mask, _ in value.uops or ())
        }


def table_cpus(isa: ISA) -> list[Cpu]:
    """All known CPUs: this computer first, other machines, recorded cores, imported models and mappings."""
    newest = machine_core_models(isa)
    cpus = []
    machines = Machine.objects.filter(isa=isa).exclude(mappings=None, latency_sets=None)
    for machine in machines.select_related("isa").distinct():
        core_model = newest.get(machine.pk)
        inferred = machine.mappings.exclude(origin=PortMapping.Origin.IMPORT).order_by("-pk")
        mapping = inferred.first() if core_model is None else core_model.mapping
        name = core_name(machine)
        cpus.append(Cpu(f"m{machine.pk}", machine.name, name, machine, mapping, 0, core_model=core_model))
    cpus.sort(key=lambda cpu: (cpu.machine is None or not cpu.machine.local, cpu.core_model is None))
    cpus += sorted(document_cpus(isa), key=lambda cpu: not cpu.is_recorded)
    imported = PortMapping.objects.filter(isa=isa, origin=PortMapping.Origin.IMPORT).defer("report")
    cpus += [Cpu(f"p{row.pk}", row.name, "", None, row, 0) for row in imported.order_by("-pk")]
    return cpus


def chosen_cpus(cpus: Sequence[Cpu], keys: Sequence[str]) -> list[Cpu]:
    """The CPUs with these keys. Raises `RequestError` for an unknown one, and for too many."""
    by_key = {cpu.key: cpu for cpu in cpus}
    if unknown := [key for key in keys if key not in by_key]:
        right = ", ".join(f"{key} ({cpu.label})" for key, cpu in by_key.items()) or "none"
        raise RequestError("cpus", f"there is no CPU {unknown[0][:40]!r}", right)
    if len(keys) > MAX_TABLE_CPUS:
        raise RequestError("cpus", f"{len(keys)} CPUs", f"at most {MAX_TABLE_CPUS}")
    return [by_key[key] for key in dict.fromkeys(keys)]


def columns_of(isa: ISA, cpus: Sequence[Cpu]) -> list[CpuColumn]:
    """The columns of CPUs; their values are cached until a CPU has new results."""
    return [CpuColumn(cpu, _cached_values(isa.pk, *_identity(cpu))) for cpu in labelled_cpus(cpus)]


def differing_schemes(columns: Sequence[CpuColumn]) -> set[str]:
    """The schemes of which two columns know different cycles or latencies."""
    texts = {text for column in columns for text in column.values}
    return {
        text
        for text in texts
        if _differ([column.values.get(text, NOTHING_KNOWN).cycles for column in columns])
        or _differ([column.values.get(text, NOTHING_KNOWN).latency for column in columns])
    }


def _differ(numbers: Sequence[float | None]) -> bool:
    values = [number for number in numbers if number is not None]
    return len(values) > 1 and max(values) - min(values) > max(_SAME_CYCLES, _SAME_SHARE * max(values))


def _identity(cpu: Cpu) -> tuple[str, int | None, int | None, datetime | None, int | None, int | None]:
    """What the values of a CPU depend on: (name of a recorded core, document, its time, …)."""
    row = cpu.core_model
    if cpu.document is not None and row is not None:
        return row.name if row.pk is None else "", row.pk, None, row.created, None, None
    machine = None if cpu.machine is None else cpu.machine.pk
    mapping = None if cpu.mapping is None else cpu.mapping.pk
    latencies = None if row is None else row.latencies_id
    if row is None and machine is not None:
        latencies = LatencySet.objects.filter(machine=machine).aggregate(newest=Max("pk"))["newest"]
    return "", mapping, latencies, None, machine, _newest_measurement(machine)


def _newest_measurement(machine: int | None) -> int | None:
    if machine is None:
        return None
    rows = Measurement.objects.filter(experiment_set__machine=machine, experiment__length=1)
    newest: int | None = rows.aggregate(newest=Max("pk"))["newest"]
    return newest


@lru_cache(maxsize=16)
def _cached_values(
    isa: int,
    recorded: str,
    row: int | None,
    latencies: int | None,
    created: datetime | None,
    machine: int | None,
    _newest: int | None,
) -> Mapping[str, SchemeOnCpu]:
    core = recorded_core(recorded) if recorded else None
    if core is not None:
        return _values(document_model(core.row), {})
    if created is not None and row is not None:
        return _values(document_model(StoredCoreModel.objects.get(pk=row)), {})
    parts = StoredCoreModel(isa=ISA.objects.get(pk=isa), mapping_id=row, latencies_id=latencies)
    values = _values(core_model_of(parts), {} if machine is None else _measured_alone(isa, machine))
    # A core model has the latencies of the quickest operand values, the set those of all.
    rows = SchemeLatencies.objects.filter(latency_set=latencies, least__isnull=False)
    for text, lowest, highest in rows.values_list("scheme__text", "least", "most"):
        values[text] = replace(
            values.get(text, NOTHING_KNOWN), least_latency=lowest, latency=highest, is_bound=False
        )
    return values


def _measured_alone(isa: int, machine: int) -> dict[str, float]:
    """{scheme: median cycles of one instance}, of settled measurements."""
    rows = Measurement.objects.filter(
        experiment_set__machine=machine, experiment__length=1, state=Measurement.State.SETTLED
    )
    times: defaultdict[str, list[float]] = defaultdict(list)
    for text, cycles in rows.filter(cycles__isnull=False, experiment__isa=isa).values_list(
        "experiment__terms__scheme__text", "cycles"
    ):
        if cycles is not None:
            times[text].append(cycles)
    return {text: median(values) for text, values in times.items()}


def _values(model: CoreModel, alone: Mapping[str, float]) -> dict[str, SchemeOnCpu]:
    usage = {} if model.mapping is None else model.mapping.usage
    alone = {**model.alone, **alone}
    return {text: _value(model, text, alone.get(text)) for text in sorted({*usage, *model.latencies, *alone})}


def _value(model: CoreModel, text: str, alone: float | None) -> SchemeOnCpu:
    cycles, uops = alone, None
    if model.mapping is not None and text in model.mapping.usage:
        uops = model.mapping.usage[text]
        if cycles is None:
            cycles = inverse_throughput(model.mapping, Experiment.of([text]))
    bases = model.bases.get(text, {})
    times = {ends: time for ends, time in model.latencies.get(text, {}).items() if time is not None}
    exact = [time for ends, time in times.items() if ends not in bases]
    candidates = exact or list(times.values())
    return SchemeOnCpu(
        uops,
        cycles,
        alone is not None,
        min(exact, default=None),
        max(candidates, default=None),
        bool(candidates) and not exact,
    )
