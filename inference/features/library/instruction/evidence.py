"""What was measured and concluded of the forms of an instruction, on all machines (five queries)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from django.db.models import Count

from inference.core.protocols import Json
from inference.features.library.instruction.cells import AloneTime, FormLatency
from inference.models import (
    Characterisation,
    InstructionScheme,
    Measurement,
    PortMapping,
    SchemeLatencies,
)


@dataclass(frozen=True)
class FormEvidence:
    """By machine and scheme: times alone and latencies; by mapping and scheme: verdicts with their witnesses.

    `by_set`: times alone in the sets without a machine, by set. `sets_of_run`: which of these a run made.
    """

    alone: Mapping[tuple[int, int], AloneTime]
    by_set: Mapping[tuple[int, int], AloneTime]
    sets_of_run: Mapping[int, Sequence[int]]
    latencies: Mapping[tuple[int, int], FormLatency]
    verdicts: Mapping[tuple[int, int], tuple[Characterisation, int]]

    @property
    def machines(self) -> set[int]:
        """Those on which anything was measured."""
        return {machine for machine, _ in (*self.alone, *self.latencies)}

    def forms_on(self, machine: int) -> int:
        """How many forms were measured on a machine."""
        return len({scheme for each, scheme in (*self.alone, *self.latencies) if each == machine})

    def alone_for(self, mapping: PortMapping, scheme: int) -> AloneTime | None:
        """One instance in the sets that a mapping without a machine was learnt from."""
        if mapping.run is None:
            return None
        source = mapping.run.config.get("source")
        learnt = source.get("datasets", ()) if isinstance(source, dict) else ()
        sets = (*self.sets_of_run.get(mapping.run.pk, ()), *learnt)
        return next((self.by_set[one, scheme] for one in sets if (one, scheme) in self.by_set), None)


def evidence_about(schemes: Sequence[InstructionScheme]) -> FormEvidence:
    """All of it for some schemes of one instruction set."""
    readings: defaultdict[tuple[int | None, int, int], list[tuple[float, int]]] = defaultdict(list)
    sets_of_run: defaultdict[int, list[int]] = defaultdict(list)
    for machine, one_set, run, scheme, experiment, cycles in _alone_rows(schemes):
        readings[machine, 0 if machine else one_set, scheme].append((cycles, experiment))
        if machine is None and run is not None and one_set not in sets_of_run[run]:
            sets_of_run[run].append(one_set)
    alone, by_set = {}, {}
    for (machine, one_set, scheme), found in readings.items():
        time = AloneTime(median(cycles for cycles, _ in found), found[0][1])
        if machine is None:
            by_set[one_set, scheme] = time
        else:
            alone[machine, scheme] = time
    return FormEvidence(alone, by_set, sets_of_run, _latencies(schemes), _verdicts(schemes))


def _alone_rows(
    schemes: Sequence[InstructionScheme],
) -> Iterable[tuple[int | None, int, int | None, int, int, float]]:
    keys = {f"{scheme.pk}:1": scheme.pk for scheme in schemes}
    rows = Measurement.objects.filter(
        experiment__isa=schemes[0].isa_id,
        experiment__key__in=list(keys),
        state=Measurement.State.SETTLED,
        cycles__isnull=False,
    ).order_by("id")
    columns = ("experiment_set__machine", "experiment_set", "experiment_set__run", "experiment__key")
    for machine, one_set, run, key, experiment, cycles in rows.values_list(
        *columns, "experiment_id", "cycles"
    ):
        yield machine, one_set, run, keys[key], experiment, cycles


def _latencies(schemes: Sequence[InstructionScheme]) -> dict[tuple[int, int], FormLatency]:
    """The newest set of each machine that has the scheme."""
    rows = SchemeLatencies.objects.filter(scheme__in=schemes).select_related("latency_set")
    rows = rows.defer("chains", "latency_set__readings", "latency_set__memory").order_by("latency_set_id")
    return {
        (row.latency_set.machine_id, row.scheme_id): FormLatency(
            row.latency_set, row.least, row.most, _bound(row.pairs), row.pairs
        )
        for row in rows
    }


def _bound(pairs: Sequence[Json]) -> float | None:
    bounds = [pair["at_most"] for pair in pairs if pair["at_most"] is not None]
    return max(bounds, default=None)


def _verdicts(
    schemes: Sequence[InstructionScheme],
) -> dict[tuple[int, int], tuple[Characterisation, int]]:
    rows = Characterisation.objects.filter(scheme__in=schemes).annotate(number=Count("witnesses"))
    return {(row.mapping_id, row.scheme_id): (row, row.number) for row in rows}
