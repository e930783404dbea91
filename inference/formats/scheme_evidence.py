"""What a mapping's word on a scheme rests on, as far as an export can say it in a line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

from django.db.models import Count, Q, QuerySet

from inference.models import ExperimentSet, Measurement, PortMapping


@dataclass(frozen=True)
class SchemeEvidence:
    """`measured`: cycles of one instance alone, `counted` its µops, None where nobody measured or counted.

    `witnesses`: how many pairs of experiments prove its µops. `doubts` in words.
    """

    measured: float | None = None
    counted: float | None = None
    witnesses: int = 0
    doubts: tuple[str, ...] = ()


NOTHING = SchemeEvidence()


def evidence_of(row: PortMapping) -> dict[str, SchemeEvidence]:
    """{scheme text: evidence} of the schemes that something is known of.

    Cycles are those of the verdict, else the median over the sets that belong to the mapping: measured on its
    machine, or learnt from by its run. Other machines' numbers say nothing about it.
    """
    alone = _alone(row)
    counted = row.characterisations.annotate(number=Count("witnesses")).values_list(
        "scheme__text", "cycles", "counted", "number", "doubts"
    )
    found = {text: SchemeEvidence(measured=cycles) for text, cycles in alone.items()}
    for text, cycles, uops, number, doubts in counted:
        measured = alone.get(text) if cycles is None else cycles
        found[text] = SchemeEvidence(measured, uops, number, tuple(map(str, doubts)))
    return found


def _alone(row: PortMapping) -> Mapping[str, float]:
    measured = Measurement.objects.filter(
        experiment_set__in=own_sets(row), experiment__length=1, state=Measurement.State.SETTLED
    )
    cycles: dict[str, list[float]] = defaultdict(list)
    for text, value in measured.values_list("experiment__terms__scheme__text", "cycles"):
        cycles[text].append(value)
    return {text: median(values) for text, values in cycles.items()}


def own_sets(row: PortMapping) -> QuerySet[ExperimentSet]:
    """The sets that belong to a mapping: measured on its machine, or, without one, learnt from by its run."""
    if row.machine_id is not None:
        return ExperimentSet.objects.filter(isa=row.isa_id, machine=row.machine_id)
    source = {} if row.run is None else row.run.config.get("source")
    learnt = source.get("datasets", ()) if isinstance(source, dict) else ()
    return ExperimentSet.objects.filter(
        Q(run__isnull=False, run=row.run_id) | Q(pk__in=learnt), isa=row.isa_id
    )
