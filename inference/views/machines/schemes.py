"""Which schemes the forms offer for a machine."""

from __future__ import annotations

from django.db.models import QuerySet

from inference.models import InstructionScheme, Machine
from inference.runs.jobs.machine_facts import executable_schemes


def measurable_schemes(machine: Machine) -> QuerySet[InstructionScheme]:
    """Those of its mapping for a simulated machine; for a computer those that its CPU seems to have."""
    if machine.kind == Machine.Kind.SIMULATED:
        return machine.isa.schemes.filter(text__in=list(machine.facts["mapping"]["usage"]))
    return executable_schemes(machine)
