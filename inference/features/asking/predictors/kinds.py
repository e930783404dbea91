"""The kinds of predictors: programs, and what lives in the database, mappings, core models and machines."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt
from django.conf import settings

from inference.agent.protocol import Result, Settings
from inference.core.evaluator import ThroughputModel
from inference.core.pacing import PacedReporter
from inference.core.tables import ExperimentTable
from inference.features.learning.core_model.query import usable_core_models
from inference.isa.blocks import Block
from inference.isa.bodies import obstacle_to_blocks
from inference.isa.start_values import StartValues
from inference.isa.targets import names_with_blocks
from inference.measuring.blocks import MODES
from inference.models import Machine, PortMapping, ResourceMapping
from inference.models import Predictor as PredictorRow
from inference.predictors import core_model, machine, mapping
from inference.predictors.kinds import KINDS, FoundKind, PredictorKind
from inference.predictors.panel import AskedHere, SharedOut
from inference.predictors.protocol import Predictor, PredictorError
from inference.runs.errors import JobError
from inference.runs.executors import open_cluster
from inference.runs.kinds import Task
from inference.runs.machines.blocks import measuring_blocks
from inference.runs.machines.facts import obstacle_to_measuring
from inference.runs.machines.measurer import identity_of, simulated_machine
from inference.storage.core_models import core_model_of, fused_pairs
from inference.storage.resource_mappings import load_model
from inference.storage.rows import digest_of

LISTED = 50
"""Mappings, and machines, that are looked at: the newest."""
MEASURING = (Machine.Kind.AGENT, Machine.Kind.SIMULATED)
_NAMED = re.compile(r"(?P<kind>machine|mapping)(?: |:(?P=kind)=)(?P<name>.+)")


def mapped(settings: mapping.MappingSettings) -> mapping.MappedBlocks:
    """A stored mapping as a predictor. Raises `PredictorError` where there is none of this name."""
    models = (PortMapping, ResourceMapping)
    found = (model._default_manager.filter(name=settings.mapping).first() for model in models)
    row = next((row for row in found if row is not None), None)
    if row is None:
        raise PredictorError(f"there is no port mapping and no resource mapping {settings.mapping!r}")
    return _of_row(row, settings)


def _of_row(row: PortMapping | ResourceMapping, settings: mapping.MappingSettings) -> mapping.MappedBlocks:
    """The same of a row that is at hand; what it says is loaded when it is asked."""
    if obstacle := obstacle_to_blocks(row.name, row.isa.name):
        raise PredictorError(obstacle)
    content = digest_of(row) if isinstance(row, PortMapping) else f"resource mapping {row.pk}"
    model = load_model(row) if settings.r_max is not None else _Loaded(row)
    return mapping.MappedBlocks(row.name, model, settings, content, partial(fused_pairs, row.machine_id))


@dataclass(frozen=True)
class _Loaded:
    """What predicts as a row says, loaded with the first question."""

    row: PortMapping | ResourceMapping

    @property
    def described(self) -> Collection[str]:
        return self._predictor.described

    def cycles(self, table: ExperimentTable) -> npt.NDArray[np.float64]:
        return self._predictor.cycles(table)

    @cached_property
    def _predictor(self) -> ThroughputModel:
        return mapping.with_loops(load_model(self.row))


def unmeasured(settings: machine.MachineSettings) -> machine.MeasuredBlocks:
    """A machine as a predictor that says where it could be asked: within a run alone."""
    row = _machine(settings)

    def measure(
        blocks: Sequence[Block], *, starts: Sequence[StartValues] = ()
    ) -> Iterator[tuple[int, Result]]:
        raise PredictorError(
            f"{row.name} measures within a run alone: start a campaign with it, or use "
            "`manage.py measure-block`"
        )

    return machine.MeasuredBlocks(row.name, _identity(row), measure, settings)


def measured(settings: machine.MachineSettings, task: Task, repeat: int = 0) -> machine.MeasuredBlocks:
    """A machine as a predictor that measures for a run. Raises `PredictorError` where it never will.

    `repeat`: see `inference.measuring.blocks.BlockMeasurer.measure`.
    """
    row = _machine(settings)
    stack = ExitStack()
    try:
        _, measure = stack.enter_context(measuring_blocks(task, row, settings.options))
    except JobError as error:
        raise PredictorError(str(error)) from error
    return machine.MeasuredBlocks(
        row.name, _identity(row), partial(measure, repeat=repeat), settings, stack.close
    )


def _machine(settings: machine.MachineSettings) -> Machine:
    row = Machine.objects.filter(name=settings.machine, kind__in=MEASURING).select_related("isa").first()
    if row is None:
        raise PredictorError(f"there is no machine {settings.machine!r} that measures")
    if obstacle := obstacle_to_blocks(row.name, row.isa.name):
        raise PredictorError(obstacle)
    if hindered := obstacle_to_measuring(row):
        raise PredictorError(f"{row.name}: {hindered}")
    return row


def reason_against(text: str) -> str:
    """Why what a text names is not asked about blocks, "" where it names no mapping or machine.

    `text`: as an offer has it, `machine:machine=NAME`, or its label `machine NAME`.
    """
    found = _NAMED.fullmatch(text)
    if found is None:
        return ""
    name = found["name"].replace("\\,", ",")
    models = (Machine,) if found["kind"] == machine.KIND else (PortMapping, ResourceMapping)
    rows = (model._default_manager.filter(name=name).select_related("isa").first() for model in models)
    return next((obstacle_to_blocks(row.name, row.isa.name) for row in rows if row is not None), "")


def _identity(row: Machine) -> dict[str, object]:
    if row.kind == Machine.Kind.SIMULATED:
        return simulated_machine(row)[0].identity
    return {**identity_of(row), "settings": Settings().as_json()}


def modelled(settings: core_model.CoreModelSettings) -> core_model.ModelledBlocks:
    """A core model as a predictor. Raises `PredictorError` where there is none of this name."""
    row = usable_core_models().filter(name=settings.model).first()
    if row is None:
        raise PredictorError(f"there is no core model {settings.model!r}")
    content = [
        row.pk,
        None if row.mapping is None else digest_of(row.mapping),
        *(None if part is None else part.pk for part in (row.latencies, row.front_end)),
    ]
    if row.scheduler is not None:  # else it stays what it was before models had schedulers
        content.append(row.scheduler["scheduler"])
    return core_model.ModelledBlocks(row.name, partial(core_model_of, row), settings, {"parts": content})


def _core_models_found() -> list[FoundKind]:
    rows = usable_core_models()[:LISTED]
    found = [FoundKind({"model": row.name}, row.machine.cpu if row.machine else "") for row in rows]
    if not found:
        raise PredictorError("no core is known yet: press *Know this CPU* on a machine's page")
    return found


def _mappings_found() -> list[FoundKind]:
    rows: list[PortMapping | ResourceMapping] = [
        *PortMapping.objects.filter(isa__name__in=names_with_blocks())
        .select_related("isa")
        .defer("report")
        .order_by("-id")[:LISTED],
        *ResourceMapping.objects.filter(isa__name__in=names_with_blocks())
        .select_related("isa")
        .order_by("-id")[:LISTED],
    ]
    if not rows:
        right = " or ".join(names_with_blocks())
        raise PredictorError(f"there is no mapping for {right} yet: infer or import one")
    return [
        FoundKind(
            {"mapping": row.name},
            row.created.strftime("%Y-%m-%d"),
            partial(_of_row, row, mapping.MappingSettings(row.name)),
        )
        for row in rows
    ]


def _machines_found() -> list[FoundKind]:
    rows = Machine.objects.filter(isa__name__in=names_with_blocks(), kind__in=MEASURING).order_by("name")[
        :LISTED
    ]
    found = [FoundKind({"machine": row.name}, row.cpu) for row in rows if not obstacle_to_measuring(row)]
    if not found:
        raise PredictorError("no machine measures blocks here: connect one")
    return found


_BY_NAME = {mode: {"mode": mode} for mode in MODES}

STORED_KINDS = {
    kind.name: kind
    for kind in (
        PredictorKind(
            mapping.KIND,
            "mapping",
            "A port mapping or resource mapping of this site; dependencies are left out.",
            "infer or import a mapping",
            mapping.MappingSettings,
            mapped,
            _mappings_found,
            takes_jumps=True,
        ),
        PredictorKind(
            core_model.KIND,
            "core model",
            "Ports, slots, latencies and front end of a machine, as they were measured; says why.",
            "press *Know this CPU* on a machine's page",
            core_model.CoreModelSettings,
            modelled,
            _core_models_found,
            takes_jumps=True,
            modes=_BY_NAME,
        ),
        PredictorKind(
            machine.KIND,
            "machine",
            "A connected machine that measures each block.",
            "connect a machine: Machines has the line to start its agent with",
            machine.MachineSettings,
            unmeasured,
            _machines_found,
            takes_jumps=True,
            modes=_BY_NAME,
        ),
    )
}
"""{name: kind} of all that needs the database."""


def shared(predictor: Predictor, row: PredictorRow, task: Task) -> Predictor:
    """The predictor of a row, for a run: itself, or one that asks the cluster and has it as a fallback."""
    if not settings.DASK:
        return predictor
    with ExitStack() as stack:
        stack.callback(predictor.close)
        executor = stack.enter_context(open_cluster(AskedHere(predictor)))
        pace = PacedReporter(task.reporter)
        return SharedOut(predictor, row.kind, row.options, executor, pace, stack.pop_all().close)


def all_kinds() -> dict[str, PredictorKind]:
    """{name: kind} of all predictors, programs first."""
    return {**KINDS, **STORED_KINDS}


def kinds() -> dict[str, PredictorKind]:
    """Those that the operator of this site allows."""
    return {name: kind for name, kind in all_kinds().items() if not kind.obstacle}


def kind_of(name: str) -> PredictorKind:
    """The kind of this name, allowed or not. Raises `PredictorError`."""
    known = all_kinds()
    if name not in known:
        raise PredictorError(f"there is no kind of predictor {name!r}; there are {', '.join(kinds())}")
    return known[name]


def predictor_of(kind: str, options: Mapping[str, Any]) -> Predictor:
    """A predictor from the name of its kind and its options, or texts for these. Raises `PredictorError`."""
    return kind_of(kind).predictor(options)
