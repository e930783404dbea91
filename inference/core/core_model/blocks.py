"""Blocks of x86-64 as a core model sees them."""

from __future__ import annotations

from inference.core.core_model.bounds import predict_core
from inference.core.core_model.model import CoreModel
from inference.core.core_model.nearest import NearestSchemes
from inference.core.core_model.prediction import Assumptions, CodeShape, CorePrediction
from inference.isa.blocks import LOOP, Block, accesses_of, moves_of, pairs_of, stores_of
from inference.isa.code.block import usual_copies
from inference.isa.scheme import Scheme
from inference.isa.targets import DEFAULT, target_of

_COUNTING = "dec reg + je"
"""What closes a loop of copies, as `FrontEndLimits.fused` has it: `jne` fuses as `je` does."""


class CoreModelBlocks:
    """Predicts blocks by a core model under assumptions."""

    def __init__(self, model: CoreModel, assumed: Assumptions) -> None:
        self._assumed = assumed
        self._model = model
        self._nearest = NearestSchemes(model, _scheme) if assumed.nearest else None

    @property
    def model(self) -> CoreModel:
        """With what was taken so far."""
        return self._model if self._nearest is None else self._nearest.model

    def predict(self, block: Block) -> CorePrediction:
        """All bounds of a block, with what the model lacks."""
        accesses = accesses_of(block, alike=self._assumed.alike)
        shape, without = shape_of(block, in_loop=self._assumed.in_loop), self._assumed.without
        if self._nearest is not None:
            return self._nearest.predict(accesses, shape, without)
        return predict_core(accesses, shape, self._model, without)


def shape_of(block: Block, *, in_loop: bool = False) -> CodeShape:
    """Its size, and of a loop what may become one instruction. `in_loop`: straight code is put into one."""
    loop = block.kind == LOOP
    copies = usual_copies(
        len(block.instructions) + loop,
        len(block.code),
        in_loop=in_loop or loop,
        stores=sum(map(stores_of, block.instructions)),
    )
    return CodeShape(
        len(block.code),
        loop,
        pairs_of(block) if loop else (_COUNTING,) if in_loop else (),
        copied=in_loop and not loop,
        copies=copies,
        moves=moves_of(block),
    )


def _scheme(text: str) -> Scheme | None:
    return target_of(DEFAULT).schemes.scheme_of(text)
