"""The CPUs that a loop can be explained for: the core models, and the recorded ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from inference.features.learning.core_model.query import usable_core_models
from inference.features.library.gallery.query import recorded_cores
from inference.isa.targets import DEFAULT
from inference.models import Machine, StoredCoreModel
from inference.storage.instruction_sets import code_isa, core_of

MAX_CPUS = 100


@dataclass(frozen=True)
class LoopCpu:
    """A core model as a CPU to choose; `name` is the core model's and unique.

    `is_here`: measured on the computer that the site runs on. `is_recorded`: it comes with the software, and
    `row` is not in the database.
    """

    name: str
    label: str
    row: StoredCoreModel
    is_here: bool = False
    is_recorded: bool = False


def cpus(isa: str = DEFAULT) -> list[LoopCpu]:
    """The CPUs of an instruction set: those of this computer, others, the recorded ones (one query)."""
    rows = usable_core_models().select_related("machine__isa", "isa")[:MAX_CPUS]
    measured = _with_distinct_labels([_cpu(row) for row in rows if code_isa(row.isa) == isa])
    measured.sort(key=lambda cpu: not cpu.is_here)
    measured_names = {cpu.name for cpu in measured}
    return [
        *measured,
        *(
            LoopCpu(core.name, core.label, core.row, is_recorded=True)
            for core in recorded_cores()
            if core.isa == isa and core.name not in measured_names
        ),
    ]


def chosen_cpu(choices: Sequence[LoopCpu], name: str) -> LoopCpu | None:
    """The CPU of this name; for "" the first one. None where there is none."""
    return next((cpu for cpu in choices if name in ("", cpu.name)), None)


def _cpu(row: StoredCoreModel) -> LoopCpu:
    machine = row.machine
    if machine is None:
        return LoopCpu(row.name, f"{row.name}, imported", row)
    core = core_of(machine)
    cpu = core.name if core is not None else machine.cpu or machine.name
    where = "this computer" if machine.local else machine.name
    if machine.kind == Machine.Kind.SIMULATED:
        where = f"{machine.name}, simulated"
    return LoopCpu(row.name, f"{cpu}, {where}", row, is_here=machine.local)


def _with_distinct_labels(choices: Sequence[LoopCpu]) -> list[LoopCpu]:
    """With the core model's name behind labels that occur twice."""
    counts = Counter(cpu.label for cpu in choices)
    return [
        cpu if counts[cpu.label] == 1 else replace(cpu, label=f"{cpu.label}: {cpu.name}") for cpu in choices
    ]
