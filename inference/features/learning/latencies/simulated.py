"""Machines that the site simulates from a port mapping."""

from __future__ import annotations

from inference.core.protocols import Json
from inference.formats.mapping_json import write_mapping_json
from inference.models import Machine, PortMapping
from inference.storage.mappings import load_mapping
from inference.storage.names import free_name


def simulated_machine_of(row: PortMapping, facts: Json) -> Machine:
    """The machine that behaves as a mapping says, with further facts: its noise, its seed.

    The same mapping with the same facts is the same machine.
    """
    document = write_mapping_json(load_mapping(row), name=row.name, isa=row.isa.name)
    known = {"mapping": document, **facts}
    for machine in Machine.objects.filter(kind=Machine.Kind.SIMULATED, isa=row.isa).order_by("pk"):
        if machine.facts == known:
            return machine
    name = free_name(Machine, f"{row.name}, simulated")
    return Machine.objects.create(name=name, kind=Machine.Kind.SIMULATED, isa=row.isa, facts=known)
