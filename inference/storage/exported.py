"""Stored port mappings and core models as the values that exports for other tools are written from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from django.db.models import Count, Q, QuerySet

from inference.core.experiment import Experiment
from inference.core.mapping import hidden_in, hidden_kinds
from inference.core.throughput import inverse_throughput
from inference.formats.exported import NOTHING, ExportedMapping, ExportedScheme, SchemeEvidence
from inference.isa.tool_names import NO_NAMES, TOOL_NAMES, ToolNames
from inference.models import ExperimentSet, Machine, Measurement
from inference.models import PortMapping as PortMappingRow
from inference.storage.instruction_sets import core_of
from inference.storage.judging import conflicts_of
from inference.storage.provenance import provenance_of
from inference.storage.recorded import settled_medians
from inference.storage.rows import load_mapping


def evidence_of(row: PortMappingRow) -> dict[str, SchemeEvidence]:
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
    for (_, text), conflicts in conflicts_of([row.pk]).items():
        words = tuple(each.words for each in conflicts)
        found[text] = replace(found.get(text, NOTHING), conflicts=words)
    return found


def _alone(row: PortMappingRow) -> Mapping[str, float]:
    measured = Measurement.objects.filter(experiment_set__in=own_sets(row), experiment__length=1)
    return settled_medians(measured, "experiment__terms__scheme__text")


def own_sets(row: PortMappingRow) -> QuerySet[ExperimentSet]:
    """The sets that belong to a mapping: measured on its machine, or, without one, learnt from by its run."""
    if row.machine_id is not None:
        return ExperimentSet.objects.filter(isa=row.isa_id, machine=row.machine_id)
    source = {} if row.run is None else row.run.config.get("source")
    learnt = source.get("datasets", ()) if isinstance(source, dict) else ()
    return ExperimentSet.objects.filter(
        Q(run__isnull=False, run=row.run_id) | Q(pk__in=learnt), isa=row.isa_id
    )


def exported(row: PortMappingRow) -> ExportedMapping:
    """The mapping of a row, its schemes in the order of the instruction set (seven queries)."""
    value = load_mapping(row)
    evidence = evidence_of(row)
    hidden = hidden_kinds(value)
    rows = row.isa.schemes.filter(pk__in=row.usages.values("scheme")).order_by("pk")
    schemes = tuple(
        ExportedScheme(
            text,
            mnemonic,
            operands,
            extension,
            category,
            value.usage[text],
            inverse_throughput(value, Experiment.of([text])),
            evidence.get(text, NOTHING),
            value.slots_of(text),
            hidden_in(value, text, hidden),
        )
        for text, mnemonic, operands, extension, category in rows.values_list(
            "text", "mnemonic", "operands", "extension", "category"
        )
    )
    tools = tool_names_of(row.machine)
    return ExportedMapping(row.name, row.isa.name, value, schemes, provenance_of(row), tools)


def tool_names_of(machine: Machine | None) -> ToolNames:
    """What tools call the core of a machine; nothing where it is not known."""
    core = None if machine is None else core_of(machine)
    return NO_NAMES if core is None else TOOL_NAMES.get(core.name, NO_NAMES)
