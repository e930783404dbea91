"""Which part of a flood's delay is waste of the core, and no µop: what other times leave no room for.

Ports bound times from below. A core that chooses them unluckily takes longer, so that a scheme can delay a
flood by more µops than it has; a part of a µop shows that. As many are taken away as the times of the scheme
alone and beside one blocking instruction demand, and no more.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from inference.core.experiment import Experiment
from inference.core.explain.context import ExplainContext
from inference.core.explain.flooding import Blocker, is_quicker, usage_from
from inference.core.explain.problem import Seen, Witness
from inference.core.mapping import PortMapping, Uops
from inference.core.throughput import inverse_throughput

MOST_SHARE = 0.15
"""Share of a flood's time that is taken for waste, where nothing is known of this core: Zen 5 has 13 %."""

_MOST_UOPS = 1.3  # of one flood's delay
_CRISP = 0.06  # off a whole number of µops: less shows no waste
_SIMULATED = 0.03  # by which an experiment may take longer than its simulation
_JUDGED = (Seen.USES, Seen.EVADES, Seen.ODD)


@dataclass(frozen=True)
class WasteJudge:
    """Judges the witnesses of schemes beside these blocking instructions."""

    context: ExplainContext
    blockers: Sequence[Blocker]
    n_ports: int
    r_max: float | None

    def settled(self, scheme: str, witnesses: Sequence[Witness]) -> list[Witness]:
        """The witnesses with as many µops as the scheme's times allow; as they are where nothing fits."""
        surpluses = {w.mask: w.below + w.uops for w in witnesses if w.seen in _JUDGED}
        wasting = [w for w in witnesses if self._may_be_waste(w)]
        if not wasting or self._fits(scheme, surpluses):
            return list(witnesses)
        for lowered in self._choices(wasting):
            counts = surpluses | lowered
            if self._fits(scheme, counts) and self._explains(scheme, counts, wasting):
                return _recounted(witnesses, counts)
        return list(witnesses)

    def _may_be_waste(self, witness: Witness) -> bool:
        if witness.seen not in _JUDGED or witness.surplus is None or witness.below + witness.uops < 1:
            return False
        error = witness.tolerance - self.context.settings.whole_epsilon
        return abs(witness.surplus - round(witness.surplus)) > _CRISP + max(0.0, error)

    def _choices(self, witnesses: Sequence[Witness]) -> Iterator[dict[int, int]]:
        """Numbers of µops for port sets, those first that take least time for waste."""
        options = [[(w, count) for count in self._counts(w)] for w in witnesses]
        choices = sorted(
            itertools.product(*options), key=lambda each: sum(map(_wasted, *zip(*each, strict=True)))
        )
        for choice in choices:
            yield {witness.mask: count for witness, count in choice}

    def _counts(self, witness: Witness) -> list[int]:
        assert witness.surplus is not None
        assert witness.cycles is not None
        most = MOST_SHARE * witness.cycles if self.context.problem.simulated is None else math.inf
        whole = witness.below + witness.uops
        return [
            count
            for count in range(max(whole, round(witness.surplus)), -1, -1)
            if count == whole
            or (
                witness.surplus - count <= _MOST_UOPS
                and (witness.surplus - count) / witness.mask.bit_count() <= most
            )
        ]

    def _explains(self, scheme: str, surpluses: Mapping[int, int], witnesses: Sequence[Witness]) -> bool:
        """Whether the core's scheduler, where it is known, wastes as much as is taken for waste."""
        simulated, usage = self.context.problem.simulated, _usage(surpluses)
        if simulated is None or usage is None:
            return usage is not None
        for witness in witnesses:
            assert witness.cycles is not None
            if witness.surplus is None or witness.surplus - surpluses[witness.mask] <= 0.5:
                continue
            flooding = {each: ((witness.mask, 1),) for each in witness.tested.schemes if each != scheme}
            cycles = simulated(self._mapping({scheme: usage, **flooding}), witness.tested)
            if cycles is not None and witness.cycles > (1 + _SIMULATED) * cycles:
                return False
        return True

    def _fits(self, scheme: str, surpluses: Mapping[int, int]) -> bool:
        """Whether nothing was quicker than these µops allow, nor the scheme alone much slower."""
        usage = _usage(surpluses)
        if usage is None:
            return False
        context, settings = self.context, self.context.settings
        alone = context.alone[scheme]
        explained = self._needed(usage, scheme, alone.experiment)
        off = settings.alone_epsilon + context.sampler.error(alone)
        if not explained - off <= context.cycles(scheme) <= explained + off:
            return False
        return not any(
            is_quicker(context, pair, self._needed(usage, scheme, pair, blocker))
            for blocker, pair in self._pairs(scheme, usage)
        )

    def _pairs(self, scheme: str, usage: Uops) -> Iterator[tuple[Blocker, Experiment]]:
        """The scheme beside one instance of a blocking instruction that shares ports with it."""
        context = self.context
        for blocker in self.blockers:
            pair = Experiment.of([scheme, blocker.scheme])
            if (
                blocker.improper
                or blocker.scheme == scheme
                or not any(mask & blocker.mask for mask, _ in usage)
            ):
                continue
            if context.sampler.has(pair):
                error = 0.1 / blocker.width
                context.measure({pair: context.sampler.enough(pair, error, context.settings.samples)})
                yield blocker, pair

    def _needed(
        self, usage: Uops, scheme: str, experiment: Experiment, blocker: Blocker | None = None
    ) -> float:
        known = {scheme: usage} | ({blocker.scheme: ((blocker.mask, 1),)} if blocker else {})
        return inverse_throughput(self._mapping(known), experiment)

    def _mapping(self, usage: Mapping[str, Uops]) -> PortMapping:
        return PortMapping(tuple(map(str, range(self.n_ports))), usage, self.r_max)


def _usage(surpluses: Mapping[int, int]) -> Uops | None:
    """The µops of which so many are confined to each port set; None where that cannot be."""
    return usage_from(
        {str(mask): count for mask, count in surpluses.items()}, {str(mask): mask for mask in surpluses}
    )


def _wasted(witness: Witness, count: int) -> float:
    assert witness.surplus is not None
    return max(0.0, witness.surplus - count) / witness.mask.bit_count()


def _recounted(witnesses: Sequence[Witness], surpluses: Mapping[int, int]) -> list[Witness]:
    """The witnesses with other numbers of µops, narrow port sets first; what lies between is waste."""
    found: dict[int, int] = {}
    recounted = []
    for witness in witnesses:
        if witness.seen not in _JUDGED or witness.surplus is None:
            recounted.append(witness)
            continue
        below = sum(n for mask, n in found.items() if mask != witness.mask and mask & witness.mask == mask)
        uops = found[witness.mask] = surpluses[witness.mask] - below
        tolerance = max(witness.tolerance, abs(witness.surplus - surpluses[witness.mask]))
        seen = Seen.USES if uops else Seen.EVADES
        recounted.append(replace(witness, below=below, uops=uops, tolerance=tolerance, seen=seen))
    return recounted
