"""The machine that a run's description names."""

from __future__ import annotations

from inference.isa.bodies import obstacle_to_blocks
from inference.models import Machine
from inference.runs.described_rows import read_row
from inference.runs.errors import ConfigError
from inference.runs.machines.facts import obstacle_to_measuring


def read_machine(field: str, pk: object, isa: str = "") -> Machine:
    """A machine that can be asked for measurements, of the instruction set `isa` ("": of any).

    Raises `ConfigError`.
    """
    machine = read_row(Machine, f"{field} machine".strip(), pk)
    if reason := obstacle_to_measuring(machine):
        raise ConfigError(f"{field or 'machine'}: {reason}")
    if isa not in ("", machine.isa.name):
        raise ConfigError(f"isa is {isa!r}, but the machine is for {machine.isa.name!r}")
    return machine


def read_block_machine(pk: object) -> Machine:
    """A machine that can be asked for measurements of basic blocks. Raises `ConfigError`."""
    machine = read_machine("", pk)
    if reason := obstacle_to_blocks(machine.name, machine.isa.name):
        raise ConfigError(reason)
    return machine
