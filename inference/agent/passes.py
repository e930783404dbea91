"""Passes over a batch until every result has settled, or it is clear that it will not.

Each pass goes through the items that have not settled yet in a new random order, so that a bad second hits
other experiments each time. An item settles when enough of its passes agree (`settling`). What was timed
while something else ran on the same core, as the sentinel shows, does not count as a pass and is timed again.
Other blocks with known answers are looked at every few seconds: they tell how noisy the computer is.
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

from inference.agent.checks import CheckAnswers, KnownBlock
from inference.agent.counters import described, mistrust
from inference.agent.process import ForkServer, HungError, LostError, MeasuringProcess, UnfitError
from inference.agent.protocol import Batch, Beat, Frame, Result, Settings
from inference.agent.reading import Json
from inference.agent.settling import SettlingItem
from inference.agent.targets import native

_GROUP = 16  # items asked for at once: less than a tenth of a second
_LOOK_EVERY = 2.0  # seconds between looks at all blocks with known answers
_SAID_AFTER = 1.0  # seconds without an undisturbed pass, after which the computer counts as contended
_PAUSE = 0.1
_ALWAYS_DISTURBED = "something else runs on the same core all the time"
_RATED = 4  # results from which a batch tells how fast measuring is: of few, most of the time is overhead
_LOSSES = 3  # of processes in a row that were not an item's fault

Progress = Callable[[int, int], None]


class Harness(Protocol):
    """Whoever measures the batches that an agent is given."""

    async def measure(self, batch: Batch, progress: Progress) -> list[Result]:
        """One result per item; `progress` is told (settled, all). May be cancelled at any time."""
        ...

    def beat(self) -> Beat: ...

    async def close(self) -> None: ...


class UnfitHarness:
    """What an agent has on a computer that cannot measure, for this reason."""

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

    `known`: cycles per instruction of the checks on this microarchitecture, as far as they are documented.
    """

    def __init__(self, fork_server: ForkServer, known: Mapping[str, float], *, avx: bool) -> None:
        self._fork_server = fork_server
        self._answers = CheckAnswers(known)
        target = native()
        self._additions = target.ADDITIONS
        self._checks: tuple[KnownBlock, ...] = target.checks(avx=avx)
        self._process: MeasuringProcess | None = None
        self._setting: Json = {}
        self._is_fresh = True
        self._beat = Beat("idle")
        self.confinement: Mapping[str, bool | str] = {}
        self._counters: Sequence[str] = ()
        self._no_counters = ""
        self._distrusted = ""
        self._looked = -math.inf
        self._trouble = ""

    @property
    def counters(self) -> Json:
        """What is counted beside time, in the words of an agent's facts, and why not more."""
        names = () if self._distrusted else self._counters
        return {"counters": described(names), "counters_note": self._distrusted or self._no_counters}

    def beat(self) -> Beat:
        """The state as of the last check."""
        return self._beat

    async def close(self) -> None:
        """End the measuring process and whatever could start another."""
        await self._drop_process()
        self._fork_server.close()

    async def preflight(self, frame: Frame, settings: Settings, rounds: int = 5) -> None:
        """See whether this computer can measure at all. Raises `UnfitError`."""
        for _ in range(rounds):
            if not await self._look(frame, settings):
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
        results = [one.result(batch.settings, trouble) for one in candidates]
        settled = sum(result.state == "settled" for result in results)
        rate = None
        if len(results) >= _RATED:
            rate = settled / max(time.monotonic() - began, 1e-9)
        self._set_state("contended" if trouble else "idle", note=trouble, rate=rate)
        return results

    async def _settle(self, batch: Batch, candidates: Sequence[SettlingItem], progress: Progress) -> str:
        """Passes until all is over; what is disturbed (in words) when the patience is used up before."""
        settings = batch.settings
        shuffled = random.Random(batch.seed)  # noqa: S311  an order, not a secret
        waiting: list[SettlingItem] = []
        await self._look_now_and_then(batch.frame, settings)
        undisturbed = time.monotonic()
        while True:
            if not waiting:
                waiting = [one for one in candidates if not one.is_over(settings)]
                shuffled.shuffle(waiting)
            if not waiting:
                return ""
            group, waiting = waiting[:_GROUP], waiting[_GROUP:]
            again = await self._time(batch, group)
            waiting += again
            now = time.monotonic()
            if len(again) < len(group):
                undisturbed, self._trouble = now, ""
                self._set_state("measuring")
            elif now - undisturbed > settings.patience:
                await self._time(batch, [one for one in candidates if not one.has_a_time])
                return self._trouble or _ALWAYS_DISTURBED
            elif now - undisturbed > _SAID_AFTER:
                self._set_state("contended", note=self._trouble)
                await asyncio.sleep(_PAUSE)
            await self._look_now_and_then(batch.frame, settings)
            progress(sum(one.is_over(settings) for one in candidates), len(candidates))

    async def _time(self, batch: Batch, group: Sequence[SettlingItem]) -> list[SettlingItem]:
        """One pass over the group; returns those that were disturbed and want another one.

        An item that ends its process is a failure of its own; the others are timed by the next process.
        """
        disturbed: list[SettlingItem] = []
        first = False
        left = {candidate.item.id: candidate for candidate in group}
        losses = 0
        while left:
            process = await self._ready(batch.frame, batch.settings)
            current: SettlingItem | None = None
            try:
                items = [candidate.item for candidate in left.values()]
                async for message in process.time(items, batch.settings.timeout, self._quiet()):
                    if "start" in message:
                        current = left[message["start"]]
                        first, self._is_fresh = self._is_fresh, False
                        continue
                    candidate = left.pop(message["id"])
                    if not self._take(candidate, message):
                        disturbed.append(candidate)
            except (HungError, LostError) as error:
                await self._drop_process()
                if current is not None and (error.guilty or current.item.id in left):
                    if current.is_to_blame(error, first=first):
                        left.pop(current.item.id, None)
                elif (losses := losses + 1) > _LOSSES:
                    raise UnfitError(f"measuring processes do not live: {error}") from error
        return [one for one in disturbed if not one.failure]

    def _take(self, candidate: SettlingItem, message: Json) -> bool:
        """What a process says of an item; False where it was disturbed, so that the pass does not count."""
        candidate.failure = message.get("error", "")
        if candidate.failure:
            return True
        if "disturbed" in message:
            candidate.crude = message["disturbed"]
            return False
        if not candidate.item.latency_bound:  # else nobody cared whether the core was shared
            self._answers.take(self._additions, message["sentinel"])
        candidate.passes += 1
        candidate.cycles.append(message["cycles"])
        if not self._distrusted:
            for name, number in message["counters"].items():
                candidate.counted.setdefault(name, []).append(number)
        self._set_state(self._beat.state, ghz=message["ghz"])
        return True

    def _quiet(self) -> float | None:
        """What the sentinel shows on an undisturbed computer."""
        return self._answers.true(self._additions)

    async def _look_now_and_then(self, frame: Frame, settings: Settings) -> None:
        """Ask the checks unless they have just been asked, be it for another batch. Raises `UnfitError`."""
        if time.monotonic() - self._looked > _LOOK_EVERY:
            self._trouble = await self._look(frame.plain(), settings)
            self._looked = time.monotonic()

    async def _look(self, frame: Frame, settings: Settings) -> str:
        """Ask the checks; what is disturbed, in words. Raises `UnfitError`."""
        for attempt in itertools.count():
            process = await self._ready(frame, settings)
            try:
                async for message in process.time([check.item for check in self._checks], settings.timeout):
                    if "cycles" in message:
                        check = next(one for one in self._checks if one.name == message["id"])
                        self._answers.take(check, message["cycles"])
                        if check is self._additions:
                            self._distrusted = self._distrusted or mistrust(message["counters"])
                break
            except (HungError, LostError) as error:
                await self._drop_process()
                if attempt >= _LOSSES:
                    raise UnfitError(f"blocks with known answers cannot be measured: {error}") from error
        contradiction = self._answers.contradiction(self._checks)
        if contradiction:
            self._set_state("unfit", note=contradiction)
            raise UnfitError(contradiction)
        self._set_state(self._beat.state, noise=self._answers.noise(self._checks))
        self._beat = replace(self._beat, checks=self._answers.latest(self._checks))
        return self._answers.trouble(self._checks)

    async def _ready(self, frame: Frame, settings: Settings) -> MeasuringProcess:
        """The measuring process, set to this frame."""
        setting = {"frame": frame.as_json(), "settings": settings.as_json()}
        if self._process is None or setting != self._setting:
            await self._drop_process()
            self._process = await MeasuringProcess.start(self._fork_server, frame, settings)
            self._setting = setting
            self._is_fresh = True
            self.confinement = self._process.confinement
            self._counters = self._process.counters
            self._no_counters = self._process.counters_note
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
        before = self._beat
        self._beat = Beat(
            state,
            noise=before.noise if noise is None else noise,
            ghz=before.ghz if ghz is None else ghz,
            rate=before.rate if rate is None else rate,
            note=note or (before.note if state == before.state else ""),
            checks=before.checks,
        )
