"""The tools that a comparison can ask, for the processor of a set."""

from __future__ import annotations

from dataclasses import dataclass

from inference.core.protocols import Json
from inference.features.asking.predictors.query import kind_of, programs, row_for
from inference.isa.tool_names import NO_NAMES, TOOL_NAMES, ToolNames
from inference.models import ExperimentSet, Predictor
from inference.predictors import machine
from inference.predictors.kinds import FoundKind
from inference.predictors.llvm import mca
from inference.predictors.osaca import predictor as osaca
from inference.predictors.protocol import PredictorError
from inference.storage.instruction_sets import core_of

_CPU_OF = {mca.KIND: "cpu", osaca.KIND: "arch"}
"""Kinds that are told the processor, by the option that tells it."""

_CONFIGURED = "predictor"


@dataclass(frozen=True)
class Processor:
    """What llvm-mca and OSACA shall call the processor; "" for what they take without being told."""

    llvm: str
    osaca: str


def likely_names(judge: ExperimentSet) -> ToolNames:
    """What tools call the processor that a set is from, as far as that is known."""
    core = None if judge.machine is None else core_of(judge.machine)
    return NO_NAMES if core is None else TOOL_NAMES.get(core.name, NO_NAMES)


def askable() -> list[tuple[str, str]]:
    """(value, label) of what is found on this computer, connected machines, and what was configured.

    Mappings are not among them: they know experiments themselves.
    """
    found = [
        (f"{kind.name}:{number}", f"{kind.title} {one.version}")
        for kind, versions, _ in programs()
        for number, one in enumerate(versions)
    ]
    found += [(f"{machine.KIND}:{one.options['machine']}", _title(one.options)) for one in _machines()]
    rows = Predictor.objects.filter(origin=Predictor.Origin.CONFIGURED).exclude(kind="mapping")
    return [*found, *((f"{_CONFIGURED}:{row.pk}", row.name) for row in rows.order_by("name"))]


def row_of(value: str, processor: Processor) -> Predictor:
    """The stored predictor that a value of `askable` means, made where there is none; `PredictorError`."""
    kind, _, which = value.partition(":")
    if kind == _CONFIGURED:
        return Predictor.objects.get(pk=int(which))
    if kind == machine.KIND:
        return row_for(kind, {"machine": which})
    versions = kind_of(kind).found()
    if int(which) >= len(versions):
        raise PredictorError(f"{kind} has gone from this computer meanwhile")
    name = processor.llvm if kind == mca.KIND else processor.osaca if kind == osaca.KIND else ""
    told = {_CPU_OF[kind]: name} if name else {}
    return row_for(kind, {**versions[int(which)].options, **told})


def _machines() -> list[FoundKind]:
    try:
        return list(kind_of(machine.KIND).found())
    except PredictorError:
        return []


def _title(options: Json) -> str:
    return f"machine {options['machine']}"
