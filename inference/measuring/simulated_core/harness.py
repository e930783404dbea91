"""An agent's harness that answers batches by executing their code on a simulated core."""

from __future__ import annotations

import asyncio
import random

from inference.agent.protocol import Batch, BatchItem, Frame, Result
from inference.core.core_model.simulated_program import UndescribedSchemeError
from inference.core.errors import InvalidInputError
from inference.isa.code.block import BlockError
from inference.measuring.simulated import MIN_FACTOR
from inference.measuring.simulated_agent import PacedHarness
from inference.measuring.simulated_core.core import SimulatedCore

_PASSES = 3  # of an item, of which the median counts


class ExecutingHarness(PacedHarness):
    """Executes the code of each item; its terms are not read.

    Args:
        core: Executes it.
        noise: Standard deviation of a Gaussian factor around 1 on each pass.
        seed: Of the noise, which depends on it and on the code alone.
        pace: As for `PacedHarness`.
        contended_share: As for `PacedHarness`.
    """

    def __init__(
        self,
        core: SimulatedCore,
        *,
        noise: float = 0.0,
        seed: int = 0,
        pace: float = 0.0,
        contended_share: float = 0.0,
    ) -> None:
        super().__init__(noise=noise, pace=pace, contended_share=contended_share, seed=seed)
        if not 0 <= noise < 1:
            raise InvalidInputError(f"noise is a standard deviation in [0, 1), not {noise!r}")
        self._core = core

    async def _answers(self, batch: Batch) -> list[Result]:
        results = []
        for item in batch.items:
            results.append(self._answer(batch.frame, item))
            await asyncio.sleep(0)  # heartbeats go on
        return results

    def _answer(self, frame: Frame, item: BatchItem) -> Result:
        try:
            cycles = self._core.cycles(frame, item)
        except (BlockError, UndescribedSchemeError) as error:
            return Result(item.id, "failed", note=str(error))
        if cycles <= 0:
            return Result(item.id, "failed", note="it takes no measurable time")
        dice = random.Random(f"{self._seed} {item.id}")  # noqa: S311  not for secrets
        passes = sorted(cycles * max(MIN_FACTOR, dice.gauss(1, self._noise)) for _ in range(_PASSES))
        return Result(item.id, "settled", passes[_PASSES // 2], passes[-1] - passes[0], _PASSES)
