"""Machines that are simulated by the site itself, from the port mapping that they keep."""

from __future__ import annotations

import json

from inference.core.mapping import PortMapping
from inference.formats.parsing import AnyNames, parse
from inference.measuring.simulated import NOISE, OF_BLOCKS, SimulatedProcessor
from inference.models import Machine
from inference.runs.errors import JobError


def simulated_machine(machine: Machine) -> tuple[SimulatedProcessor, set[str]]:
    """The machine as a measurer, and the schemes it knows. Raises `JobError`."""
    mapping = _truth(machine)
    noise = {name: machine.facts[name] for name in (*NOISE, *OF_BLOCKS) if name in machine.facts}
    return SimulatedProcessor(mapping, seed=machine.facts.get("seed", 0), **noise), known_schemes(mapping)


def known_schemes(mapping: PortMapping) -> set[str]:
    """The schemes that a processor of this mapping takes any time for."""
    return {scheme for scheme, uops in mapping.usage.items() if uops}


def _truth(machine: Machine) -> PortMapping:
    """The port mapping that the machine keeps as a document of the exchange."""
    document = json.dumps(machine.facts.get("mapping")).encode()
    parsed = parse(document, f"the mapping of {machine.name}", AnyNames())
    if parsed.mapping is None:
        raise JobError("; ".join(parsed.lines()) or f"the machine {machine.name!r} has no port mapping")
    return parsed.mapping
