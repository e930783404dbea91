"""A harness for emulators: the code runs, so that everything except its times can be tested.

No result settles, so that no algorithm uses the times; each result has a note with the reason.
"""

from __future__ import annotations

from dataclasses import replace

from inference.agent.passes import LocalHarness, Progress
from inference.agent.protocol import Batch, Beat, Frame, Result, Settings

MEANINGLESS = "timed in an emulator: the number means nothing"


class EmulatedHarness(LocalHarness):
    """A `LocalHarness` without reference blocks, whose settled results become unsettled."""

    async def preflight(self, frame: Frame, settings: Settings, rounds: int = 5) -> None:
        """Does nothing: an emulator has no clock to check."""

    def beat(self) -> Beat:
        """The state, with a note that times are meaningless."""
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
