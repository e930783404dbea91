"""Which part of a flood's delay is waste of the core, and no µop: what other times leave no room for.

Ports bound times from below. A core that chooses them unluckily takes longer, so that a scheme can delay a
flood by more µops than it has; a part of a µop shows that. As many are taken away as the times of the scheme
alone and beside one blocking instruction demand, and no more.
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
from inference.core.explain.problem import Seen, VerdictFact, Witness
from inference.core.explain.soundness import MOST_HEADS, FloodingMembers
from inference.core.explain.surplus import usage_from
from inference.core.mapping import PortMapping, Uops
from inference.core.throughput import inverse_throughput

_CRISP = 0.06  # off a whole number of µops: less shows no waste
_SIMULATED = 0.03  # by which an experiment may take longer than its simulation
_MOST_CHOICES = 4096
_MOST_BESIDE = 20
"""Blocking instructions beside a scheme: where more are needed to show a µop, it is lost in their time."""
_LONGER = 1.5
"""Times what a scheme takes alone that an experiment with it is made to need, since a core wastes some."""
_SHOWN = (Seen.USES, Seen.ODD)
_JUDGED = (Seen.USES, Seen.EVADES, Seen.ODD)


@dataclass(frozen=True)
class WasteJudge:
    """Judges the witnesses of schemes beside these blocking instructions."""

    context: ExplainContext
    blockers: Sequence[Blocker]
    n_ports: int
    r_max: float | None

    def settled(self, scheme: str, witnesses: Sequence[Witness]) -> list[Witness]:
        """The witnesses with as many µops as the scheme's times allow; as they are where nothing fits.

        Delays by a part of a µop are lowered first. Some waste a whole one: on a Zen 5 a multiplication takes
        a slot of shifts, which run elsewhere.
        """
        counts = _counts(witnesses)
        judged = [w for w in witnesses if w.seen in _JUDGED and w.surplus is not None]
        delayed = [w for w in judged if counts[w.mask] > 0]
        if self._fits(scheme, counts):
            is_odd = any(w.seen is Seen.ODD for w in judged)
            return (
                _recounted(witnesses, counts)
                if is_odd and self._explains(scheme, counts, judged)
                else [*witnesses]
            )
        for wasting in ([w for w in delayed if self._is_part(w)], delayed):
            for lowered in self._choices(scheme, wasting):
                chosen = counts | lowered
                if self._fits(scheme, chosen, exactly=True) and self._explains(scheme, chosen, wasting):
                    return _recounted(witnesses, chosen)
        return list(witnesses)

    def contradiction(self, scheme: str, usage: Uops) -> VerdictFact | None:
        """An experiment that takes less time than these µops need; None for none."""
        for blocker, experiment in self._tests(scheme, usage):
            needed = self._needed(usage, scheme, experiment, blocker)
            if is_quicker(self.context, experiment, needed):
                return VerdictFact(experiment, needed, self.context.sampler.reading(experiment).cycles)
        return None

    def measure(self, tested: Mapping[str, Sequence[Witness]]) -> None:
        """Take the times that tell how many µops schemes may have at most, of all at once."""
        samples: dict[Experiment, int] = {}
        for scheme, witnesses in tested.items():
            for blocker, experiment in self._tests(scheme, _usage(_counts(witnesses)) or ()):
                samples[experiment] = self._samples(blocker, experiment)
        self.context.measure(samples)

    @cached_property
    def most_wasted(self) -> float:
        """µops by which a single one delays a flood beyond those that it has there, as this core shows.

        Blocking instructions do, whose ports are known: nothing where none of them wastes anything.
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
        """{(scheme, blocking instruction): another with its ports}, of µops that a second flood must confirm.

        Those of which the scheme's own time shows nothing, on a core that wastes: what meets one flood's
        results on their way, or its registers, passes another.
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
        """Whether any candidate wastes, alone or beside another."""
        context = self.context
        is_delayed = self.most_wasted > context.settings.whole_epsilon
        return is_delayed or any(map(context.wastes_alone, context.widths))

    def _is_hidden(self, scheme: str, witness: Witness) -> bool:
        count = witness.below + witness.uops
        if witness.seen not in _SHOWN or count <= 0 or witness.blocker == scheme:
            return False
        time = self.context.cycles(scheme) - self.context.settings.epsilon
        return count < witness.mask.bit_count() * time

    @cached_property
    def _proper(self) -> dict[str, Blocker]:
        return {each.scheme: each for each in self.blockers if not (each.improper or each.wide)}

    @cached_property
    def _seconds(self) -> dict[str, str]:
        """{blocking instruction: one of another mnemonic that floods its ports}."""
        members, seconds = FloodingMembers(self.context), {}
        for blocker in self._proper.values():
            mnemonic = blocker.scheme.partition(" ")[0]
            others = [each for each in blocker.substitutes if each.partition(" ")[0] != mnemonic]
            if (second := members.first_sound(others[:MOST_HEADS])) is not None:
                seconds[blocker.scheme] = second
        return seconds

    def _is_part(self, witness: Witness) -> bool:
        """Whether a delay is no whole number of µops."""
        assert witness.surplus is not None
        error = witness.tolerance - self.context.settings.whole_epsilon
        return abs(witness.surplus - round(witness.surplus)) > _CRISP + max(0.0, error)

    def _choices(self, scheme: str, witnesses: Sequence[Witness]) -> Iterator[dict[int, int]]:
        """Numbers of µops for port sets, those first that take least time for waste."""
        options = [[(w, count) for count in self._options(scheme, w)] for w in witnesses]
        if not witnesses or math.prod(map(len, options)) > _MOST_CHOICES:
            return
        for choice in sorted(
            itertools.product(*options), key=lambda counts: sum(itertools.starmap(_wasted, counts))
        ):
            yield {witness.mask: count for witness, count in choice}

    def _options(self, scheme: str, witness: Witness) -> Iterable[int]:
        """As many µops as the scheme alone leaves time for, and fewer."""
        assert witness.surplus is not None
        time = self.context.cycles(scheme) + self.context.settings.alone_epsilon
        most = min(
            max(witness.below + witness.uops, round(witness.surplus)), int(time * witness.mask.bit_count())
        )
        return range(most, -1, -1)

    def _explains(self, scheme: str, counts: Mapping[int, int], witnesses: Sequence[Witness]) -> bool:
        """Whether the core may waste as much as is taken for waste.

        As much as its scheduler wastes, where it is known; else as much per µop as single ones do.
        """
        simulated, usage = self.context.problem.simulated, _usage(counts)
        if usage is None:
            return False
        most = self.most_wasted * max(1, sum(count for _, count in usage)) if simulated is None else math.inf
        for witness in witnesses:
            assert witness.cycles is not None
            assert witness.surplus is not None
            wasted = witness.surplus - counts[witness.mask]
            if wasted <= max(witness.tolerance, self.context.settings.wasted):
                continue
            if wasted > most + witness.tolerance:
                return False
            if simulated is None:
                continue
            flooding = {each: ((witness.mask, 1),) for each in witness.tested.schemes if each != scheme}
            cycles = simulated(self._mapping({scheme: usage, **flooding}), witness.tested)
            if cycles is not None and witness.cycles > (1 + _SIMULATED) * cycles:
                return False
        return True

    def _fits(self, scheme: str, counts: Mapping[int, int], *, exactly: bool = False) -> bool:
        """Whether nothing was quicker than these µops allow, nor the scheme alone much slower.

        `exactly`: not slower by more than noise, as numbers of µops have to be that only waste leads to.
        """
        usage = _usage(counts)
        if usage is None:
            return False
        context, settings = self.context, self.context.settings
        alone = context.alone[scheme]
        explained = self._needed(usage, scheme, alone.experiment)
        error = context.sampler.error(alone)
        off = settings.epsilon + ERRORS * error if exactly else settings.alone_epsilon + error
        if not explained - off <= context.cycles(scheme) <= explained + off:
            return False
        tests = self._tests(scheme, usage)
        context.measure({experiment: self._samples(blocker, experiment) for blocker, experiment in tests})
        return self.contradiction(scheme, usage) is None

    def _tests(self, scheme: str, usage: Uops) -> Iterator[tuple[Blocker, Experiment]]:
        """The scheme beside blocking instructions whose ports some of its µops are confined to.

        Beside one, and beside as many that ports limit them rather than what else limits the scheme. What was
        recorded costs nothing: then beside all of them, as any may have been quicker than µops allow.
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
            busy = self.context.cycles(scheme) * blocker.width
            beside = {1, math.floor(busy + 0.25) + 1 - confined, math.ceil(_LONGER * busy) - confined}
            for copies in sorted(copies for copies in beside if copies > 0):
                experiment = Experiment.of([scheme, *[blocker.scheme] * copies])
                if copies <= _MOST_BESIDE and self.context.sampler.has(experiment):
                    yield blocker, experiment

    def _samples(self, blocker: Blocker, experiment: Experiment) -> int:
        return self.context.sampler.enough(experiment, 0.1 / blocker.width, self.context.settings.samples)

    def _needed(
        self, usage: Uops, scheme: str, experiment: Experiment, blocker: Blocker | None = None
    ) -> float:
        known = {scheme: usage} | ({blocker.scheme: ((blocker.mask, 1),)} if blocker else {})
        return inverse_throughput(self._mapping(known), experiment)

    def _mapping(self, usage: Mapping[str, Uops]) -> PortMapping:
        return PortMapping(tuple(map(str, range(self.n_ports))), usage, self.r_max)


