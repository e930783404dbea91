"""The part of a flood's delay that is waste of the core and not µops.

Ports bound times from below. A core that chooses ports badly takes longer, so that a scheme can delay a flood
by more µops than it has; a delay by a part of a µop shows that. The number of µops is lowered as far as the
times of the scheme alone and beside one blocking instruction demand, and no further.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from inference.core.experiment import Experiment
from inference.core.explain.context import ERRORS, ExplainContext
from inference.core.explain.flooding import Blocker, is_quicker, surpluses
from inference.core.explain.problem import VerdictFact, Witness, WitnessOutcome
from inference.core.explain.soundness import MAX_HEADS, FloodingMembers
from inference.core.explain.surplus import usage_from
from inference.core.mapping import PortMapping, Uops
from inference.core.throughput import inverse_throughput

_CRISP = 0.06  # µops: a delay within this of a whole number shows no waste
_SIMULATED = 0.03  # share by which an experiment may exceed its simulation
_MAX_CHOICES = 4096  # combinations of numbers of µops that are tried

_MAX_BLOCKING = 20
"""Blocking instructions beside a scheme: where a µop needs more to show, it is lost in their time."""

_LONGER = 1.5
"""Factor on a scheme's time alone that the ports of a test shall need: a core wastes some of the time."""

_DELAYING = (WitnessOutcome.USES, WitnessOutcome.ODD)
_JUDGED = (WitnessOutcome.USES, WitnessOutcome.EVADES, WitnessOutcome.ODD)


