"""The CPUs that a loop can be explained for, and the analysis of a block on a cached core model of one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock

from inference.core.core_model import Assumptions, BoundKind, CoreModel, NearestSchemes
from inference.core.loop.analysis import analyse
from inference.core.loop.modelled import ModelledBlock, modelled
from inference.core.loop.values import Changes, LoopAnalysis
from inference.core.simulation.steady_state import is_compiled
from inference.features.learning.core_model.query import usable_core_models
from inference.features.library.gallery.query import RecordedCore, recorded_cores
from inference.isa.blocks import DETECTED
from inference.isa.code.block import Block
from inference.isa.targets import DEFAULT, code_target
from inference.models import StoredCoreModel
from inference.storage.core_models import core_model_of, port_labels
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


_MAX_MODELS = 8


@dataclass
class _CachedModel:
    """A core model, and the same one extended by the substitutions of the blocks so far."""

    model: CoreModel
    nearest: NearestSchemes
    document: object = None
    lock: Lock = field(default_factory=Lock)


_cache: dict[Hashable, _CachedModel] = {}
_cache_lock = Lock()


def analysis_of(
    block: Block, row: StoredCoreModel, assumed: Assumptions | None = None, changes: Changes | None = None
) -> LoopAnalysis:
    """All that a core model says about a block, in a bounded number of queries.

    Args:
        block: A block of the model's instruction set.
        row: A core model, in the database or not.
        assumed: Defaults to the nearest schemes in place of undescribed ones, in a loop.
        changes: Hypothetical changes of the block.
    """
    return analyse(modelled_block(block, row, assumed, changes))


def modelled_block(
    block: Block, row: StoredCoreModel, assumed: Assumptions | None = None, changes: Changes | None = None
) -> ModelledBlock:
    """The block on the core model, for `analyse` and `simulated_block`; arguments as of `analysis_of`.

    Until the simulation is compiled, as it is ahead by a worker, nothing is simulated.
    """
    assumptions = assumed or Assumptions(nearest=True, in_loop=True)
    if not is_compiled():
        assumptions = replace(assumptions, without=(*assumptions.without, BoundKind.SCHEDULER))
    cached = _cached_model(row)
    with cached.lock:
        nearest = cached.nearest if assumptions.nearest else None
        value = modelled(
            block, cached.model, nearest, assumptions, changes or Changes(), port_names=port_labels(row)
        )
    return replace(value, may_compile=False)


def sources_of(row: StoredCoreModel) -> Mapping[str, str]:
    """{part of the core model: its source}."""
    return _cached_model(row).model.sources


def _cached_model(row: StoredCoreModel) -> _CachedModel:
    parts = row.mapping_id, row.latencies_id, row.front_end_id, hash(repr(row.scheduler))
    key = (row.pk, row.created, parts) if row.pk is not None else id(row.document)
    with _cache_lock:
        cached = _cache.pop(key, None)
        if cached is None:
            model = core_model_of(row)
            nearest = NearestSchemes(model, code_target(row.isa.name).schemes.scheme_of)
            cached = _CachedModel(model, nearest, row.document)
        _cache[key] = cached  # the last used one is the last
        while len(_cache) > _MAX_MODELS:
            del _cache[next(iter(_cache))]
    return cached
