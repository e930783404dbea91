"""Infers a core's scheduler policy: simulated with it, experiments take as long as measured.

Policies are searched by improving one parameter after the other from several starts, on half of the
experiments of every group; the other half judges. A policy that does not explain the other half better than
ports and slots alone is rejected: the core's scheduler is then unknown, and predictions are made without it.
A core may waste nothing on experiments and yet delay code with dependences: the oldest ready µop goes first,
even where a chain waits for a younger one. So a policy that explains either, and is not worse on the other,
is accepted.

Experiments consist of independent instructions, which keep every queue full. Several policies take equally
long on these, but differ on code whose instructions wait for each other: there simulated policies lose cycles
that cores do not lose. On a Zen 4, the policy that explains mixes best (1.9 % off instead of 2.7 %) makes 34
% of such blocks more than 3 % slower than they are. A bound that is too low hides a bottleneck; one that is
too high invents it. So such code takes part in the choice, and a policy that overstates it is rejected.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from inference.core.errors import InvalidInputError
from inference.core.simulation.program import Binding, SchedulerPolicy, SharedResultBus, SimulatedProgram
from inference.core.simulation.steady_state import simulate
from inference.core.tables import Floats

MIN_GAIN = 0.2
"""Share of the error of ports and slots that a policy must explain, on experiments that did not choose it,
and on dependent code."""

MIN_REDUCTION = 0.005
"""Smallest reduction of that error: repeated measurements differ by less."""

MIN_BODIES = 4
"""Smallest number of experiments: half of them choose a policy, the other half judge it."""

EQUIVALENCE_MARGIN = 0.10
"""Policies whose error is larger by no more than this share of it fit as well as the best."""

OVERSTATED_RATIO = 1.03
"""Multiple of the longest of repeated measurements above which a prediction is too slow."""

MAX_OVERSTATED_SHARE = 0.1
"""Share of blocks that a policy may overstate beyond those that are overstated without it.

