"""Which bound of a core model is the largest of each block."""

from __future__ import annotations

from collections.abc import Sequence

from inference.core.protocols import Json
from inference.features.asking.predictors.kinds import kind_of
from inference.features.learning.core_model.query import usable_core_models
from inference.isa.blocks import BlockError, block_of_bytes
from inference.models import Predictor
from inference.predictors import core_model, machine
from inference.predictors.protocol import PredictorError


def first_core_model(predictors: Sequence[Predictor]) -> Json | None:
    """The options of the first core model among predictors; None where there is none."""
    return next((row.options for row in predictors if row.kind == core_model.KIND), None)


def machines_core_model(predictor: Predictor) -> Json | None:
    """The options of the newest core model of the machine that a predictor measures on."""
    if predictor.kind != machine.KIND:
        return None
    newest = usable_core_models().filter(machine__name=predictor.options["machine"]).first()
    return None if newest is None else {"model": newest.name}


def bounds_by(options: Json, codes: Sequence[bytes], mode: str) -> list[str]:
    """The largest bound of each block by the core model with these options.

    "" where it does not know the block, and everywhere where it cannot be used.
    """
    try:
        kind = kind_of(core_model.KIND)
        model = kind.predictor(kind.in_mode(options, mode))
    except PredictorError:
        return [""] * len(codes)
    assert isinstance(model, core_model.ModelledBlocks)
    return [_largest(model, code) for code in codes]


def _largest(model: core_model.ModelledBlocks, code: bytes) -> str:
    try:
        explained = model.explain(block_of_bytes(code))
    except BlockError:
        return ""
    return str(explained.bounds[0].kind) if explained.bounds and not explained.unknown else ""
