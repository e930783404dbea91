"""Measuring in an emulator: the code runs, so that everything but the times can be tried there.

No result settles, so no algorithm takes a time for a true one, and each says why.
"""

from __future__ import annotations

from dataclasses import replace

from inference.agent.passes import LocalHarness, Progress
from inference.agent.protocol import Batch, Beat, Frame, Result, Settings

MEANINGLESS = "timed in an emulator: the number means nothing"


class EmulatedHarness(LocalHarness):
    """A `LocalHarness` without known answers; what would have settled is unsettled."""

    async def preflight(self, frame: Frame, settings: Settings, rounds: int = 5) -> None:
        """There is nothing to see: no clock can be trusted here."""

    def beat(self) -> Beat:
        """Its state, with a word on what times are worth here."""
        beat = super().beat()
        return replace(beat, note=beat.note or MEANINGLESS)

    async def measure(self, batch: Batch, progress: Progress) -> list[Result]:
        results = await super().measure(batch, progress)
        return [
            result if result.state == "failed" else replace(result, state="unsettled", note=MEANINGLESS)
            for result in results
        ]

    def _quiet(self) -> None:
        return None

    async def _run_checks(self, frame: Frame, settings: Settings) -> str:
        del frame, settings
        return ""
