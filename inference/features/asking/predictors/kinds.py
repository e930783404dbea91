"""All kinds of predictors: programs, and mappings, core models and machines of the database."""

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
from inference.isa.bodies import obstacle_to_blocks
from inference.isa.code.block import Block
from inference.isa.start_values import StartValues
from inference.isa.targets import FOLDERS, names_with_blocks, names_with_operands
from inference.measuring.blocks import MODES
from inference.models import Machine, PortMapping, ResourceMapping, StoredCoreModel
from inference.models import Predictor as PredictorRow
from inference.predictors import core_model, machine, mapping
from inference.predictors.kinds import KINDS, InstalledKind, PredictorKind
from inference.predictors.panel import DistributedPredictor, LocalPredictorExecutor
from inference.predictors.protocol import Predictor, PredictorError
from inference.runs.errors import ConfigError, JobError
from inference.runs.executors import open_cluster
from inference.runs.kinds import Task
from inference.runs.machines.blocks import open_block_measurer
from inference.runs.machines.facts import obstacle_to_measuring
from inference.runs.machines.measurer import identity_of, simulated_machine
from inference.storage.core_models import core_model_of, fused_pairs
from inference.storage.instruction_sets import code_isa
from inference.storage.mappings import digest_of, load_model

MAX_LISTED = 50
"""Rows of each kind that are offered as predictors: the newest."""
MEASURING = (Machine.Kind.AGENT, Machine.Kind.SIMULATED)
_ROW_NAME = re.compile(r"(?P<kind>machine|mapping)(?: |:(?P=kind)=)(?P<name>.+)")


def mapping_predictor(settings: mapping.MappingSettings) -> mapping.MappedBlocks:
    """The predictor of a stored mapping. Raises `PredictorError` if there is none of this name."""
    return _row_predictor(_mapping_row(settings), settings)


def _mapping_row(settings: mapping.MappingSettings) -> PortMapping | ResourceMapping:
    models = (PortMapping, ResourceMapping)
    rows = (
        model._default_manager.filter(name=settings.mapping).select_related("isa").first() for model in models
    )
    row = next((row for row in rows if row is not None), None)
    if row is None:
        raise PredictorError(f"there is no port mapping and no resource mapping {settings.mapping!r}")
    return row


def _row_predictor(
    row: PortMapping | ResourceMapping, settings: mapping.MappingSettings
) -> mapping.MappedBlocks:
    """The predictor of a mapping's row; the mapping itself is loaded with the first question."""
    if obstacle := obstacle_to_blocks(row.name, row.isa.name):
        raise PredictorError(obstacle)
    content = digest_of(row) if isinstance(row, PortMapping) else f"resource mapping {row.pk}"
    model = load_model(row) if settings.r_max is not None else _LazyModel(row)
    return mapping.MappedBlocks(
        row.name, model, settings, content, partial(fused_pairs, row.machine_id), code_isa(row.isa)
    )


@dataclass(frozen=True)
class _LazyModel:
    """A mapping's throughput model, loaded with the first question."""

    row: PortMapping | ResourceMapping

    @property
    def described(self) -> Collection[str]:
        return self._predictor.described

    def cycles(self, table: ExperimentTable) -> npt.NDArray[np.float64]:
        return self._predictor.cycles(table)

    @cached_property
    def _predictor(self) -> ThroughputModel:
        return mapping.with_loops(load_model(self.row))


def machine_outside_run(settings: machine.MachineSettings) -> machine.MeasuredBlocks:
    """The predictor of a machine outside of runs: its `measure` raises `PredictorError`."""
    row = _machine(settings)

    def measure(
        blocks: Sequence[Block], *, starts: Sequence[StartValues] = ()
    ) -> Iterator[tuple[int, Result]]:
        raise PredictorError(
            f"{row.name} measures only within a run: start a campaign with it, or use "
            "`manage.py measure-block`"
        )

    return machine.MeasuredBlocks(row.name, _identity(row), measure, settings, isa=code_isa(row.isa))


