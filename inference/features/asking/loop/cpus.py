"""The CPUs that a loop can be explained for: the core models, and the recorded ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from inference.features.learning.core_model.query import usable_core_models
from inference.features.library.gallery.query import RecordedCore, recorded_cores
from inference.isa.blocks import DETECTED
from inference.isa.targets import DEFAULT
from inference.models import StoredCoreModel
from inference.storage.instruction_sets import code_isa
from inference.storage.names import machine_label

MAX_CPUS = 100


@dataclass(frozen=True)
class LoopCpu:
    """A core model as a CPU to choose; `name` is the core model's and unique.

    Attributes:
        core: A row of the database, or a core that comes with the software.
        is_here: Measured on the computer that the site runs on.
    """

    name: str
    label: str
    core: StoredCoreModel | RecordedCore
    is_here: bool = False

    @property
    def row(self) -> StoredCoreModel:
        """The core model; that of a recorded core is not in the database, and its document is read here."""
        return self.core.row if isinstance(self.core, RecordedCore) else self.core

    @property
    def isa(self) -> str:
        """The instruction set of the code that it executes."""
        return self.core.isa if isinstance(self.core, RecordedCore) else code_isa(self.core.isa)

    @property
    def is_recorded(self) -> bool:
        return isinstance(self.core, RecordedCore)


def cpus(isa: str = DETECTED) -> list[LoopCpu]:
    """The CPUs of an instruction set, or of all: those of this computer, others, the recorded ones.

    One query. Of all sets, the CPUs of `DEFAULT` come first.
    """
    rows = usable_core_models()[:MAX_CPUS]
    measured = _with_distinct_labels([_cpu(row) for row in rows])
    measured.sort(key=lambda cpu: not cpu.is_here)
    measured_names = {cpu.name for cpu in measured}
    recorded = (
        LoopCpu(core.name, core.label, core) for core in recorded_cores() if core.name not in measured_names
    )
    choices = [cpu for cpu in (*measured, *recorded) if isa in (DETECTED, cpu.isa)]
    return sorted(choices, key=lambda cpu: cpu.isa != DEFAULT)


def chosen_cpu(choices: Sequence[LoopCpu], name: str) -> LoopCpu | None:
    """The CPU of this name; for "" the first one. None where there is none."""
    return next((cpu for cpu in choices if name in ("", cpu.name)), None)


def _cpu(row: StoredCoreModel) -> LoopCpu:
    if row.machine is None:
        return LoopCpu(row.name, f"{row.name}, imported", row)
    return LoopCpu(row.name, machine_label(row.machine), row, is_here=row.machine.local)


def _with_distinct_labels(choices: Sequence[LoopCpu]) -> list[LoopCpu]:
    """With the core model's name behind labels that occur twice."""
    counts = Counter(cpu.label for cpu in choices)
    return [
        cpu if counts[cpu.label] == 1 else replace(cpu, label=f"{cpu.label}: {cpu.name}") for cpu in choices
    ]
