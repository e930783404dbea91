"""The analysis of a block on a stored core model; models are cached."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from threading import Lock

from inference.core.core_model import Assumptions, BoundKind, CoreModel, NearestSchemes
from inference.core.loop.analysis import analyse
from inference.core.loop.modelled import ModelledBlock, modelled
from inference.core.loop.values import Changes, LoopAnalysis
from inference.core.simulation.steady_state import is_compiled
from inference.isa.code.block import Block
from inference.isa.targets import code_target
from inference.models import StoredCoreModel
from inference.storage.core_models import core_model_of, port_labels

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
    cached = _cached(row)
    with cached.lock:
        nearest = cached.nearest if assumptions.nearest else None
        value = modelled(
            block, cached.model, nearest, assumptions, changes or Changes(), port_names=port_labels(row)
        )
    return replace(value, may_compile=False)


def sources_of(row: StoredCoreModel) -> Mapping[str, str]:
    """{part of the core model: its source}."""
    return _cached(row).model.sources


def _cached(row: StoredCoreModel) -> _CachedModel:
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
