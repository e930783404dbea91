"""Blocking experiments and their witnesses, one per scheme, blocking instruction and run (§6.2.2)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from inference.core.experiment import Experiment
from inference.core.explain.context import ERRORS, ExplainContext
from inference.core.explain.problem import Witness, WitnessOutcome
from inference.core.explain.settings import PORT_COUNTERS
from inference.core.explain.surplus import (
    CLEAR,
    copies_needed,
    copies_to_flood,
    flood_of,
    is_too_short,
    split_surplus,
    surplus_by_counters,
    surplus_by_time,
)
from inference.core.explain.uop_counts import PORT
from inference.core.mapping import ports_in

CLOCK = 0.02
"""Relative error of clocks: an experiment that is quicker by more contradicts a number of µops."""


def is_quicker(context: ExplainContext, experiment: Experiment, needed: float) -> bool:
    """Whether an experiment takes less than `needed` cycles, by more than errors explain."""
    reading = context.sampler.reading(experiment)
    if reading.cycles is None or context.is_unstable(experiment):
        return False
    return reading.cycles + ERRORS * context.sampler.error(reading) < (1 - CLOCK) * needed


TRUSTED = 3
"""Schemes at least that were recorded beside a scheme for its floods to be used."""

MIN_DELAY = 0.65
"""µops by which a flood is delayed at least where a µop cannot evade it."""


def surpluses(context: ExplainContext, pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], float]:
    """{(scheme, flooding candidate): µops by which the scheme delays the flood}, where both were measured.

    All are measured in one batch: a batch takes about as long as a few experiments.
    """
    tests = {}
    for scheme, head in pairs:
        width = context.widths[head]
        copies = copies_to_flood(width, context.cycles(scheme), None, context.settings.most_copies)
        copies = context.sampler.copies(head, scheme, copies)
        # Fewer copies would not keep the ports busy for as long as the scheme takes anyway.
        if copies >= width * (context.cycles(scheme) - context.settings.epsilon):
            tests[scheme, head] = (flood_of(head, copies), flood_of(head, copies, scheme), width)
    context.measure(
        {
            experiment: context.sampler.n_samples(experiment, 0.1 / width, context.settings.samples)
            for base, tested, width in tests.values()
            for experiment in (base, tested)
        }
    )
    counts = {}
    for pair, (base, tested, width) in tests.items():
        before, after = context.sampler.reading(base).cycles, context.sampler.reading(tested).cycles
        if before is not None and after is not None:
            counts[pair] = surplus_by_time(before, after, width)
    return counts


ROUGH_ERROR = 0.2
"""Standard error in µops that the first samples aim at."""

ERROR = 0.07
"""Standard error in µops where the first result is not clear."""

BASE_ERROR = 0.03
"""Standard error in µops of the blocking instructions alone, which many tests share."""

MAX_REPETITIONS = 2
"""Repetitions per round of the blocking instructions alone, where these scatter."""

NEAR_R_MAX = 0.5
"""Instructions per cycle by which R_max, which is measured, may exceed a port set that counts as wide."""


def is_wide(width: int, r_max: float | None) -> bool:
    """Whether a port set is as wide as the bottleneck, which then hides delays (§6.2.3)."""
    return r_max is not None and width > r_max - NEAR_R_MAX


@dataclass(frozen=True)
class Blocker:
    """A blocking instruction and the ports that it floods; `wide`: they are as many as the bottleneck's rate.

    `substitutes`: schemes of its class, which block it where it was not recorded beside itself.
    """

    scheme: str
    mask: int
    wide: bool = False
    improper: bool = False
    substitutes: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        return self.mask.bit_count()


def sorted_blockers(blockers: Sequence[Blocker]) -> list[Blocker]:
    """The blockers, narrow port sets first (Alg. 6.1, line 1)."""
    return sorted(blockers, key=lambda blocker: (blocker.width, blocker.mask, blocker.scheme))


@dataclass(frozen=True)
class Test:
    """A scheme beside a flood: its two experiments, and the samples of them that belong to the run."""

    scheme: str
    blocker: Blocker
    copies: int
    base: Experiment
    tested: Experiment


class Floods:
    """Measures blocking experiments, and makes witnesses of them."""

    def __init__(self, context: ExplainContext, ports: Sequence[str]) -> None:
        self._context = context
        self._ports = ports
        self._since: dict[tuple[Experiment, int], int] = {}  # {(experiment, run): samples of earlier runs}
        self._flooding: dict[str, list[str]] = {}  # {blocker: schemes of its class with recorded floods}
        self._least: dict[tuple[str, str], int] = {}  # {(scheme, blocker): copies at least}
        self._second: dict[tuple[str, str], str] = {}  # {(scheme, blocker): another scheme to flood with}

    def can(self, scheme: str, blocker: Blocker) -> bool:
        """Whether the scheme can be tested with the blocker: recorded data lack some floods.

        A recorded flood of fewer copies than ports leaves ports free. It is used if the scheme delays it by a
        whole number of µops all the same, which a µop that finds a free port would not.
        """
        test = self.test(scheme, blocker)
        if self._is_blind(blocker):
            return True
        recorded = all(map(self._context.sampler.has, (test.base, test.tested)))
        fills_ports = test.copies >= blocker.width
        return self._is_saturated(test) and recorded and (fills_ports or self._has_integer_delay(test))

    def _is_saturated(self, test: Test) -> bool:
        """Whether the flood keeps its ports busy for as long as the scheme takes alone."""
        needed = test.blocker.width * (self._context.cycles(test.scheme) - self._context.settings.epsilon)
        return test.copies >= needed

    def _has_integer_delay(self, test: Test) -> bool:
        """Whether a flood of fewer copies than ports was delayed by a whole number of µops."""
        surplus = self._delay(test) * test.blocker.width
        return math.isfinite(surplus) and abs(surplus - round(surplus)) <= CLEAR

    def test(self, scheme: str, blocker: Blocker) -> Test:
        """The experiments for a scheme and a blocker; in recorded data, with the recorded number of copies.

        Where several schemes of the blocker's class can flood the ports, the one that the scheme delays least
        is used: the others waste time beside it.
        """
        context = self._context
        max_copies = context.settings.most_copies
        copies = copies_to_flood(blocker.width, context.cycles(scheme), context.uops(scheme), max_copies)
        copies = max(copies, self._least.get((scheme, blocker.scheme), 0))
        recorded = [s for s in self._recorded_schemes(blocker) if context.sampler.floods(s, scheme)]
        if not recorded and scheme == blocker.scheme:
            recorded = [s for s in blocker.substitutes if context.sampler.floods(s, scheme)][:1]
        second = self._second.get((scheme, blocker.scheme))
        flooding = recorded or [blocker.scheme, *([second] if second else [])]
        tests = [self._test(scheme, blocker, flood_scheme, copies) for flood_scheme in flooding]
        return tests[0] if len(tests) == 1 else min(tests, key=self._delay)

    def lengthen(self, scheme: str, witnesses: Sequence[Witness]) -> bool:
        """Lengthen the floods that are too short for the µops that they show; whether there are any."""
        max_copies = self._context.settings.most_copies
        copies = {w.blocker: copies_needed(w, witnesses) for w in witnesses if is_too_short(w, witnesses)}
        self._least |= {(scheme, blocker): min(max_copies, needed) for blocker, needed in copies.items()}
        return any(w.copies < self._least.get((scheme, w.blocker), 0) for w in witnesses)

    def compare(self, seconds: Mapping[tuple[str, Blocker], str]) -> None:
        """Measure schemes beside a second flood of the same ports; the smaller delay counts from then on."""
        self._second |= {(scheme, blocker.scheme): second for (scheme, blocker), second in seconds.items()}
        sampler, samples = self._context.sampler, self._context.settings.samples
        needed: dict[Experiment, int] = {}
        for (scheme, blocker), second in seconds.items():
            max_copies = self._context.settings.most_copies
            copies = copies_to_flood(blocker.width, self._context.cycles(scheme), None, max_copies)
            test = self._test(scheme, blocker, second, copies)
            for experiment in (test.base, test.tested):
                needed[experiment] = sampler.n_samples(experiment, ROUGH_ERROR / blocker.width, samples)
        self._context.measure(needed)

    def _test(self, scheme: str, blocker: Blocker, flooding: str, requested_copies: int) -> Test:
        copies = self._context.sampler.copies(flooding, scheme, requested_copies)
        return Test(scheme, blocker, copies, flood_of(flooding, copies), flood_of(flooding, copies, scheme))

    def _recorded_schemes(self, blocker: Blocker) -> Sequence[str]:
        """The schemes with these ports whose floods were recorded; none on a machine."""
        if self._context.sampler.offers is None:
            return ()
        if blocker.scheme not in self._flooding:
            beside = self._context.sampler.recorded_partners
            schemes = (blocker.scheme, *blocker.substitutes)
            self._flooding[blocker.scheme] = [scheme for scheme in schemes if beside(scheme) >= TRUSTED]
        return self._flooding[blocker.scheme]

    def _delay(self, test: Test) -> float:
        """Delay in cycles, infinite where it is unknown; floods of the same ports differ in waste."""
        self._context.measure(dict.fromkeys((test.base, test.tested), self._context.settings.samples))
        base = self._context.sampler.reading(test.base).cycles
        tested = self._context.sampler.reading(test.tested).cycles
        return math.inf if base is None or tested is None or not self._is_saturated(test) else tested - base

    def measure(self, tests: Sequence[Test], run: int) -> None:
        """Measure tests, more often where they are unclear.

        A run needs samples of its own. Recorded data have one for each experiment, which all runs use.
        """
        visible = [test for test in tests if not self._is_blind(test.blocker)]
        if run > 1:
            self._context.sampler.forget(
                test.tested for test in visible if self._context.is_unstable(test.tested)
            )
        self._measure(visible, run, ROUGH_ERROR)
        self._measure_restless_floods(visible)
        self._measure([test for test in visible if not self._is_clear(test, run)], run, ERROR)

    def _measure(self, tests: Sequence[Test], run: int, error: float) -> None:
        """Sample tests until their standard error is at most `error` µops."""
        sampler, settings = self._context.sampler, self._context.settings
        needed: dict[Experiment, int] = {}
        for test in tests:
            width = test.blocker.width
            needed[test.base] = sampler.n_samples(test.base, BASE_ERROR / width, settings.samples)
            already = sampler.count(test.tested) if run > 1 else 0
            since = self._since.setdefault((test.tested, run), already)
            needed[test.tested] = since + sampler.n_samples(test.tested, error / width, settings.samples)
        self._context.measure(needed)

    def _measure_restless_floods(self, tests: Sequence[Test]) -> None:
        """Measure scattering floods again: many tests share each, and disturbances pass."""
        sampler, context = self._context.sampler, self._context
        for _ in range(MAX_REPETITIONS if sampler.repeats else 0):
            restless = {test.base: test.blocker.width for test in tests if self._is_restless(test.base)}
            if not restless:
                return
            sampler.forget(restless)
            context.measure(
                {
                    base: sampler.n_samples(base, BASE_ERROR / width, context.settings.samples)
                    for base, width in restless.items()
                }
            )

    def _is_restless(self, base: Experiment) -> bool:
        return self._context.sampler.reading(base).cycles is None or self._context.is_unstable(base)

    def _is_clear(self, test: Test, run: int) -> bool:
        """Whether the surplus is so close to a whole number that more samples would not change it."""
        sampler = self._context.sampler
        if self._context.settings.evidence == PORT_COUNTERS:
            return False
        base = sampler.reading(test.base).cycles
        tested = sampler.reading(test.tested, self._since[test.tested, run]).cycles
        if base is None or tested is None:
            return False
        surplus = surplus_by_time(base, tested, test.blocker.width)
        return abs(surplus - round(surplus)) <= CLEAR

    def witness(self, test: Test, uops_by_mask: Mapping[int, int], run: int) -> Witness:
        """The witness of a test; `uops_by_mask`: µops found on smaller port sets.

        A time between two whole numbers of µops counts as the lower one: a core may waste up to the setting
        `wasted`, but it cannot be quicker than its ports allow. Counters have no waste.
        """
        context = self._context
        if self._is_blind(test.blocker):
            return _undecided_witness(test, run)
        blocker, width = test.blocker, test.blocker.width
        since = self._since.get((test.tested, run), 0)
        if not context.sampler.repeats or since >= context.sampler.count(test.tested):
            since = 0  # there are no samples of this run alone
        base, tested = context.sampler.reading(test.base), context.sampler.reading(test.tested, since)
        surplus, tolerance, outcome = None, 0.0, WitnessOutcome.FAILED
        below = uops = 0
        counting = context.settings.evidence == PORT_COUNTERS
        ports = [PORT + self._ports[k] for k in ports_in(blocker.mask)] if counting else []
        uncounted = not tested.counters.keys() >= set(ports)
        if base.cycles is not None and tested.cycles is not None and not uncounted:
            if counting:
                surplus = surplus_by_counters(tested.counters, ports, test.copies)
                tolerance = context.settings.whole_epsilon
            else:
                surplus = surplus_by_time(base.cycles, tested.cycles, width)
                error = context.sampler.error(base) + context.sampler.error(tested)
                # Below one half, so that at most one whole number is near.
                tolerance = min(0.49, context.settings.whole_epsilon + error * width)
            nearest = round(surplus)
            if not counting and abs(surplus - nearest) > tolerance:
                nearest = math.floor(surplus)
            split = split_surplus(nearest, blocker.mask, uops_by_mask)
            below, uops = split.below, split.uops
            outcome = WitnessOutcome.USES if uops > 0 else WitnessOutcome.EVADES
            lost = context.settings.wasted if nearest >= 0 and not counting else 0.0
            if uops < 0 or not nearest - tolerance <= surplus <= nearest + max(tolerance, lost):
                outcome = WitnessOutcome.ODD
            if context.is_unstable(test.tested) or context.is_unstable(test.base):
                outcome = WitnessOutcome.UNSTABLE
        return Witness(
            blocker=blocker.scheme,
            mask=blocker.mask,
            copies=test.copies,
            base=test.base,
            base_cycles=base.cycles,
            tested=test.tested,
            cycles=tested.cycles,
            samples=tested.samples,
            surplus=surplus,
            below=below,
            uops=uops,
            tolerance=tolerance,
            seen=outcome,
            run=run,
        )

    def _is_blind(self, blocker: Blocker) -> bool:
        """Whether times beside this blocker show nothing (§6.2.3), so that they need not be measured."""
        return blocker.wide and self._context.settings.evidence != PORT_COUNTERS

    def is_free(self, scheme: str, blocker: Blocker, run: int) -> bool:
        """Whether the test shows that no µop of the scheme is confined to the blocked ports."""
        return self.witness(self.test(scheme, blocker), {}, run).seen is WitnessOutcome.EVADES

    def witnesses(self, scheme: str, blockers: Sequence[Blocker], run: int) -> list[Witness]:
        """One witness per blocker, narrow ones first, so that each can subtract µops found on subsets."""
        uops_by_mask: dict[int, int] = {}
        witnesses = []
        for blocker in blockers:
            witness = self.witness(self.test(scheme, blocker), uops_by_mask, run)
            if witness.seen is WitnessOutcome.USES:
                uops_by_mask[blocker.mask] = uops_by_mask.get(blocker.mask, 0) + witness.uops
            witnesses.append(witness)
        return witnesses


def _undecided_witness(test: Test, run: int) -> Witness:
    """The witness of a test that was not measured, because the bottleneck would hide a delay."""
    return Witness(
        blocker=test.blocker.scheme,
        mask=test.blocker.mask,
        copies=test.copies,
        base=test.base,
        base_cycles=None,
        tested=test.tested,
        cycles=None,
        samples=0,
        surplus=None,
        below=0,
        uops=0,
        tolerance=0.0,
        seen=WitnessOutcome.UNDECIDED,
        run=run,
    )