@dataclass(frozen=True)
class WasteJudge:
    """Judges the witnesses of schemes beside these blocking instructions."""

    context: ExplainContext
    blockers: Sequence[Blocker]
    n_ports: int
    r_max: float | None

    def reduce_waste(self, scheme: str, witnesses: Sequence[Witness]) -> list[Witness]:
        """The witnesses with as many µops as the scheme's times allow; unchanged where no numbers fit.

        Delays by a part of a µop are lowered first. Some waste is a whole µop: on a Zen 5 a multiplication
        delays shifts by one, although these use other ports.
        """
        counts = _counts(witnesses)
        judged = [w for w in witnesses if w.seen in _JUDGED and w.surplus is not None]
        delayed = [w for w in judged if counts[w.mask] > 0]
        if self._fits(scheme, counts):
            is_odd = any(w.seen is WitnessOutcome.ODD for w in judged)
            return (
                _recount(witnesses, counts)
                if is_odd and self._explains(scheme, counts, judged)
                else [*witnesses]
            )
        for wasting in ([w for w in delayed if self._is_part(w)], delayed):
            for lowered in self._choices(scheme, wasting):
                trial = counts | lowered
                if self._fits(scheme, trial, exactly=True) and self._explains(scheme, trial, wasting):
                    return _recount(witnesses, trial)
        return list(witnesses)

    def contradiction(self, scheme: str, usage: Uops) -> VerdictFact | None:
        """An experiment that takes less time than these µops need; None for no contradiction."""
        for blocker, experiment in self._tests(scheme, usage):
            needed = self._least_cycles(usage, scheme, experiment, blocker)
            if is_quicker(self.context, experiment, needed):
                return VerdictFact(experiment, needed, self.context.sampler.reading(experiment).cycles)
        return None

    def measure(self, tested: Mapping[str, Sequence[Witness]]) -> None:
        """Measure at once all tests that bound the numbers of µops of these schemes from above."""
        samples: dict[Experiment, int] = {}
        for scheme, witnesses in tested.items():
            for blocker, experiment in self._tests(scheme, _usage(_counts(witnesses)) or ()):
                samples[experiment] = self._samples(blocker, experiment)
        self.context.measure(samples)

    @cached_property
    def most_wasted(self) -> float:
        """The largest delay, in µops, that a single µop causes beyond its own beside a blocking instruction.

        Their ports are known, so that the rest of a delay is waste; 0 where none of them wastes time.
        """
        pairs = list(itertools.permutations(self._proper.values(), 2))
        counts = surpluses(self.context, [(tested.scheme, flooded.scheme) for tested, flooded in pairs])
        wasted = (
            counts[tested.scheme, flooded.scheme] - (tested.mask & flooded.mask == tested.mask)
            for tested, flooded in pairs
            if (tested.scheme, flooded.scheme) in counts
        )
        return max(wasted, default=0.0)

    def second_floods(self, tested: Mapping[str, Sequence[Witness]]) -> dict[tuple[str, Blocker], str]:
        """{(scheme, blocking instruction): another scheme with its ports, whose flood must confirm µops}.

        These are µops that the scheme's time alone does not show, on a core that wastes time: a conflict with
        one flood's result bus or registers does not repeat with another flood. Empty on a core without waste.
        """
        if not self._core_wastes:
            return {}
        return {
            (scheme, self._proper[witness.blocker]): second
            for scheme, witnesses in tested.items()
            for witness in witnesses
            if self._is_hidden(scheme, witness)
            and (second := self._seconds.get(witness.blocker, scheme)) != scheme
        }

    @cached_property
    def _core_wastes(self) -> bool:
        """Whether any candidate wastes time, alone or beside another."""
        context = self.context
        is_delayed = self.most_wasted > context.settings.whole_epsilon
        return is_delayed or any(map(context.wastes_alone, context.widths))

    def _is_hidden(self, scheme: str, witness: Witness) -> bool:
        """Whether a witness shows µops that fit on their ports within the scheme's time alone."""
        count = witness.below + witness.uops
        if witness.seen not in _DELAYING or count <= 0 or witness.blocker == scheme:
            return False
        time = self.context.cycles(scheme) - self.context.settings.epsilon
        return count < witness.mask.bit_count() * time

    @cached_property
    def _proper(self) -> dict[str, Blocker]:
        return {b.scheme: b for b in self.blockers if not (b.improper or b.wide)}

    @cached_property
    def _seconds(self) -> dict[str, str]:
        """{blocking instruction: a scheme of another mnemonic that floods its ports}."""
        members, seconds = FloodingMembers(self.context), {}
        for blocker in self._proper.values():
            mnemonic = blocker.scheme.partition(" ")[0]
            substitutes = [s for s in blocker.substitutes if s.partition(" ")[0] != mnemonic]
            if (second := members.first_sound(substitutes[:MAX_HEADS])) is not None:
                seconds[blocker.scheme] = second
        return seconds

    def _is_part(self, witness: Witness) -> bool:
        """Whether a delay is no whole number of µops."""
        assert witness.surplus is not None
        error = witness.tolerance - self.context.settings.whole_epsilon
        return abs(witness.surplus - round(witness.surplus)) > _CRISP + max(0.0, error)

    def _choices(self, scheme: str, witnesses: Sequence[Witness]) -> Iterator[dict[int, int]]:
        """Numbers of µops per port set, those with the least waste first."""
        options = [[(w, count) for count in self._options(scheme, w)] for w in witnesses]
        if not witnesses or math.prod(map(len, options)) > _MAX_CHOICES:
            return
        for choice in sorted(
            itertools.product(*options), key=lambda counts: sum(itertools.starmap(_wasted_cycles, counts))
        ):
            yield {witness.mask: count for witness, count in choice}

    def _options(self, scheme: str, witness: Witness) -> Iterable[int]:
        """Numbers of µops from the most that the scheme's time alone allows down to 0."""
        assert witness.surplus is not None
        time = self.context.cycles(scheme) + self.context.settings.alone_epsilon
        max_wasted = min(
            max(witness.below + witness.uops, round(witness.surplus)), int(time * witness.mask.bit_count())
        )
        return range(max_wasted, -1, -1)

    def _explains(self, scheme: str, counts: Mapping[int, int], witnesses: Sequence[Witness]) -> bool:
        """Whether the core can waste as much as these numbers of µops imply.

        The limit is the simulation of its scheduler where that is known, else `most_wasted` per µop.
        """
        simulated, usage = self.context.problem.simulated, _usage(counts)
        if usage is None:
            return False
        max_wasted = (
            self.most_wasted * max(1, sum(count for _, count in usage)) if simulated is None else math.inf
        )
        for witness in witnesses:
            assert witness.cycles is not None
            assert witness.surplus is not None
            wasted = witness.surplus - counts[witness.mask]
            if wasted <= max(witness.tolerance, self.context.settings.wasted):
                continue
            if wasted > max_wasted + witness.tolerance:
                return False
            if simulated is None:
                continue
            flooding = {other: ((witness.mask, 1),) for other in witness.tested.schemes if other != scheme}
            cycles = simulated(self._mapping({scheme: usage, **flooding}), witness.tested)
            if cycles is not None and witness.cycles > (1 + _SIMULATED) * cycles:
                return False
        return True

    def _fits(self, scheme: str, counts: Mapping[int, int], *, exactly: bool = False) -> bool:
        """Whether no time is below what these µops need, and the scheme alone takes about as long as they do.

        `exactly`: the scheme alone may be slower by noise only, as for numbers of µops that were lowered.
        """
        usage = _usage(counts)
        if usage is None:
            return False
        context, settings = self.context, self.context.settings
        alone = context.alone[scheme]
        explained = self._least_cycles(usage, scheme, alone.experiment)
        error = context.sampler.error(alone)
        off = settings.epsilon + ERRORS * error if exactly else settings.alone_epsilon + error
        if not explained - off <= context.cycles(scheme) <= explained + off:
            return False
        tests = self._tests(scheme, usage)
        context.measure({experiment: self._samples(blocker, experiment) for blocker, experiment in tests})
        return self.contradiction(scheme, usage) is None

    def _tests(self, scheme: str, usage: Uops) -> Iterator[tuple[Blocker, Experiment]]:
        """The scheme beside blocking instructions on whose ports some of its µops are confined.

        Each is used once, and in such numbers that ports are the limit rather than the scheme's other limits.
        With recorded data, which cost nothing, all blocking instructions are used.
        """
        blocked = {blocker.mask for blocker in self.blockers}
        for blocker in self.blockers:
            inside = [(mask, count) for mask, count in usage if mask & blocker.mask == mask]
            shows_more = any(mask == blocker.mask or mask not in blocked for mask, _ in inside)
            if blocker.improper or blocker.wide or blocker.scheme == scheme:
                continue
            if self.context.sampler.offers is None and not shows_more:
                continue
            confined = sum(count for _, count in inside)
            busy = self.context.cycles(scheme) * blocker.width  # µops that the ports execute in that time
            # One; the fewest with which ports clearly take longer than the scheme; more, because of waste.
            beside = {1, math.floor(busy + 0.25) + 1 - confined, math.ceil(_LONGER * busy) - confined}
            for copies in sorted(copies for copies in beside if copies > 0):
                experiment = Experiment.of([scheme, *[blocker.scheme] * copies])
                if copies <= _MAX_BLOCKING and self.context.sampler.has(experiment):
                    yield blocker, experiment

    def _samples(self, blocker: Blocker, experiment: Experiment) -> int:
        return self.context.sampler.n_samples(experiment, 0.1 / blocker.width, self.context.settings.samples)

    def _least_cycles(
        self, usage: Uops, scheme: str, experiment: Experiment, blocker: Blocker | None = None
    ) -> float:
        """Cycles that the experiment takes at least if the scheme has these µops."""
        known_usage = {scheme: usage} | ({blocker.scheme: ((blocker.mask, 1),)} if blocker else {})
        return inverse_throughput(self._mapping(known_usage), experiment)

    def _mapping(self, usage: Mapping[str, Uops]) -> PortMapping:
        return PortMapping(tuple(map(str, range(self.n_ports))), usage, self.r_max)


