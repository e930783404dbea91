"""The bottleneck beside the ports: how many instructions per cycle a processor lets through (§4.3, §6.2.3).

Experiments are grown from fast schemes as long as that raises the instructions per cycle (IPC). The highest
rate seen is `R_max` if something other than the ports causes it. Ports alone can do it too: with four ports
in all, no experiment exceeds four. So the ports that are there are counted first:

- A scheme that runs r times per cycle alone has (at least) r ports.
- Two schemes that together reach the rate u have overlapping ports, at most r + r' − u of them in common.
- A load and what computes on registers have none.
- Several schemes therefore have at least Σ r − Σ overlaps ports between them (Bonferroni's inequality).

Where that is more than the highest rate, and those schemes together reach no more than it, the ports are not
what limits them. This takes every scheme for one µop; with more µops the last condition fails first.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from inference.core.experiment import Experiment, Measured
from inference.core.protocols import Json
from inference.isa.domains import ExecutionDomain, undivided

EPSILON = 0.005
"""Cycles per instruction that a measurement may be off; two that differ by more than twice it do differ."""

SLOWEST = 1.0  # cycles: slower schemes cannot raise the rate by much (§4.3, step 1)
MOST_CANDIDATES = 48
MOST_KINDS = 12
ALIKE = 2  # schemes of one behaviour that are kept while kinds are told apart
STARTS = 4
MOST_STEPS = 24
COUNTED = 8  # groups of schemes whose ports are counted and that are measured together
HALF_A_PORT = 0.5  # port counts are whole numbers
NEARBY = 0.025  # a rate so close to a whole number, relatively, is that number
_STRAY = 3  # recorded readings that may be quicker than anything is
_ALIKE_ALONE = 4  # schemes that have to run at the bottleneck's rate alone
_REPEATS = (1, 2, 3, 4)  # multiples of the witness: other experiments of the same rate


@dataclass(frozen=True)
class BottleneckStep:
    """An experiment on the way to the highest rate; `ipc` in instructions per cycle."""

    experiment: Experiment
    ipc: float


@dataclass(frozen=True)
class Bottleneck:
    """What was found.

    `r_max` is None where the ports may be all that limits the processor: then `highest`, the greatest number
    of instructions per cycle that was seen, in `experiment`, is only a lower bound, and nothing beside the
    ports should be modelled. `trace` is how the rate rose to it. `ports` is the least number of ports that
    the schemes of `evidence` have, which is more than r_max explains. `at_limit` are schemes that reach
    r_max alone: how many ports beyond r_max they have cannot be measured (§6.2.3).
    """

    r_max: float | None
    experiment: Experiment | None
    trace: tuple[BottleneckStep, ...] = ()
    highest: float = 0.0
    evidence: Experiment | None = None
    ports: float = 0.0
    at_limit: tuple[str, ...] = ()
    experiments: int = 0

    @property
    def warning(self) -> str:
        """What to be careful about in a mapping inferred with it; "" for nothing."""
        if self.r_max is None or not self.at_limit:
            return ""
        shown = "; ".join(self.at_limit[:3]) + (" …" if len(self.at_limit) > 3 else "")
        return (
            f"{len(self.at_limit)} scheme(s) reach the bottleneck of {self.r_max:g} instructions per cycle "
            f"alone, so their port sets may be larger than measurements can tell: {shown}"
        )

    def as_json(self) -> Json:
        """For a report: numbers, and experiments as text."""
        return {
            "r_max": self.r_max,
            "highest": self.highest,
            "experiment": str(self.experiment or ""),
            "trace": [{"experiment": str(step.experiment), "ipc": step.ipc} for step in self.trace],
            "evidence": str(self.evidence or ""),
            "ports": self.ports,
            "at_limit": list(self.at_limit),
            "experiments": self.experiments,
            "warning": self.warning,
        }


class ExperimentTimer(Protocol):
    """Whoever can say how long any experiment takes."""

    def measure(self, experiments: Iterable[Experiment]) -> Iterable[Measured]:
        """One result per experiment, in the order asked."""
        ...


class Pulsing(Protocol):
    """Whoever wants to be called while a search goes on."""

    def pulse(self) -> None: ...


def measure_bottleneck(
    schemes: Iterable[str], measurer: ExperimentTimer, reporter: Pulsing, *, epsilon: float = EPSILON
) -> Bottleneck:
    """Find R_max with a few hundred experiments; the same answers give the same result.

    Lets `InterruptedRunError` through. Experiments without a usable result are passed over.
    """
    return _Search(measurer, reporter, epsilon).run(sorted(set(schemes)))


def recorded_bottleneck(measured: Iterable[Measured]) -> float | None:
    """R_max in instructions per cycle, as far as recorded data show it; None where they do not.

    Data were not recorded to show it, so no experiment can be grown. But where several schemes alone run at
    one rate, and nothing that was recorded is quicker, it is the bottleneck that they show: on ports alone,
    mixes of them with others would be quicker.
    """
    rates = [
        (each.experiment.length / each.cycles, each.experiment)
        for each in measured
        if each.usable and each.cycles
    ]
    if not rates or all(experiment.is_singleton for _, experiment in rates):
        return None
    # One reading in thousands is too fast.
    highest = sorted(rate for rate, _ in rates)[-_STRAY:][0]
    at_limit = [
        rate for rate, experiment in rates if experiment.is_singleton and rate >= highest * (1 - NEARBY)
    ]
    if len(at_limit) < _ALIKE_ALONE:
        return None
    return whole_rate(statistics.median(at_limit))


def reached_width(highest: float, width: int | None) -> float | None:
    """The measured slots per cycle where the highest rate of instructions comes up to them, else None.

    Ports alone can make that rate, too, which then is the least of both: so many instructions at most.
    """
    return None if width is None or abs(highest - width) > NEARBY * width else float(width)


def whole_rate(rate: float) -> float:
    """The whole number that a rate is close to; where it is close to none, two decimals of it."""
    nearest = float(max(1, round(rate)))
    return nearest if abs(rate - nearest) <= NEARBY * nearest else round(rate, 2)


class _Search:
    def __init__(self, measurer: ExperimentTimer, reporter: Pulsing, epsilon: float) -> None:
        self._measurer = measurer
        self._reporter = reporter
        self._epsilon = epsilon
        self._cycles: dict[Experiment, float | None] = {}
        self._rates: dict[str, float] = {}
        self._overlaps: dict[frozenset[str], float] = {}
        self._parts: Mapping[str, str] = {}

    def run(self, schemes: Sequence[str]) -> Bottleneck:
        self._parts = undivided(schemes)
        alone = {scheme: Experiment.of([scheme]) for scheme in schemes}
        self._ask(alone.values())
        rates = {s: self._ipc(e) for s, e in alone.items()}
        least = 1 / (SLOWEST + 2 * self._epsilon)
        self._rates = {scheme: rate for scheme, rate in rates.items() if rate >= least}
        if not self._rates:
            return Bottleneck(None, None, experiments=len(self._cycles))
        kinds = self._kinds(self._rates)
        trace = self._grown(kinds)
        found = self._counted(kinds, trace)
        if found is None:
            # Whatever is paired with a scheme that reaches the limit alone looks the same.
            slow = {s: rate for s, rate in self._rates.items() if 2 * rate < trace[-1].ipc + HALF_A_PORT}
            kinds = self._kinds(slow)
            if len(kinds) > 1:
                trace = max(trace, self._grown(kinds), key=lambda way: way[-1].ipc)
                found = self._counted(kinds, trace)
        return self._concluded(trace, found)

    def _ask(self, experiments: Iterable[Experiment]) -> None:
        missing = [e for e in dict.fromkeys(experiments) if e not in self._cycles]
        for result in self._measurer.measure(missing):
            self._cycles[result.experiment] = result.cycles if result.usable else None
            self._reporter.pulse()

    def _ipc(self, experiment: Experiment) -> float:
        """Instructions per cycle; 0 where there is no usable result."""
        cycles = self._cycles[experiment]
        return 0.0 if cycles is None else experiment.length / cycles

    def _full(self, *schemes: str) -> Experiment:
        """Each scheme as often as fits into a cycle when it is alone (§4.3, step 2)."""
        return Experiment.of({scheme: max(1, round(self._rates[scheme])) for scheme in schemes})

    def _kinds(self, rates: Mapping[str, float]) -> list[str]:
        """Some of the schemes that behave differently, those that bring most ports of their own first.

        Every new kind is paired with all remaining candidates; of those that agree in all pairs so far, at
        most `ALIKE` remain.
        """
        kinds: list[str] = []
        remaining = _spread(rates, MOST_CANDIDATES)
        while remaining and len(kinds) < MOST_KINDS:
            gains = {s: self._rates[s] - sum(self._overlap(s, kind) for kind in kinds) for s in remaining}
            newest = max(remaining, key=lambda s: (gains[s], self._rates[s], s))
            kinds.append(newest)
            remaining.remove(newest)
            self._ask(self._full(newest, other) for other in remaining)
            remaining = self._unlike(remaining, kinds)
        return kinds

    def _unlike(self, remaining: Sequence[str], kinds: Sequence[str]) -> list[str]:
        kept: list[str] = []
        groups: dict[tuple[float, ...], int] = {}
        for scheme in remaining:
            overlaps = [self._overlap(scheme, kind) for kind in kinds]
            if any(
                abs(self._rates[scheme] - self._rates[kind]) < HALF_A_PORT
                and overlap > self._rates[scheme] - HALF_A_PORT
                for kind, overlap in zip(kinds, overlaps, strict=True)
            ):
                continue  # the same ports as that kind, or it cannot be told apart from it
            profile = tuple(round(value) for value in (self._rates[scheme], *overlaps))
            groups[profile] = groups.get(profile, 0) + 1
            if groups[profile] <= ALIKE:
                kept.append(scheme)
        return kept

    def _overlap(self, a: str, b: str) -> float:
        """At most so many ports have both."""
        pair = frozenset((a, b))
        parts = {self._parts.get(a, ""), self._parts.get(b, "")}
        if len(parts) == 2 and "" not in parts and ExecutionDomain.MEMORY in parts:
            return 0.0
        if pair not in self._overlaps:
            together = self._ipc(self._full(a, b))
            smaller = min(self._rates[a], self._rates[b])
            common = self._rates[a] + self._rates[b] - together if together else smaller
            self._overlaps[pair] = min(max(common, 0.0), smaller)
        return self._overlaps[pair]

    def _grown(self, kinds: Sequence[str]) -> list[BottleneckStep]:
        """The way to the highest rate, from several starts: the fastest kind and the fastest pairs."""
        pairs = [self._full(a, b) for a, b in itertools.combinations(kinds, 2)]
        self._ask(pairs)
        starts = [self._full(max(kinds, key=lambda kind: (self._rates[kind], kind)))]
        starts += sorted(pairs, key=lambda e: (-self._ipc(e), e))[: STARTS - 1]
        self._ask(starts)
        ways = [self._climb(start, kinds) for start in starts]
        return max(ways, key=lambda way: way[-1].ipc)

    def _climb(self, start: Experiment, kinds: Sequence[str]) -> list[BottleneckStep]:
        """Add one instruction after another as long as that is faster by more than the noise."""
        way = [BottleneckStep(start, self._ipc(start))]
        while len(way) < MOST_STEPS:
            longer = [_plus(way[-1].experiment, kind) for kind in kinds]
            self._ask(longer)
            best = max(longer, key=lambda e: (self._ipc(e), e))
            if not self._is_faster(self._ipc(best), way[-1].ipc):
                break
            way.append(BottleneckStep(best, self._ipc(best)))
        return way

    def _is_faster(self, rate: float, than: float) -> bool:
        return rate > 0 and (than <= 0 or 1 / than - 1 / rate > 2 * self._epsilon)

    def _counted(self, kinds: Sequence[str], trace: list[BottleneckStep]) -> tuple[Experiment, float] | None:
        """Schemes that have more ports than the highest rate, and yet do not exceed it; how many ports.

        Where they do exceed it, `trace` becomes the way from there.
        """
        for group, ports in self._groups(kinds):
            together = self._full(*group)
            self._ask([together])
            rate, highest = self._ipc(together), trace[-1].ipc
            if self._is_faster(rate, highest):
                trace[:] = self._climb(together, kinds)
            elif (
                ports > highest + HALF_A_PORT
                and self._is_faster(ports, max(rate, highest))
                and not self._is_faster(highest, rate)
            ):
                return together, ports
        return None

    def _groups(self, kinds: Sequence[str]) -> list[tuple[tuple[str, ...], float]]:
        """The groups of kinds that have most ports for certain."""
        bounds: dict[tuple[str, ...], float] = {(): 0.0}
        for kind in kinds:
            bounds |= {
                (*group, kind): bound + self._rates[kind] - sum(self._overlap(kind, one) for one in group)
                for group, bound in bounds.items()
            }
        several = [(group, bound) for group, bound in bounds.items() if len(group) > 1]
        return sorted(several, key=lambda found: (-found[1], len(found[0]), found[0]))[:COUNTED]

    def _concluded(
        self, trace: Sequence[BottleneckStep], found: tuple[Experiment, float] | None
    ) -> Bottleneck:
        witness = trace[-1].experiment
        repeats = [Experiment.of({s: n * k for s, n in witness.terms}) for k in _REPEATS]
        self._ask(repeats)
        # The fastest of many noisy results is too fast; the witness's multiples have not been chosen so.
        rates = [rate for e in repeats if (rate := self._ipc(e)) > 0]
        if not rates:  # recorded data may have none of them
            return Bottleneck(None, None, trace=tuple(trace), experiments=len(self._cycles))
        highest = statistics.median(rates)
        r_max = None
        at_limit: tuple[str, ...] = ()
        evidence, ports = found or (None, 0.0)
        if found is not None:
            r_max = whole_rate(highest)
            at_limit = tuple(s for s, rate in self._rates.items() if not self._is_faster(r_max, rate))
        return Bottleneck(
            r_max=r_max,
            experiment=witness,
            trace=tuple(trace),
            highest=highest,
            evidence=evidence,
            ports=ports,
            at_limit=at_limit,
            experiments=len(self._cycles),
        )


def _plus(experiment: Experiment, scheme: str) -> Experiment:
    counts = dict(experiment.terms)
    counts[scheme] = counts.get(scheme, 0) + 1
    return Experiment.of(counts)


def _spread(rates: Mapping[str, float], most: int) -> list[str]:
    """At most so many schemes, of every speed and evenly over their names."""
    groups: dict[int, list[str]] = {}
    for scheme in sorted(rates):
        groups.setdefault(round(2 * rates[scheme]), []).append(scheme)
    chosen: list[str] = []
    for left, speed in zip(range(len(groups), 0, -1), sorted(groups), strict=True):
        share = (most - len(chosen)) // left
        names = groups[speed]
        step = max(1.0, len(names) / max(1, share))
        chosen += [names[int(k * step)] for k in range(min(len(names), share))]
    return chosen
