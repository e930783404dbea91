"""Inferences on a machine that one button starts: what they ask for beside what follows from the machine."""

from __future__ import annotations

from inference.core.protocols import Json
from inference.models import Machine
from inference.models.scheme_search import PROBE_SELECTION

POPULATION = 1000
MIXES = 60  # to judge by: a second or two, not half a minute


def starter_inference(machine: Machine) -> Json:
    """PMEvo on the starter set; what is not said here follows from the machine, its number of ports too.

    With so few schemes a larger population costs half a minute and predicts clearly better.
    """
    return {
        "algorithm": "pmevo",
        "isa": machine.isa.name,
        "source": {"machine": machine.pk},
        "schemes": "starter",
        "bottleneck": True,
        "settings": {"population": POPULATION},
    }


def search_for_ports(machine: Machine) -> Json:
    """Counter-examples on the probes: ports are searched for, R_max is measured."""
    return {
        "algorithm": "cegar",
        "isa": machine.isa.name,
        "source": {"machine": machine.pk},
        "schemes": PROBE_SELECTION,
        "bottleneck": True,
        "mixes": MIXES,
    }