def _counts(witnesses: Iterable[Witness]) -> dict[int, int]:
    """{port set: µops that are confined to it}, as far as witnesses show."""
    return {w.mask: w.below + w.uops for w in witnesses if w.seen in _JUDGED}


def _usage(counts: Mapping[int, int]) -> Uops | None:
    """The µops of which so many are confined to each port set; None where that cannot be."""
    return usage_from(
        {str(mask): count for mask, count in counts.items()}, {str(mask): mask for mask in counts}
    )


def _wasted(witness: Witness, count: int) -> float:
    assert witness.surplus is not None
    return max(0.0, witness.surplus - count) / witness.mask.bit_count()


def _recounted(witnesses: Sequence[Witness], counts: Mapping[int, int]) -> list[Witness]:
    """The witnesses with these numbers of µops; what lies between is waste."""
    usage = _usage(counts) or ()
    recounted = []
    for witness in witnesses:
        if witness.seen not in _JUDGED or witness.surplus is None:
            recounted.append(witness)
            continue
        below = sum(n for mask, n in usage if mask != witness.mask and mask & witness.mask == mask)
        uops = counts[witness.mask] - below
        tolerance = max(witness.tolerance, abs(witness.surplus - counts[witness.mask]))
        seen = Seen.USES if uops else Seen.EVADES
        recounted.append(replace(witness, below=below, uops=uops, tolerance=tolerance, seen=seen))
    return recounted
