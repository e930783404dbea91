"""What measurements contradict in LLVM's scheduling model, opcode by opcode, gathered by scheduling class.

Only what is off by more than measurements are is changed: latencies by more than half a cycle, since LLVM
has whole numbers; throughputs by more than 15 % and 0.15 cycles. µops are compared of instructions without
memory alone, since LLVM's models count those with memory in several ways. A latency through memory is another
thing to LLVM, and eliminated moves are described elsewhere: both stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any

from inference.formats.exported import ExportedScheme
from inference.formats.exported_core import ExportedCore
from inference.formats.llvm_patch.shipped import OpcodeClass, ShippedModel, WriteCosts
from inference.formats.llvm_td import plainest_by_opcode

LATENCY_NOISE = 0.6
THROUGHPUT_NOISE = 0.15
"""Cycles, and the same as a share of what was measured."""


@dataclass(frozen=True)
class OpcodeChange:
    """An opcode with what LLVM says and what it should; the two are equal where measurements agree."""

    opcode: str
    scheme: ExportedScheme
    group: OpcodeClass
    shipped: WriteCosts
    measured: WriteCosts
    told: tuple[str, ...]

    @property
    def differs(self) -> bool:
        """Whether there is anything to change."""
        return self.shipped != self.measured


@dataclass
class ModelDifference:
    """Every opcode that was compared, and those that could not be, with the reason."""

    compared: list[OpcodeChange] = field(default_factory=list)
    left_alone: list[tuple[str, str]] = field(default_factory=list)

    @property
    def changes(self) -> list[OpcodeChange]:
        return [each for each in self.compared if each.differs]


def model_difference(core: ExportedCore, opcodes: Mapping[str, str], model: ShippedModel) -> ModelDifference:
    """`opcodes`: LLVM's names by scheme text."""
    found = ModelDifference()
    for opcode, scheme in sorted(plainest_by_opcode(core.mapping, opcodes).items(), key=itemgetter(0)):
        group = model.class_of(opcode)
        if group is None:
            found.left_alone.append((opcode, "these files of LLVM do not have it"))
        elif len(group.writes) != 1 or group.writes[0] not in model.costs:
            found.left_alone.append((opcode, f"scheduled by {', '.join(group.writes) or 'nothing'}"))
        else:
            found.compared.append(_compared(core, opcode, scheme, group, model))
    return found


def _compared(
    core: ExportedCore, opcode: str, scheme: ExportedScheme, group: OpcodeClass, model: ShippedModel
) -> OpcodeChange:
    shipped = model.costs[group.writes[0]]
    measured = shipped
    told = []
    for changed, words in _changes(core, scheme, shipped, model.units):
        measured = replace(measured, **changed)
        told.append(words)
    return OpcodeChange(opcode, scheme, group, shipped, measured, tuple(told))


def _changes(
    core: ExportedCore, scheme: ExportedScheme, shipped: WriteCosts, units: Mapping[str, int]
) -> Iterator[tuple[dict[str, Any], str]]:
    """Fields of `WriteCosts` that are to be others, each with what is said of it."""
    accesses = "".join(each["access"] for each in scheme.operands if each["kind"] == "memory")
    latency = core.largest(scheme.text)
    if latency and "W" not in accesses and abs(latency - shipped.latency) > LATENCY_NOISE:
        yield {"latency": round(latency)}, f"latency {shipped.latency} → {round(latency)} ({latency:.3g})"
    if core.mapping.value.issue_width is not None and not accesses and scheme.slots != shipped.uops:
        yield {"uops": scheme.slots}, f"µops {shipped.uops} → {scheme.slots}"
    alone = scheme.evidence.measured
    cycles = scheme.predicted if alone is None else alone
    said = shipped.throughput(units)
    if abs(cycles - said) > THROUGHPUT_NOISE * max(1.0, cycles):
        resources = _lasting(shipped.resources, cycles, units)
        if resources != shipped.resources:
            basis = "by its µops" if alone is None else "measured"
            yield {"resources": resources}, f"inverse throughput {said:.2f} → {cycles:.2f} ({basis})"


def _lasting(
    resources: Sequence[tuple[str, int]], cycles: float, units: Mapping[str, int]
) -> tuple[tuple[str, int], ...]:
    """The same resources, the busiest for so long and no other for longer."""
    if not resources:
        return ()
    busiest = max(resources, key=lambda each: each[1] / units.get(each[0], 1))
    found = []
    for name, before in resources:
        most = max(1, round(cycles * units.get(name, 1)))
        found.append((name, most if (name, before) == busiest else min(before, most)))
    return tuple(found)
