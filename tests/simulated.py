"""Machines that the site simulates."""

from __future__ import annotations

from inference.core.mapping import PortMapping
from inference.formats.mapping_json import write_mapping_json
from inference.models import ISA, Machine


def simulated_machine(isa: ISA, truth: PortMapping, name: str = "sim", **facts: object) -> Machine:
    """A machine that answers as the mapping says; further facts are, for example, its noise."""
    document = write_mapping_json(truth, name="truth", isa=isa.name)
    return Machine.objects.create(name=name, kind="simulated", isa=isa, facts={"mapping": document, **facts})
