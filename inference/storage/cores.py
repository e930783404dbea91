"""Which core a machine has, by what its agent says."""

from __future__ import annotations

from inference.isa.aarch64.microarchitectures import arm_microarchitecture
from inference.isa.x86.microarchitectures import Microarchitecture, microarchitecture
from inference.models import Machine
from inference.storage.instruction_sets import AARCH64


def core_of(machine: Machine) -> Microarchitecture | None:
    """What is documented about the core of a machine, None where it is not known."""
    facts = machine.facts
    if machine.isa.name == AARCH64:
        return arm_microarchitecture(facts.get("implementer"), facts.get("part"))
    if not all(type(facts.get(key)) is int for key in ("family", "model")):
        return None
    kind = str(facts.get("core_type") or "")
    return microarchitecture(str(facts.get("vendor", "")), facts["family"], facts["model"], kind)
