"""Loads rows as the values from which `formats.exports` writes files: µops, evidence and provenance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from django.db.models import Count

from inference.core.experiment import Experiment
from inference.core.mapping import hidden_in, hidden_kinds
from inference.core.protocols import Json
from inference.core.throughput import inverse_throughput
from inference.formats.exports import NO_EVIDENCE, ExportedMapping, ExportedScheme, SchemeEvidence
from inference.formats.provenance import CITATION, EXPLAINABLE, PMEVO, Provenance
from inference.isa.microarchitecture import NO_NAMES, TOOL_NAMES, ToolNames
from inference.models import ExperimentSet, Machine, Measurement, PortMapping, ResourceMapping
from inference.storage import characterisations, evidence
from inference.storage.instruction_sets import core_of
from inference.storage.judging import conflicts_of
from inference.storage.mappings import load_mapping
from inference.storage.singletons import own_sets, settled_medians


def evidence_of(row: PortMapping) -> dict[str, SchemeEvidence]:
    """{scheme: evidence}, of schemes with any.

    Cycles are those of the verdict, else the median over the mapping's own sets (`own_sets`). Numbers of
    other machines are not used.
    """
    alone = _alone(row)
    verdicts = row.characterisations.annotate(number=Count("witnesses")).values_list(
        "scheme__text", "cycles", "counted", "number", "doubts"
    )
    evidence = {text: SchemeEvidence(measured=cycles) for text, cycles in alone.items()}
    for text, cycles, uops, number, doubts in verdicts:
        measured = alone.get(text) if cycles is None else cycles
        evidence[text] = SchemeEvidence(measured, uops, number, tuple(map(str, doubts)))
    for (_, text), conflicts in conflicts_of([row.pk]).items():
        words = tuple(conflict.words for conflict in conflicts)
        evidence[text] = replace(evidence.get(text, NO_EVIDENCE), conflicts=words)
    return evidence


def _alone(row: PortMapping) -> Mapping[str, float]:
    measured = Measurement.objects.filter(experiment_set__in=own_sets(row), experiment__length=1)
    return settled_medians(measured, "experiment__terms__scheme__text")


def exported_mapping(row: PortMapping) -> ExportedMapping:
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
            evidence.get(text, NO_EVIDENCE),
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
    """Other tools' names of a machine's core; empty where the core is unknown."""
    core = None if machine is None else core_of(machine)
    return NO_NAMES if core is None else TOOL_NAMES.get(core.name, NO_NAMES)


def provenance_of(row: PortMapping | ResourceMapping | ExperimentSet) -> Provenance:
    """Provenance of a row: name, instruction set, machine, source, run, date, note, and the paper to cite."""
    facts = [
        (str(row._meta.verbose_name), row.name),
        ("instruction set", row.isa.name),
        ("machine", _machine(row)),
        ("source", row.source),
        ("origin", row.get_origin_display() if hasattr(row, "get_origin_display") else ""),
        ("run", _run(row)),
        ("created", row.created.date().isoformat()),
        ("note", row.note),
    ]
    report = row.report if isinstance(row, PortMapping) else {}
    return Provenance(
        tuple((label, text) for label, text in facts if text), (CITATION, *_papers(row, report))
    )


def _machine(row: PortMapping | ResourceMapping | ExperimentSet) -> str:
    machine = getattr(row, "machine", None)
    return "" if machine is None else f"{machine.name} ({machine.cpu})" if machine.cpu else machine.name


def _run(row: PortMapping | ResourceMapping | ExperimentSet) -> str:
    run = getattr(row, "run", None)
    return "" if run is None else f"{run.name} (number {run.pk})"


def _papers(row: PortMapping | ResourceMapping | ExperimentSet, report: Json) -> Sequence[str]:
    """The paper of the algorithm that found a mapping; () where unknown."""
    if characterisations.KEY in report:
        return (EXPLAINABLE,)
    if isinstance(row, PortMapping) and evidence.KEY not in report and "PMEvo" in f"{row.source} {row.name}":
        return (PMEVO,)
    return ()
