"""The bottleneck beside the ports: how many instructions per cycle a processor lets through (§4.3, §6.2.3).

Experiments are grown from fast schemes as long as that raises the instructions per cycle (IPC). The highest
rate measured is `R_max` if something other than the ports causes it. Ports alone can cause it too: with four
ports in all, no experiment exceeds four. So the existing ports are counted first:

- A scheme that runs r times per cycle alone has (at least) r ports.
- Two schemes that together reach the rate u have overlapping ports, at most r + r' − u of them in common.
- A load and an instruction that only computes on registers have none in common.
- Several schemes therefore have at least Σ r − Σ overlaps ports between them (Bonferroni's inequality).

Where that is more than the highest rate, and those schemes together do not exceed it, the ports are not the
limit. This takes every scheme for one µop; with more µops the last condition fails first.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from inference.core.experiment import Experiment, Measured
from inference.core.protocols import Json
from inference.isa.domains import ExecutionDomain, single_domains

EPSILON = 0.005
"""Error of a measurement in cycles per instruction: two that differ by more than twice this are different."""

MAX_CYCLES_ALONE = 1.0  # cycles: slower schemes cannot raise the rate by much (§4.3, step 1)
MAX_CANDIDATES = 48  # schemes that kinds are chosen from, of every speed
MAX_KINDS = 12  # all 2^12 groups of them are considered as evidence
MAX_PER_PROFILE = 2  # schemes of one behaviour that are kept while kinds are distinguished
STARTS = 4  # of climbs: the fastest kind, and the fastest pairs
MAX_STEPS = 24  # of a climb, which adds an instruction in each
MAX_GROUPS = 8  # groups of schemes whose ports are counted and that are measured together
HALF_PORT = 0.5  # port counts are whole numbers
RATE_TOLERANCE = 0.025  # a rate so close to a whole number, relatively, is that number
_MAX_OUTLIERS = 3  # recorded readings that may be quicker than anything is
_MIN_AT_LIMIT = 4  # schemes that have to run at the bottleneck's rate alone
_MULTIPLES = (1, 2, 3, 4)  # multiples of the witness: other experiments of the same rate


@dataclass(frozen=True)
class BottleneckStep:
    """An experiment on the way to the highest rate; `ipc` in instructions per cycle."""

    experiment: Experiment
    ipc: float


@dataclass(frozen=True)
class Bottleneck:
    """The result of a search for the bottleneck.

    Attributes:
        r_max: None where the ports may be the only limit. Then `highest`, the greatest number of
            instructions per cycle that was measured, in `experiment`, is only a lower bound, and no limit
            beside the ports should be modelled.
        trace: How the rate rose to it.
        ports: The least number of ports that the schemes of `evidence` have, which is more than r_max
            explains.
        at_limit: Schemes that reach r_max alone, so that the number of their ports beyond r_max cannot be
            measured (§6.2.3).
        experiments: Number of measured experiments.
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
        """A restriction of mappings inferred with this bottleneck, as a sentence; "" for none."""
        if self.r_max is None or not self.at_limit:
            return ""
        examples = "; ".join(self.at_limit[:3]) + (" …" if len(self.at_limit) > 3 else "")
        return (
            f"{len(self.at_limit)} scheme(s) reach the bottleneck of {self.r_max:g} instructions per cycle "
            f"alone, so their port sets may be larger than measurements can tell: {examples}"
        )

    def as_json(self) -> Json:
        """Numbers, and experiments as text, for a report."""
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
    """Measures how long any experiment takes."""

    def measure(self, experiments: Iterable[Experiment]) -> Iterable[Measured]:
        """One result per experiment, in the order of the experiments."""
        ...


class Pulse(Protocol):
    """Has a `pulse` that a search calls regularly."""

    def pulse(self) -> None: ...