Of seven simulated cores with random policies, searches on half of the mixes and 48 blocks found policies that
overstate 0.5 to 5.5 % of 200 other blocks, since queue lengths are never known exactly, and once 24 %: that
core's queue length was not among those tried. By chance, 48 blocks can have twice as many. Policies chosen by
mixes alone overstate up to 35 %.
"""

_TIE = 0.0005
"""Difference of errors below which a policy with fewer mechanisms is preferred: repeated measurements of one
code differ by more.
"""

_MAX_SWEEPS = 4  # over all parameters, from one start

Setting = Mapping[str, object]
"""{name: value} of some parameters of a policy."""


@dataclass(frozen=True)
class ScheduledExperiment:
    """A measured loop body.

    Args:
        program: The loop body on the ports of the current mapping.
        measured: Cycles per iteration of the body.
        bound: Cycles per iteration that ports and slots allow; of dependent code, chains and front end, too.
        group: Experiments of one group test the same thing: half of them judge a policy that the others
            chose.
        floor: Cycles per iteration that it takes with any policy, 0 where only the simulation counts.
        longest: The most cycles per iteration of repeated measurements; None where it was measured once.
    """

    program: SimulatedProgram
    measured: float
    bound: float
    group: str = ""
    floor: float = 0.0
    longest: float | None = None

    def predicted(self, policy: SchedulerPolicy, seed: int = 0) -> float:
        """Cycles per iteration with this policy."""
        return max(simulate(self.program, policy, seed).cycles, self.floor)


@dataclass(frozen=True)
class PolicyFit:
    """A policy and its mean relative errors, on the experiments that chose it and on the others."""

    policy: SchedulerPolicy
    fitted: float
    judged: float


@dataclass(frozen=True)
class SchedulerFinding:
    """The result of inferring a core's scheduler.

    Args:
        best: The policy that fits best; None where none explains enough (`MIN_GAIN`).
        closest: The policy that fits best, whether or not it explains enough; None where none was simulated.
        alternatives: Others that fit as well (`EQUIVALENCE_MARGIN`), the best first.
        without: Mean relative error of ports and slots alone, on the experiments that judge.
        code: Errors of the closest policy on dependent code; None without such code.
        tried: Number of policies that were simulated.
        finished: Whether the search ended by itself rather than by its time limit.
    """

    best: PolicyFit | None
    closest: PolicyFit | None
    alternatives: tuple[PolicyFit, ...]
    without: float
    code: CodeScores | None
    tried: int
    finished: bool


def infer_scheduler(
    experiments: Sequence[ScheduledExperiment],
    pulse: Callable[[], bool],
    seed: int = 0,
    shared_buses: Iterable[SharedResultBus] = (),
    progress: Callable[[int, float], None] = lambda tried, error: None,
    dependent_code: Sequence[ScheduledExperiment] = (),
    likely: Iterable[SchedulerPolicy] = (),
) -> SchedulerFinding:
    """Search for the policy of a core.

    Args:
        experiments: At least `MIN_BODIES`, with the register operands and the code that were measured.
        pulse: Called between simulations; False ends the search with the best result so far.
        seed: Seed of starts and of ties in simulations.
        shared_buses: Buses that may be shared, from the ports of kinds of µops.
        progress: Called after each simulated policy with their number and the least error so far.
        dependent_code: Loops whose instructions wait for each other. Half of them take part in the choice; a
            policy that does not hold on the other half is rejected.
        likely: Policies of which the best is the first start, such as those inferred under other ports.

    Raises:
        InvalidInputError: For fewer than `MIN_BODIES` experiments.
    """
    if len(experiments) < MIN_BODIES:
        raise InvalidInputError(
            f"a scheduler is inferred from {MIN_BODIES} experiments or more, not {len(experiments)}"
        )
    choosing, judging = _halves(experiments)
    choosing_code, judging_code = _halves(dependent_code)
    search = _Search([*choosing, *choosing_code], pulse, seed, tuple(shared_buses), progress)
    finished = search.run(likely)
    fits = [
        PolicyFit(policy, error, mean_error(judging, policy, seed))
        for policy, error in search.closest(EQUIVALENCE_MARGIN)
    ]
    closest = fits[0] if fits else None
    without = float(np.mean([abs(experiment.bound / experiment.measured - 1) for experiment in judging]))
    code = _scores_on(judging_code, closest.policy, seed) if closest and judging_code else None
    explained = closest is not None and is_accepted(closest.judged, without, code)
    return SchedulerFinding(
        closest if explained else None,
        closest,
        tuple(fits[1:]) if explained else (),
        without,
        code,
        search.tried,
        finished,
    )


def is_explained(error: float, without: float) -> bool:
    """Whether an error is clearly smaller than that of ports and slots alone."""
    return error <= min((1 - MIN_GAIN) * without, without - MIN_REDUCTION)


def is_accepted(judged: float, without: float, code: CodeScores | None) -> bool:
    """Whether a policy explains experiments or dependent code, without being worse on the other.

    Args:
        judged: Its mean relative error on experiments that did not choose it.
        without: Error of ports and slots alone.
        code: Its errors on dependent code; None where none was measured.
    """
    if code is None:
        return is_explained(judged, without)
    errors = [(judged, without), (code.error, code.error_without)]
    if code.overstates or any(error > other + MIN_REDUCTION for error, other in errors):
        return False
    return any(is_explained(error, other) for error, other in errors)


def mean_error(experiments: Sequence[ScheduledExperiment], policy: SchedulerPolicy, seed: int = 0) -> float:
    """Mean relative error of the predicted cycles."""
    predicted = np.array([experiment.predicted(policy, seed) for experiment in experiments])
    measured: Floats = np.array([experiment.measured for experiment in experiments])
    return float(np.mean(abs(predicted / measured - 1)))


def _scores_on(code: Sequence[ScheduledExperiment], policy: SchedulerPolicy, seed: int) -> CodeScores:
    return code_scores(
        np.array([loop.measured for loop in code]),
        np.array([loop.longest or loop.measured for loop in code]),
        np.array([loop.bound for loop in code]),
        np.array([loop.predicted(policy, seed) for loop in code]),
    )


def candidates_of_shared_buses(kinds: Iterable[tuple[int, int]]) -> list[SharedResultBus]:
    """Shared buses that a core may have: of longer results with those of one cycle on other ports.

    Args:
        kinds: (ports, latency in cycles) of kinds of µops.
    """
    latencies = sorted(set(kinds))
    quick = [ports for ports, latency in latencies if latency == 1]
    slow = dict.fromkeys(ports for ports, latency in latencies if latency > 1)
    return [SharedResultBus(ports, other) for ports in slow for other in quick if not other & ports]


def judging_mask(groups: Sequence[str]) -> list[bool]:
    """Which experiments judge, by their groups: every second one of each, or of all where no group has two.

    >>> judging_mask(["a", "a", "b"])
    [False, True, False]
    """
    numbers: Counter[str] = Counter()
    judging = []
    for group in groups:
        judging.append(bool(numbers[group] % 2))
        numbers[group] += 1
    return judging if any(judging) else [bool(number % 2) for number in range(len(groups))]


def _halves(
    experiments: Sequence[ScheduledExperiment],
) -> tuple[list[ScheduledExperiment], list[ScheduledExperiment]]:
    """The experiments that choose a policy, and those that judge it."""
    halves: tuple[list[ScheduledExperiment], list[ScheduledExperiment]] = ([], [])
    judging = judging_mask([member.group for member in experiments])
    for experiment, judges in zip(experiments, judging, strict=True):
        halves[judges].append(experiment)
    return halves


class _Search:
    """Coordinate descent over the parameters of policies, each policy simulated once."""

    def __init__(
        self,
        experiments: Sequence[ScheduledExperiment],
        pulse: Callable[[], bool],
        seed: int,
        shared_buses: tuple[SharedResultBus, ...],
        progress: Callable[[int, float], None],
    ) -> None:
        self._experiments = experiments
        self._pulse = pulse
        self._progress = progress
        self._seed = seed
        self._random = random.Random(seed)  # noqa: S311  no secret
        self._errors: dict[SchedulerPolicy, float] = {}
        # Parameters that matter only together are one axis: the age of queue lengths hides the steps in which
        # they are compared, and buses are shared only where results conflict.
        conflicts: list[Setting] = [
            {"writeback_conflicts": False, "shared_buses": ()},
            {"writeback_conflicts": True, "shared_buses": ()},
            *({"writeback_conflicts": True, "shared_buses": (shared,)} for shared in shared_buses),
        ]
        self._axes: list[list[Setting]] = [
            [{"load_age": age, "load_step": step} for age in (0, 1, 2) for step in (1, 2, 3, 4)],
            conflicts,
            [{"speculative_select": select} for select in (False, True)],
            [{"queue": queue} for queue in (4, 6, 8, 12, 16)],
            [{"queued": queued} for queued in (32, 48, 88, 160)],
            [{"binding": binding} for binding in Binding if binding is not Binding.IN_ORDER],
        ]

    @property
    def tried(self) -> int:
        """Number of policies that were simulated."""
        return len(self._errors)

    def run(self, likely: Iterable[SchedulerPolicy]) -> bool:
        """Search from all starts; False if `pulse` ended the search."""
        # A descent along one parameter at a time may end where only two changed together would help: from
        # early binding, none reached a core that binds at issue and whose mixes waste nothing.
        starts = (
            self._best([SchedulerPolicy(), *likely]),
            SchedulerPolicy(Binding.EVEN),
            SchedulerPolicy(Binding.AT_ISSUE),
            self._random_policy(),
        )
        for start in starts:
            policy: SchedulerPolicy | None = start
            for _ in range(_MAX_SWEEPS):
                before = policy
                for axis in self._axes:
                    policy = self._improve_axis(policy, axis)
                    if policy is None:
                        return False
                if policy == before:
                    break
        return True

    def closest(self, share: float) -> list[tuple[SchedulerPolicy, float]]:
        """Policies whose error exceeds the least by at most `share` of it, the best first: of those that
        are tied, the one with the fewest mechanisms.
        """
        ranked = sorted(self._errors.items(), key=lambda entry: entry[1])
        tied = [entry for entry in ranked if entry[1] <= ranked[0][1] + _TIE] if ranked else []
        best = min(tied, key=lambda entry: _mechanisms(entry[0]), default=None)
        close = [entry for entry in ranked if entry[1] <= (1 + share) * ranked[0][1] and entry is not best]
        return close if best is None else [best, *close]

    def _improve_axis(
        self, policy: SchedulerPolicy | None, axis: Sequence[Setting]
    ) -> SchedulerPolicy | None:
        """The best policy along one axis; None where the search has to stop."""
        if policy is None:
            return None
        policies = (_with_setting(policy, setting) for setting in axis)
        return self._best([candidate for candidate in policies if candidate is not None])

    def _best(self, policies: Iterable[SchedulerPolicy]) -> SchedulerPolicy | None:
        """The policy with the least error, the first of equal ones; None where the search has to stop."""
        errors: dict[SchedulerPolicy, float] = {}
        for policy in policies:
            if policy not in self._errors:
                if not self._pulse():
                    return None
                self._errors[policy] = mean_error(self._experiments, policy, self._seed)
                self._progress(len(self._errors), min(self._errors.values()))
            errors[policy] = self._errors[policy]
        return min(errors, key=errors.__getitem__)

    def _random_policy(self) -> SchedulerPolicy:
        while True:
            settings = [self._random.choice(axis) for axis in self._axes]
            merged = {name: value for setting in settings for name, value in setting.items()}
            if (policy := _with_setting(SchedulerPolicy(), merged)) is not None:
                return policy


def _mechanisms(policy: SchedulerPolicy) -> int:
    """Number of properties by which the policy differs from issuing the oldest µops to any free ports."""
    return sum(
        (
            policy.binding is not Binding.AT_ISSUE,
            policy.load_age > 0,
            policy.writeback_conflicts,
            bool(policy.shared_buses),
            policy.speculative_select,
        )
    )


def _with_setting(policy: SchedulerPolicy, setting: Setting) -> SchedulerPolicy | None:
    """The policy with these parameters, None where they are not compatible."""
    try:
        return replace(policy, **setting)  # type: ignore[arg-type]  # names of fields with their values
    except InvalidInputError:
        return None


@dataclass(frozen=True, slots=True)
class CodeScores:
    """Mean relative errors with a policy and without, and shares of blocks that are predicted too slow."""

    error: float
    error_without: float
    overstated: float
    overstated_without: float

    @property
    def overstates(self) -> bool:
        """Whether the policy makes more code too slow than inexact parameters explain."""
        return self.overstated > self.overstated_without + MAX_OVERSTATED_SHARE


def code_scores(measured: Floats, longest: Floats, bounds: Floats, predicted: Floats) -> CodeScores:
    """Errors of predictions with a policy on code, and of bounds without one.

    Args:
        measured: Cycles per iteration.
        longest: The most of repeated measurements, cycles per iteration.
        bounds: Cycles that ports, slots and chains allow.
        predicted: Cycles with the policy.
    """
    limits = OVERSTATED_RATIO * longest
    return CodeScores(
        float(np.mean(abs(predicted / measured - 1))),
        float(np.mean(abs(bounds / measured - 1))),
        float(np.mean(predicted > limits)),
        float(np.mean(bounds > limits)),
    )
