"""Passes over a batch until every result has settled, or it is clear that it will not.

Each pass goes through the items that have not settled yet in a new random order, so that a bad second hits
other experiments each time. An item settles when enough of its passes agree (`settling`). What was timed
while something else ran on the same core, as the sentinel shows, does not count as a pass and is timed again.
Further reference blocks are timed every few seconds, to measure the noise of the computer.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import math
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from inference.agent.checks import CheckAnswers, ReferenceBlock
from inference.agent.counters import counting_level, distrust_reason
from inference.agent.frame import plain_frame
from inference.agent.process import ForkServer, HungError, LostError, MeasuringProcess, UnfitError
from inference.agent.protocol import Batch, Beat, Frame, Result, Settings
from inference.agent.reading import Json
from inference.agent.settling import SettlingItem
from inference.agent.targets import native

_GROUP = 16  # items asked for at once: less than a tenth of a second
_CHECK_INTERVAL = 2.0  # seconds between timings of all reference blocks
_CONTENDED_AFTER = 1.0  # seconds without an undisturbed pass, after which the computer counts as contended
_PAUSE = 0.1  # seconds between passes while the computer counts as contended
_ALWAYS_DISTURBED = "something else runs on the same core all the time"
_MIN_RATED = 4  # results from which a batch has a rate: of few, most of the time is overhead
_LOSSES = 3  # of processes in a row that were not an item's fault

Progress = Callable[[int, int], None]


class Harness(Protocol):
    """Measures the batches that an agent leases."""

    async def measure(self, batch: Batch, progress: Progress) -> list[Result]:
        """One result per item; calls `progress` with (settled, all). May be cancelled at any time."""
        ...

    def beat(self) -> Beat: ...

    async def close(self) -> None: ...


class UnfitHarness:
    """The harness of a computer that cannot measure; `reason`: why."""

    def __init__(self, reason: str) -> None:
        self._reason = reason
        self.confinement: Mapping[str, bool | str] = {}
        self.counters: Json = {"counters": "none", "counters_note": reason}

    async def measure(self, _batch: Batch, _progress: Progress) -> list[Result]:
        """Raises `UnfitError`."""
        raise UnfitError(self._reason)

    def beat(self) -> Beat:
        return Beat("unfit", note=self._reason)

    async def close(self) -> None:
        """There is nothing to stop."""


class LocalHarness:
    """Measures on this computer, in processes that a fork server starts.

    `documented`: {reference block: cycles per instruction} on this microarchitecture, {} where unknown.
    """

    def __init__(self, fork_server: ForkServer, documented: Mapping[str, float], *, avx: bool) -> None:
        self._fork_server = fork_server
        self._answers = CheckAnswers(documented)
        target = native()
        self._additions = target.ADDITIONS
        self._checks: tuple[ReferenceBlock, ...] = target.checks(avx=avx)
        self._process: MeasuringProcess | None = None
        self._process_setting: Json = {}
        self._is_fresh = True
        self._beat = Beat("idle")
        self.confinement: Mapping[str, bool | str] = {}
        self._counters: Sequence[str] = ()
        self._counters_note = ""
        self._distrusted = ""
        self._checked_at = -math.inf
        self._trouble = ""

    @property
    def counters(self) -> Json:
        """What is counted besides time, as in an agent's facts, and why not more."""
        names = () if self._distrusted else self._counters
        return {"counters": counting_level(names), "counters_note": self._distrusted or self._counters_note}

    def beat(self) -> Beat:
        """The state as of the last check."""
        return self._beat

    async def close(self) -> None:
        """End the measuring process and the fork server."""
        await self._drop_process()
        self._fork_server.close()

    async def preflight(self, frame: Frame, settings: Settings, rounds: int = 5) -> None:
        """Run the checks until nothing is disturbed, at most `rounds` times. Raises `UnfitError`."""
        for _ in range(rounds):
            if not await self._run_checks(frame, settings):
                return

    async def measure(self, batch: Batch, progress: Progress) -> list[Result]:
        """See `Harness`. Raises `UnfitError`."""
        began = time.monotonic()
        candidates = [SettlingItem(item) for item in batch.items]
        try:
            trouble = await self._settle(batch, candidates, progress)
        except asyncio.CancelledError:
            await self._drop_process()
            raise
        results = [candidate.result(batch.settings, trouble) for candidate in candidates]
        settled = sum(result.state == "settled" for result in results)
        rate = None
        if len(results) >= _MIN_RATED:
            rate = settled / max(time.monotonic() - began, 1e-9)
        self._set_state("contended" if trouble else "idle", note=trouble, rate=rate)
        return results

    async def _settle(self, batch: Batch, candidates: Sequence[SettlingItem], progress: Progress) -> str:
        """Time passes until every item is settled or given up.

        Returns:
            Why it stopped early, "" if it did not.
        """
        settings = batch.settings
        shuffled = random.Random(batch.seed)  # noqa: S311  an order, not a secret
        waiting: list[SettlingItem] = []
        await self._run_checks_if_due(batch.frame, settings)
        undisturbed = time.monotonic()
        while True:
            if not waiting:
                waiting = [candidate for candidate in candidates if not candidate.is_over(settings)]
                shuffled.shuffle(waiting)
            if not waiting:
                return ""
            group, waiting = waiting[:_GROUP], waiting[_GROUP:]
            disturbed = await self._time(batch, group)
            waiting += disturbed
            now = time.monotonic()
            if len(disturbed) < len(group):
                undisturbed, self._trouble = now, ""
                self._set_state("measuring")
            elif now - undisturbed > settings.patience:
                await self._time(batch, [candidate for candidate in candidates if not candidate.has_time])
                return self._trouble or _ALWAYS_DISTURBED
            elif now - undisturbed > _CONTENDED_AFTER:
                self._set_state("contended", note=self._trouble)
                await asyncio.sleep(_PAUSE)
            await self._run_checks_if_due(batch.frame, settings)
            progress(sum(candidate.is_over(settings) for candidate in candidates), len(candidates))

    async def _time(self, batch: Batch, group: Sequence[SettlingItem]) -> list[SettlingItem]:
        """One pass over the group; returns the items that were disturbed, which need another pass.

        An item that ends its process fails; the remaining ones are timed by the next process.
        """
        disturbed: list[SettlingItem] = []
        first = False
        remaining = {candidate.item.id: candidate for candidate in group}
        losses = 0
        while remaining:
            process = await self._process_for(batch.frame, batch.settings)
            current: SettlingItem | None = None
            try:
                items = [candidate.item for candidate in remaining.values()]
                async for message in process.time(items, batch.settings.timeout, self._quiet()):
                    if "start" in message:
                        current = remaining[message["start"]]
                        first, self._is_fresh = self._is_fresh, False
                        continue
                    candidate = remaining.pop(message["id"])
                    if not self._record(candidate, message):
                        disturbed.append(candidate)
            except (HungError, LostError) as error:
                await self._drop_process()
                if current is not None and (error.at_fault or current.item.id in remaining):
                    if current.record_end(error, first=first):
                        remaining.pop(current.item.id, None)
                elif (losses := losses + 1) > _LOSSES:
                    raise UnfitError(f"measuring processes do not live: {error}") from error
        return [disturbed_item for disturbed_item in disturbed if not disturbed_item.failure]

    def _record(self, candidate: SettlingItem, message: Json) -> bool:
        """Record a message about an item; False where it was disturbed, so that the pass does not count."""
        candidate.failure = message.get("error", "")
        if candidate.failure:
            return True
        if "disturbed" in message:
            candidate.crude = message["disturbed"]
            return False
        if not candidate.item.latency_bound:  # these were timed without regard to sharing
            self._answers.record(self._additions, message["sentinel"])
        candidate.passes += 1
        candidate.cycles.append(message["cycles"])
        if not self._distrusted:
            for name, number in message["counters"].items():
                candidate.counted.setdefault(name, []).append(number)
        self._set_state(self._beat.state, ghz=message["ghz"])
        return True

    def _quiet(self) -> float | None:
        """Cycles per addition of the sentinel on an undisturbed computer, None where unknown."""
        return self._answers.true_cycles(self._additions)

    async def _run_checks_if_due(self, frame: Frame, settings: Settings) -> None:
        """Run the checks unless they ran within `_CHECK_INTERVAL`. Raises `UnfitError`."""
        if time.monotonic() - self._checked_at > _CHECK_INTERVAL:
            self._trouble = await self._run_checks(plain_frame(frame), settings)
            self._checked_at = time.monotonic()

    async def _run_checks(self, frame: Frame, settings: Settings) -> str:
        """Time the reference blocks; returns what is disturbed, "" for nothing. Raises `UnfitError`."""
        for attempt in itertools.count():
            process = await self._process_for(frame, settings)
            try:
                async for message in process.time([check.item for check in self._checks], settings.timeout):
                    if "cycles" in message:
                        check = next(
                            known_check for known_check in self._checks if known_check.name == message["id"]
                        )
                        self._answers.record(check, message["cycles"])
                        if check is self._additions:
                            self._distrusted = self._distrusted or distrust_reason(message["counters"])
                break
            except (HungError, LostError) as error:
                await self._drop_process()
                if attempt >= _LOSSES:
                    raise UnfitError(f"reference blocks cannot be measured: {error}") from error
        contradiction = self._answers.contradiction(self._checks)
        if contradiction:
            self._set_state("unfit", note=contradiction)
            raise UnfitError(contradiction)
        self._set_state(self._beat.state, noise=self._answers.noise(self._checks))
        self._beat = replace(self._beat, checks=self._answers.latest(self._checks))
        return self._answers.disturbance(self._checks)

    async def _process_for(self, frame: Frame, settings: Settings) -> MeasuringProcess:
        """The measuring process for this frame and these settings, started where needed."""
        setting = {"frame": frame.as_json(), "settings": settings.as_json()}
        if self._process is None or setting != self._process_setting:
            await self._drop_process()
            self._process = await MeasuringProcess.start(self._fork_server, frame, settings)
            self._process_setting = setting
            self._is_fresh = True
            self.confinement = self._process.confinement
            self._counters = self._process.counters
            self._counters_note = self._process.counters_note
        return self._process

    async def _drop_process(self) -> None:
        if self._process is not None:
            process, self._process = self._process, None
            with contextlib.suppress(OSError):
                await process.stop()

    def _set_state(
        self,
        state: str,
        note: str = "",
        noise: float | None = None,
        ghz: float | None = None,
        rate: float | None = None,
    ) -> None:
        """Replace what heartbeats report; None keeps a number, and a note lasts as long as its state."""
        before = self._beat
        self._beat = Beat(
            state,
            noise=before.noise if noise is None else noise,
            ghz=before.ghz if ghz is None else ghz,
            rate=before.rate if rate is None else rate,
            note=note or (before.note if state == before.state else ""),
            checks=before.checks,
        )
