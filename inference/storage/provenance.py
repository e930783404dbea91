"""What is known of where a row comes from, as the heads of its exports say it."""

from __future__ import annotations

from collections.abc import Sequence

from inference.core.protocols import Json
from inference.formats.provenance import CITATION, EXPLAINABLE, PMEVO, Provenance
from inference.models import ExperimentSet, PortMapping, ResourceMapping
from inference.storage import characterisations, evidence


def provenance_of(row: PortMapping | ResourceMapping | ExperimentSet) -> Provenance:
    """What is known of a row."""
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
    """The paper of the algorithm that found a mapping."""
    if characterisations.KEY in report:
        return (EXPLAINABLE,)
    if isinstance(row, PortMapping) and evidence.KEY not in report and "PMEvo" in f"{row.source} {row.name}":
        return (PMEVO,)
    return ()