def measure_bottleneck(
    schemes: Iterable[str], measurer: ExperimentTimer, reporter: Pulse, *, epsilon: float = EPSILON
) -> Bottleneck:
    """Find R_max with a few hundred experiments; equal measurements give equal results.

    Args:
        schemes: To make experiments of.
        measurer: Experiments without a usable result are skipped.
        reporter: Its pulse is called after every result.
        epsilon: Error of a measurement in cycles per instruction.

    Raises:
        InterruptedRunError: From the reporter's pulse.
    """
    return _Search(measurer, reporter, epsilon).run(sorted(set(schemes)))


def recorded_bottleneck(measured: Iterable[Measured]) -> float | None:
    """R_max in instructions per cycle, as far as recorded data show it; otherwise None.

    Recorded data cannot be extended by grown experiments. But where several schemes alone run at one rate and
    no recorded experiment is quicker, that rate is the bottleneck: on ports alone, mixes of them with others
    would be quicker.
    """
    rates = [
        (result.experiment.length / result.cycles, result.experiment)
        for result in measured
        if result.usable and result.cycles
    ]
    if not rates or all(experiment.is_singleton for _, experiment in rates):
        return None
    # One reading in thousands is too fast.
    highest = sorted(rate for rate, _ in rates)[-_MAX_OUTLIERS:][0]
    at_limit = [rate for rate, mix in rates if mix.is_singleton and rate >= highest * (1 - RATE_TOLERANCE)]
    if len(at_limit) < _MIN_AT_LIMIT:
        return None
    return rounded_rate(statistics.median(at_limit))


def width_if_reached(highest: float, width: int | None) -> float | None:
    """The measured slots per cycle where the highest rate of instructions reaches them, else None.

    Ports alone can cause that rate too. Then it is a lower bound of both, and still a correct limit.
    """
    return None if width is None or abs(highest - width) > RATE_TOLERANCE * width else float(width)


def rounded_rate(rate: float) -> float:
    """The whole number within `RATE_TOLERANCE` of a rate; otherwise the rate with two decimals."""
    nearest = float(max(1, round(rate)))
    return nearest if abs(rate - nearest) <= RATE_TOLERANCE * nearest else round(rate, 2)