def machine_in_run(settings: machine.MachineSettings, task: Task, repeat: int = 0) -> machine.MeasuredBlocks:
    """The predictor of a machine that measures for a run. Raises `PredictorError` if it cannot measure
    blocks.

    `repeat`: see `inference.measuring.blocks.BlockMeasurer.measure`.
    """
    row = _machine(settings)
    stack = ExitStack()
    try:
        _, measure = stack.enter_context(open_block_measurer(task, row, settings.options))
    except JobError as error:
        raise PredictorError(str(error)) from error
    return machine.MeasuredBlocks(
        row.name,
        _identity(row),
        partial(measure, repeat=repeat),
        settings,
        stack.close,
        code_isa(row.isa),
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
    """Why the mapping or machine that a text names cannot answer for blocks, "" if it can or there is none.

    `text`: the text of an offer, `machine:machine=NAME`, or its label `machine NAME`.
    """
    match = _ROW_NAME.fullmatch(text)
    if match is None:
        return ""
    name = match["name"].replace("\\,", ",")
    models = (Machine,) if match["kind"] == machine.KIND else (PortMapping, ResourceMapping)
    rows = (model._default_manager.filter(name=name).select_related("isa").first() for model in models)
    return next((obstacle_to_blocks(row.name, row.isa.name) for row in rows if row is not None), "")


def _identity(row: Machine) -> dict[str, object]:
    if row.kind == Machine.Kind.SIMULATED:
        return simulated_machine(row)[0].identity
    return {**identity_of(row), "settings": Settings().as_json()}


def core_model_predictor(settings: core_model.CoreModelSettings) -> core_model.ModelledBlocks:
    """The predictor of a core model. Raises `PredictorError` if there is none of this name."""
    row = _core_model_row(settings)
    content = [
        row.pk,
        None if row.mapping is None else digest_of(row.mapping),
        *(None if part is None else part.pk for part in (row.latencies, row.front_end)),
    ]
    if row.scheduler is not None:  # without one, the identity stays that of models from before schedulers
        content.append(row.scheduler["scheduler"])
    return core_model.ModelledBlocks(
        row.name, partial(core_model_of, row), settings, {"parts": content}, code_isa(row.isa)
    )


def _core_model_row(settings: core_model.CoreModelSettings) -> StoredCoreModel:
    row = usable_core_models().filter(name=settings.model).select_related("isa").first()
    if row is None:
        raise PredictorError(f"there is no core model {settings.model!r}")
    return row


def _core_model_options() -> list[InstalledKind]:
    rows = usable_core_models()[:MAX_LISTED]
    options = [InstalledKind({"model": row.name}, row.machine.cpu if row.machine else "") for row in rows]
    if not options:
        raise PredictorError("there is no core model yet: press *Profile this CPU* on a machine's page")
    return options


def _mapping_options() -> list[InstalledKind]:
    isas = names_with_blocks()
    rows: list[PortMapping | ResourceMapping] = []
    for model in (PortMapping, ResourceMapping):
        newest = model._default_manager.filter(isa__name__in=isas).order_by("-id")[:MAX_LISTED]
        rows.extend(newest.select_related("isa").defer("report"))
    if not rows:
        raise PredictorError(f"there is no mapping for {' or '.join(isas)} yet: infer or import one")
    return [
        InstalledKind(
            {"mapping": row.name},
            row.created.strftime("%Y-%m-%d"),
            partial(_row_predictor, row, mapping.MappingSettings(row.name)),
        )
        for row in rows
    ]


def machines_for_blocks() -> list[Machine]:
    """The machines that can measure basic blocks, by name."""
    rows = Machine.objects.filter(isa__name__in=names_with_blocks(), kind__in=MEASURING).select_related("isa")
    return [row for row in rows.order_by("name")[:MAX_LISTED] if not obstacle_to_measuring(row)]


def _machine_options() -> list[InstalledKind]:
    options = [InstalledKind({"machine": row.name}, row.cpu) for row in machines_for_blocks()]
    if not options:
        raise PredictorError("no machine measures blocks here: connect one")
    return options


_MODE_OPTIONS = {mode: {"mode": mode} for mode in MODES}

STORED_KINDS = {
    kind.name: kind
    for kind in (
        PredictorKind(
            mapping.KIND,
            "mapping",
            "A port mapping or resource mapping of this site; ignores dependencies.",
            "infer or import a mapping",
            mapping.MappingSettings,
            mapping_predictor,
            _mapping_options,
            takes_jumps=True,
            isas=tuple(FOLDERS),
            isa_of=lambda settings: code_isa(_mapping_row(settings).isa),
        ),
        PredictorKind(
            core_model.KIND,
            "core model",
            "Measured ports, slots, latencies and front end of a machine; explains its predictions.",
            "press *Profile this CPU* on a machine's page",
            core_model.CoreModelSettings,
            core_model_predictor,
            _core_model_options,
            takes_jumps=True,
            modes=_MODE_OPTIONS,
            isas=tuple(FOLDERS),
            isa_of=lambda settings: code_isa(_core_model_row(settings).isa),
        ),
        PredictorKind(
            machine.KIND,
            "machine",
            "A connected machine that measures each block.",
            "connect a machine: *Machines* shows the command that starts its agent",
            machine.MachineSettings,
            machine_outside_run,
            _machine_options,
            takes_jumps=True,
            modes=_MODE_OPTIONS,
            isas=tuple(FOLDERS),
            isa_of=lambda settings: code_isa(_machine(settings).isa),
        ),
    )
}
"""{name: kind} of the predictors that are rows of the database."""


def cluster_predictor(predictor: Predictor, row: PredictorRow, task: Task) -> Predictor:
    """The predictor itself; with a cluster, one that asks the cluster and falls back to it."""
    if not settings.DASK:
        return predictor
    with ExitStack() as stack:
        stack.callback(predictor.close)
        executor = stack.enter_context(open_cluster(LocalPredictorExecutor(predictor)))
        pace = PacedReporter(task.reporter)
        return DistributedPredictor(predictor, row.kind, row.options, executor, pace, stack.pop_all().close)


def all_kinds() -> dict[str, PredictorKind]:
    """{name: kind} of all predictors, programs first."""
    return {**KINDS, **STORED_KINDS}


def kinds() -> dict[str, PredictorKind]:
    """{name: kind} of the predictors that the operator of this site allows."""
    return {name: kind for name, kind in all_kinds().items() if not kind.obstacle}


def kind_of(name: str) -> PredictorKind:
    """The kind of this name, allowed or not. Raises `PredictorError` for an unknown name."""
    kinds_by_name = all_kinds()
    if name not in kinds_by_name:
        raise PredictorError(f"there is no kind of predictor {name!r}; there are {', '.join(kinds())}")
    return kinds_by_name[name]


def predictor_of(kind: str, options: Mapping[str, Any]) -> Predictor:
    """The predictor of a kind with these options, which may be texts. Raises `PredictorError`."""
    return kind_of(kind).predictor(options)


def isas_of_row(row: PredictorRow) -> Sequence[str]:
    """The instruction sets whose blocks a stored predictor answers for; () where that cannot be found out."""
    kind = all_kinds().get(row.kind)
    try:
        return () if kind is None else kind.isas_of(row.options)
    except PredictorError:
        return ()


def common_isa(predictors: Sequence[int]) -> str:
    """The first instruction set with random blocks that all predictors, given by ids, answer for.

    Predictors of unknown kinds are ignored. Raises `ConfigError` if there is none.
    """
    choices = names_with_operands()
    rows = list(PredictorRow.objects.filter(pk__in=predictors).order_by("pk"))
    isas = {row.name: answered for row in rows if (answered := isas_of_row(row))}
    for isa in choices:
        if all(isa in answered for answered in isas.values()):
            return isa
    answers = "; ".join(f"{name} answers for {', '.join(answered)}" for name, answered in isas.items())
    raise ConfigError(f"predictors must all answer for one of {', '.join(choices)}: {answers}")
