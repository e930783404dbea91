"""The machine that a run's description names."""

from __future__ import annotations

from inference.models import Machine
from inference.runs.described_rows import read_row
from inference.runs.errors import ConfigError
from inference.runs.machines.facts import obstacle_to_measuring


def read_machine(field: str, pk: object) -> Machine:
    """A machine that can be asked for measurements. Raises `ConfigError`."""
    machine = read_row(Machine, f"{field} machine".strip(), pk)
    if reason := obstacle_to_measuring(machine):
        raise ConfigError(f"{field or 'machine'}: {reason}")
    return machine
