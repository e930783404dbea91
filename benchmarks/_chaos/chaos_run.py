"""Runs of every kind go on while faults happen, until each kind was hit often enough; then all is checked.

A run is struck at a random moment of its life: the moment is drawn when it is claimed, from the time that an
undisturbed one takes, or from a part of it where it goes on from a checkpoint. The seed decides what happens;
what the processes are just doing, no seed can.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

from benchmarks._chaos.faults import KILLS, Fault, Strikes, Struck
from benchmarks._chaos.invariants import Broken, Expected, check, check_conflicts, check_leases
from benchmarks._chaos.kinds import Kind, Questions
from benchmarks._chaos.sampling import Sampling
from benchmarks._chaos.world import World, steady
from inference.models import Run

MAX_CLAIMS = 3
"""A run that is claimed oftener without getting on is left alone: the fifth time it would be given up."""

_LOOK_EVERY = 0.1  # seconds between looks at what runs
_PAUSE_ON_SITE = (8.0, 20.0)  # least and most seconds between faults of the whole site
_LATEST, _LATEST_AGAIN = 1.0, 0.5  # share of an undisturbed run's time up to which it is struck
_IN_FLIGHT = 2  # runs of a kind at the same time
"""Unfinished runs of a kind that is still to be hit, at most: no more than the hits that it lacks."""

_FAULTS_TOLD = 5  # latest faults that a violation names besides those that hit its run
_CALM_SECONDS = 900.0  # for one undisturbed run of every kind
_SETTLE_SECONDS = 900.0  # for runs to end once nothing disturbs them


@dataclass
class ChaosReport:
    """What happened to the runs, by kind, and which invariants did not hold of them."""

    runs: Counter[str] = field(default_factory=Counter)
    kills: Counter[str] = field(default_factory=Counter)
    kills_by: dict[str, Counter[str]] = field(default_factory=dict)
    disturbances: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    broken: list[Broken] = field(default_factory=list)
    seconds: float = 0.0


@dataclass
class ChaosRun:
    """Runs of `kinds` on the site of `world`, disturbed until each kind was hit `kills` times."""

    world: World
    kinds: Sequence[Kind]
    seed: int
    kills: int
    site_faults: bool = True
    say: Callable[[str], object] = lambda text: sys.stderr.write(f"{text}\n")

    def __post_init__(self) -> None:
        self._dice = Random(self.seed)
        self._strikes = Strikes(self.world, self._dice)
        self._submitted: dict[int, Kind] = {}
        self._faults: list[Fault] = []
        self._examined: set[int] = set()
        self._expected: dict[str, Expected] = {}
        self._lasts: dict[str, float] = {}
        self._moments: dict[tuple[int, int], float] = {}
        self._mends: list[tuple[float, Callable[[], None]]] = []
        self._next_on_site = 0.0
        self._numbers: Counter[str] = Counter()
        self.report = ChaosReport(kills_by={kind.name: Counter() for kind in self.kinds})

    def undergo(self) -> ChaosReport:
        """Disturb runs until each kind was hit often enough, wait for them to end, and check them all."""
        self._calm()
        self._began = time.monotonic()
        sampling = Sampling()
        sampling.start()
        try:
            while self._lacking():
                self._disturb()
                time.sleep(_LOOK_EVERY)
            self._settle()
        finally:
            sampling.stop()
        self.report.seconds = time.monotonic() - self._began
        for run in Run.objects.filter(pk__in=self._submitted).order_by("pk"):
            self._examine(run)
            for broken in (*check_leases(run, sampling), *check_conflicts(run)):
                self._note(run, broken)
        return self.report

    def _calm(self) -> None:
        """One run of each kind without a fault: how long it takes, and what comes of it."""
        runs = {kind: self._submit(kind) for kind in self.kinds}
        self._wait(list(runs.values()), _CALM_SECONDS)
        for kind, run in runs.items():
            run.refresh_from_db()
            if run.state != Run.State.DONE:
                raise RuntimeError(f"{run} is {run.state} although nothing was disturbed: {run.error}")
            self._expected[kind.name] = Expected.of(run)
            self._lasts[kind.name] = run.busy_seconds
            for broken in check(run, self._expected[kind.name]):
                raise RuntimeError(f"undisturbed, too: {broken}")
            self.say(f"{kind.name}: {run.busy_seconds:.1f} s undisturbed")

    def _submit(self, kind: Kind) -> Run:
        number = self._numbers[kind.name]
        self._numbers[kind.name] += 1
        return kind.submit(number)

    def _lacking(self) -> list[Kind]:
        """The kinds that have not been hit often enough."""
        return [kind for kind in self.kinds if self.report.kills[kind.name] < self.kills]

    def _disturb(self) -> None:
        """One look: mend, revive, submit, strike."""
        now = time.monotonic()
        self._mend(now)
        self.world.revive()
        running = steady(self._running)
        if not self._mends:  # the disk may be full
            steady(self._refill)
            steady(self._examine_one)
        self._strikes.running = running
        if any(run.attempts > MAX_CLAIMS for run in running):
            self._strike_children(running, now)
            return
        if self.site_faults and now >= self._next_on_site:
            self._next_on_site = now + self._dice.uniform(*_PAUSE_ON_SITE)
            self._strike(_drawn(self._dice, self._strikes.on_site()), None)
        self._strike_due(running, now, self._strikes.on_run())

    def _strike_children(self, running: list[Run], now: float) -> None:
        """While a run must not be hit any more, only single ones are."""
        self._strike_due([run for run in running if run.attempts <= MAX_CLAIMS], now, {"child": 1})

    def _strike_due(self, running: list[Run], now: float, choices: dict[str, int]) -> None:
        """Hit the first run whose moment has come; each attempt of a run has one at random."""
        for run in running:
            kind = self._submitted[run.pk]
            key = (run.pk, run.lease_token)
            if key not in self._moments:
                latest = _LATEST if run.lease_token == 1 else _LATEST_AGAIN
                seconds = latest * self._lasts[kind.name] - _LOOK_EVERY  # at the next look it may have ended
                self._moments[key] = now + self._dice.uniform(0.0, max(0.0, seconds))
            if now >= self._moments[key] and self.report.kills[kind.name] < self.kills:
                self._moments[key] = float("inf")
                self._strike(_drawn(self._dice, choices), run)
                return

    def _strike(self, name: str, target: Run | None) -> None:
        """Cause a fault, count it, and note what has to be mended later.

        name: The fault; "child" takes its place where the target has no machine, or has just ended.
            target: The run to hit; None for a fault of the whole site.
        """
        struck: Struck | None = self._strikes.strike(name, target)
        if struck is None and target is not None:  # it has no machine, or has just ended
            name = "child"
            struck = self._strikes.strike(name, target)
        if struck is None:
            return
        moment = time.monotonic() - self._began
        detail = f"{target.name}{f', {struck.detail}' if struck.detail else ''}" if target else struck.detail
        self._faults.append(Fault(name, moment, frozenset(struck.hit), detail))
        if struck.mend is not None:
            self._mends.append((time.monotonic() + struck.after, struck.mend))
        if name in KILLS:
            for run in struck.hit:
                self.report.kills[self._submitted[run].name] += 1
                self.report.kills_by[self._submitted[run].name][name] += 1
        else:
            self.report.disturbances[name] += 1
        counted = " ".join(f"{kind.name} {self.report.kills[kind.name]}" for kind in self.kinds)
        self.say(f"{self._faults[-1]}; kills: {counted}")

    def _running(self) -> list[Run]:
        rows = Run.objects.filter(pk__in=self._submitted, state=Run.State.RUNNING)
        return list(rows.order_by("pk"))

    def _refill(self) -> None:
        """Of each kind that is still to be hit there are some that wait or are worked on."""
        rows = Run.objects.filter(pk__in=self._submitted).values_list(
            "pk", "state", "lease_token", "busy_seconds"
        )
        unfinished: Counter[str] = Counter()
        for pk, state, token, seconds in rows:
            name = self._submitted[pk].name
            unfinished[name] += state not in Run.FINAL
            if state == Run.State.DONE and token == 1:  # the computer may have less to do by now
                self._lasts[name] = min(self._lasts[name], seconds)
        for kind in self._lacking():
            if unfinished[kind.name] < min(_IN_FLIGHT, self.kills - self.report.kills[kind.name]):
                run = self._submit(kind)
                self._submitted[run.pk] = kind
                self.report.runs[kind.name] += 1

    def _examine_one(self) -> None:
        """Check one of the runs that have ended, if there is one."""
        ended = Run.objects.filter(pk__in=self._submitted, state__in=Run.FINAL).exclude(pk__in=self._examined)
        run = ended.order_by("pk").first()
        if run is not None:
            self._examine(run)

    def _examine(self, run: Run) -> None:
        if run.pk in self._examined:
            return
        for broken in check(run, self._expected[self._submitted[run.pk].name]):
            self._note(run, broken)
        self._examined.add(run.pk)
        self.say(f"{run.name} is {run.state}: {len(self.report.violations)} violations so far")

    def _mend(self, now: float) -> None:
        due = [(moment, mend) for moment, mend in self._mends if moment <= now]
        self._mends = [entry for entry in self._mends if entry not in due]
        for _, mend in due:
            mend()

    def _settle(self) -> None:
        """No more faults; every run has time to end."""
        self._mend(float("inf"))
        runs = Run.objects.filter(pk__in=self._submitted)
        self._wait(list(runs), _SETTLE_SECONDS)

    def _wait(self, runs: list[Run], seconds: float) -> None:
        """Until they have ended, or for so long: those that have not are lost."""
        deadline = time.monotonic() + seconds
        ids = [run.pk for run in runs]
        while time.monotonic() < deadline:
            self.world.revive()
            n_open = steady(lambda: Run.objects.filter(pk__in=ids).exclude(state__in=Run.FINAL).count())
            if not n_open:
                return
            time.sleep(5 * _LOOK_EVERY)

    def _note(self, run: Run, broken: Broken) -> None:
        """A violation, with the faults that hit its run."""
        hits = [fault for fault in self._faults if run.pk in fault.hit]
        site_faults = [fault for fault in self._faults if not fault.hit][-_FAULTS_TOLD:]
        faults = (
            "; ".join(map(str, hits))
            or f"none; the last of the site: {'; '.join(map(str, site_faults)) or 'none'}"
        )
        self.report.broken.append(broken)
        self.say(f"VIOLATED: {broken}")
        self.report.violations.append(
            f"{broken.run}, seed {self.seed}: {broken.text} [{broken.sort}]. Faults: {faults}"
        )


def prepared(world: World) -> Questions:
    """The questions of a world, and its agents at work."""
    questions = Questions(world)
    world.hire_agents(questions.truth)
    deadline = time.monotonic() + _CALM_SECONDS
    while not all(world.machine(name).is_online() for name in world.agents):
        if time.monotonic() > deadline:
            raise TimeoutError("the agents do not come online")
        time.sleep(_LOOK_EVERY)
    return questions


def _drawn(dice: Random, choices: dict[str, int]) -> str:
    return dice.choices(list(choices), weights=list(choices.values()))[0]