class _Search:
    """One search; experiments are measured once, and compared by their instructions per cycle."""

    def __init__(self, measurer: ExperimentTimer, reporter: Pulse, epsilon: float) -> None:
        self._measurer = measurer
        self._reporter = reporter
        self._epsilon = epsilon
        self._cycles: dict[Experiment, float | None] = {}
        self._rates: dict[str, float] = {}  # {quick scheme: instructions per cycle alone}
        self._overlaps: dict[frozenset[str], float] = {}  # {two schemes: ports in common at most}
        self._parts: Mapping[str, str] = {}  # {scheme: the one part of the core that it is for}

    def run(self, schemes: Sequence[str]) -> Bottleneck:
        """Find the kinds, climb to the highest rate, and look for kinds with more ports than that."""
        self._parts = single_domains(schemes)
        alone = {scheme: Experiment.of([scheme]) for scheme in schemes}
        self._measure(alone.values())
        rates = {s: self._ipc(e) for s, e in alone.items()}
        least = 1 / (MAX_CYCLES_ALONE + 2 * self._epsilon)
        self._rates = {scheme: rate for scheme, rate in rates.items() if rate >= least}
        if not self._rates:
            return Bottleneck(None, None, experiments=len(self._cycles))
        kinds = self._kinds(self._rates)
        trace = self._best_climb(kinds)
        evidence = self._evidence(kinds, trace)
        if evidence is None:
            # Whatever is paired with a scheme that reaches the limit alone looks the same.
            slow = {s: rate for s, rate in self._rates.items() if 2 * rate < trace[-1].ipc + HALF_PORT}
            kinds = self._kinds(slow)
            if len(kinds) > 1:
                trace = max(trace, self._best_climb(kinds), key=lambda way: way[-1].ipc)
                evidence = self._evidence(kinds, trace)
        return self._bottleneck(trace, evidence)

    def _measure(self, experiments: Iterable[Experiment]) -> None:
        missing = [e for e in dict.fromkeys(experiments) if e not in self._cycles]
        for result in self._measurer.measure(missing):
            self._cycles[result.experiment] = result.cycles if result.usable else None
            self._reporter.pulse()

    def _ipc(self, experiment: Experiment) -> float:
        """Instructions per cycle; 0 where there is no usable result."""
        cycles = self._cycles[experiment]
        return 0.0 if cycles is None else experiment.length / cycles

    def _cycle_mix(self, *schemes: str) -> Experiment:
        """Each scheme as often as fits into a cycle when it is alone (§4.3, step 2)."""
        return Experiment.of({scheme: max(1, round(self._rates[scheme])) for scheme in schemes})

    def _kinds(self, rates: Mapping[str, float]) -> list[str]:
        """Some schemes that behave differently, those with most ports of their own first.

        Every new kind is paired with all remaining candidates; of candidates that agree in all pairs so far,
        at most `MAX_PER_PROFILE` remain.
        """
        kinds: list[str] = []
        remaining = _sample_by_speed(rates, MAX_CANDIDATES)
        while remaining and len(kinds) < MAX_KINDS:
            gains = {s: self._rates[s] - sum(self._overlap(s, kind) for kind in kinds) for s in remaining}
            newest = max(remaining, key=lambda s: (gains[s], self._rates[s], s))
            kinds.append(newest)
            remaining.remove(newest)
            self._measure(self._cycle_mix(newest, other) for other in remaining)
            remaining = self._distinct_profiles(remaining, kinds)
        return kinds

    def _distinct_profiles(self, remaining: Sequence[str], kinds: Sequence[str]) -> list[str]:
        """The candidates without those that have the ports of a kind, and with few of each profile."""
        distinct: list[str] = []
        groups: dict[tuple[float, ...], int] = {}
        for scheme in remaining:
            overlaps = [self._overlap(scheme, kind) for kind in kinds]
            if any(
                abs(self._rates[scheme] - self._rates[kind]) < HALF_PORT
                and overlap > self._rates[scheme] - HALF_PORT
                for kind, overlap in zip(kinds, overlaps, strict=True)
            ):
                continue  # the same ports as that kind, or indistinguishable from it
            profile = tuple(round(value) for value in (self._rates[scheme], *overlaps))
            groups[profile] = groups.get(profile, 0) + 1
            if groups[profile] <= MAX_PER_PROFILE:
                distinct.append(scheme)
        return distinct

    def _overlap(self, a: str, b: str) -> float:
        """An upper bound of the number of ports that both schemes can use."""
        pair = frozenset((a, b))
        parts = {self._parts.get(a, ""), self._parts.get(b, "")}
        if len(parts) == 2 and "" not in parts and ExecutionDomain.MEMORY in parts:
            return 0.0
        if pair not in self._overlaps:
            together = self._ipc(self._cycle_mix(a, b))
            smaller = min(self._rates[a], self._rates[b])
            common = self._rates[a] + self._rates[b] - together if together else smaller
            self._overlaps[pair] = min(max(common, 0.0), smaller)
        return self._overlaps[pair]

    def _best_climb(self, kinds: Sequence[str]) -> list[BottleneckStep]:
        """The steps to the highest rate, from several starts: the fastest kind and the fastest pairs."""
        pairs = [self._cycle_mix(a, b) for a, b in itertools.combinations(kinds, 2)]
        self._measure(pairs)
        starts = [self._cycle_mix(max(kinds, key=lambda kind: (self._rates[kind], kind)))]
        starts += sorted(pairs, key=lambda e: (-self._ipc(e), e))[: STARTS - 1]
        self._measure(starts)
        climbs = [self._climb(start, kinds) for start in starts]
        return max(climbs, key=lambda way: way[-1].ipc)

    def _climb(self, start: Experiment, kinds: Sequence[str]) -> list[BottleneckStep]:
        """Add one instruction after another as long as that is faster by more than the noise."""
        steps = [BottleneckStep(start, self._ipc(start))]
        while len(steps) < MAX_STEPS:
            longer = [_with_instruction(steps[-1].experiment, kind) for kind in kinds]
            self._measure(longer)
            best = max(longer, key=lambda e: (self._ipc(e), e))
            if not self._is_faster(self._ipc(best), steps[-1].ipc):
                break
            steps.append(BottleneckStep(best, self._ipc(best)))
        return steps

    def _is_faster(self, rate: float, than: float) -> bool:
        return rate > 0 and (than <= 0 or 1 / than - 1 / rate > 2 * self._epsilon)

    def _evidence(self, kinds: Sequence[str], trace: list[BottleneckStep]) -> tuple[Experiment, float] | None:
        """Schemes with more ports than the highest rate that do not exceed it, and the number of ports.

        None without such schemes. Where a group does exceed the rate, `trace` becomes the climb
        from there.
        """
        for group, ports in self._groups(kinds):
            together = self._cycle_mix(*group)
            self._measure([together])
            rate, highest = self._ipc(together), trace[-1].ipc
            if self._is_faster(rate, highest):
                trace[:] = self._climb(together, kinds)
            elif (
                ports > highest + HALF_PORT
                and self._is_faster(ports, max(rate, highest))
                and not self._is_faster(highest, rate)
            ):
                return together, ports
        return None

    def _groups(self, kinds: Sequence[str]) -> list[tuple[tuple[str, ...], float]]:
        """The groups of kinds with the most ports between them, and the lower bounds of these numbers."""
        bounds: dict[tuple[str, ...], float] = {(): 0.0}
        for kind in kinds:
            bounds |= {
                (*group, kind): bound + self._rates[kind] - sum(self._overlap(kind, old) for old in group)
                for group, bound in bounds.items()
            }
        groups = [(group, bound) for group, bound in bounds.items() if len(group) > 1]
        return sorted(groups, key=lambda group: (-group[1], len(group[0]), group[0]))[:MAX_GROUPS]

    def _bottleneck(
        self, trace: Sequence[BottleneckStep], excess: tuple[Experiment, float] | None
    ) -> Bottleneck:
        """The result; `excess`: schemes that have more ports than the rate explains, and how many."""
        witness = trace[-1].experiment
        repeats = [Experiment.of({s: n * k for s, n in witness.terms}) for k in _MULTIPLES]
        self._measure(repeats)
        # The fastest of many noisy results is too fast; the witness's multiples have not been chosen so.
        rates = [rate for e in repeats if (rate := self._ipc(e)) > 0]
        if not rates:  # recorded data may have none of them
            return Bottleneck(None, None, trace=tuple(trace), experiments=len(self._cycles))
        highest = statistics.median(rates)
        r_max = None
        at_limit: tuple[str, ...] = ()
        evidence, ports = excess or (None, 0.0)
        if excess is not None:
            r_max = rounded_rate(highest)
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


def _with_instruction(experiment: Experiment, scheme: str) -> Experiment:
    counts = dict(experiment.terms)
    counts[scheme] = counts.get(scheme, 0) + 1
    return Experiment.of(counts)


def _sample_by_speed(rates: Mapping[str, float], limit: int) -> list[str]:
    """At most `limit` schemes, of every speed and evenly over their names."""
    groups: dict[int, list[str]] = {}
    for scheme in sorted(rates):
        groups.setdefault(round(2 * rates[scheme]), []).append(scheme)
    names_to_measure: list[str] = []
    for groups_left, speed in zip(range(len(groups), 0, -1), sorted(groups), strict=True):
        share = (limit - len(names_to_measure)) // groups_left
        names = groups[speed]
        step = max(1.0, len(names) / max(1, share))
        names_to_measure += [names[int(k * step)] for k in range(min(len(names), share))]
    return names_to_measure