def _counts(witnesses: Iterable[Witness]) -> dict[int, int]:
    """{port set: number of µops confined to it} according to the witnesses."""
    return {w.mask: w.below + w.uops for w in witnesses if w.seen in _JUDGED}


def _usage(counts: Mapping[int, int]) -> Uops | None:
    """The µops with these numbers confined to each port set; None where there are no such µops."""
    return usage_from(
        {str(mask): count for mask, count in counts.items()}, {str(mask): mask for mask in counts}
    )


def _wasted_cycles(witness: Witness, count: int) -> float:
    """Cycles of the witness's delay that `count` µops do not explain."""
    assert witness.surplus is not None
    return max(0.0, witness.surplus - count) / witness.mask.bit_count()


def _recount(witnesses: Sequence[Witness], counts: Mapping[int, int]) -> list[Witness]:
    """The witnesses with these numbers of µops; the rest of each surplus is waste, within the tolerance."""
    usage = _usage(counts) or ()
    recounted = []
    for witness in witnesses:
        if witness.seen not in _JUDGED or witness.surplus is None:
            recounted.append(witness)
            continue
        below = sum(n for mask, n in usage if mask != witness.mask and mask & witness.mask == mask)
        uops = counts[witness.mask] - below
        tolerance = max(witness.tolerance, abs(witness.surplus - counts[witness.mask]))
        outcome = WitnessOutcome.USES if uops else WitnessOutcome.EVADES
        recounted.append(replace(witness, below=below, uops=uops, tolerance=tolerance, seen=outcome))
    return recounted
