"""Cycles that code takes because of its size alone, read from measurements of experiments.

**Loops** (`measured_loop_code`). How many instructions a core fetches together depends on their position in
the lines of its caches, by rules that differ from core to core and that few vendors document. The bodies of
experiments are loops, of many sizes. Each iteration is fetched anew behind a taken branch, so a loop that
fetching delays takes whole cycles, with any instructions. On a Zen 5, loops of 102 instructions in
374 bytes take 18 cycles or more, those in 408 bytes 15, where ports and slots allow 13.

**Straight code** (`code_bounds`). The number of instructions per line of decoded code depends on their
lengths. Such a bound shows where many experiments with code of one length have the same rate, which no
experiment of that length exceeds while those of other lengths do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from random import Random

import numpy as np

from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping, Uops, with_sums
from inference.core.throughput import inverse_throughput
from inference.isa.machine_bodies import CannotMeasureError, LoopSize

MAX_EXPERIMENTS = 20_000
"""Largest number of experiments: assembling one takes a millisecond."""
_INTEGER_TOLERANCE = 0.1
"""Cycles by which repeated measurements deviate from a whole number."""
_MAX_OUTLIER_SHARE = 0.01
"""Share of the experiments of one size that may have been measured wrong."""
_MAX_EXPLAINED_SHARE = 0.97
"""Share of the cycles up to which ports and slots do not explain them."""
_MIN_RATE_SHARE = 0.5
"""Share of the highest instructions per cycle of any loop: a slower loop waits for results."""
_QUICK_RATIO = 1.25
"""Multiple of the cycles per instruction at the best rate, up to which a scheme runs at that rate."""
_MIN_LOOPS = 3
"""Smallest number of unexplained experiments that agree. Of 211 blocks on a recorded Zen 5 that such sizes
decide, 3 are quicker by more than 3 %; of 15 more that two experiments would decide, 5 are.
"""
_MIN_KINDS = 2
"""Smallest number of kinds by the µops of their schemes: one kind could be waste of the scheduler."""
_PORTLESS_KIND: frozenset[Uops] = frozenset({()})
"""The kind of experiments that need no port, on which a scheduler can waste nothing."""

_LENGTH_STEP = 0.1
"""Bytes per instruction by which code of one length class may differ."""
_QUANTILE = 0.01
"""Share of the experiments of one length that may have been measured too quick."""
_RATE_TOLERANCE = 0.03
_MIN_EXPERIMENTS = 10
_MIN_SHARE = 0.02
_MIN_SCHEME_SHARE = 0.2
"""Share of the schemes that must occur at a rate: else it could be that of the ports of a few."""


@dataclass(frozen=True, slots=True)
class _TimedLoop:
    """`copies` of an experiment in a loop of `cycles`; `kind`: the µops of its schemes."""

    experiment: Experiment
    copies: int
    cycles: float
    kind: frozenset[Uops]


def measured_loop_code(
    measured: Mapping[Experiment, float],
    size_of: Callable[[Experiment], LoopSize],
    mapping: PortMapping,
) -> dict[tuple[int, int], float]:
    """{(instructions, bytes): cycles} of loop bodies whose fetching delays them.

    Args:
        measured: {experiment: cycles}; of more than `MAX_EXPERIMENTS`, a random sample counts.
        size_of: The loop body of an experiment. Raises `CannotMeasureError` for those measured elsewhere.
        mapping: For the cycles that ports and slots allow.
    """
    highest_rate = max((experiment.length / cycles for experiment, cycles in measured.items()), default=0.0)
    quick = [mix for mix, cycles in measured.items() if mix.length >= _MIN_RATE_SHARE * highest_rate * cycles]
    if len(quick) > MAX_EXPERIMENTS:
        quick = Random(0).sample(quick, MAX_EXPERIMENTS)  # noqa: S311  no secret
    allowed = allowed_cycles(mapping, measured)
    by_size: defaultdict[tuple[int, int], list[_TimedLoop]] = defaultdict(list)
    for experiment in quick:
        try:
            body = size_of(experiment)
        except CannotMeasureError:
            continue
        kind = frozenset(mapping.usage.get(scheme, ()) for scheme in experiment.schemes)
        timed = _TimedLoop(experiment, body.copies, measured[experiment] * body.copies, kind)
        by_size[body.instructions, body.size].append(timed)
    return {
        size: cycles
        for size, loops in by_size.items()
        if (cycles := _common_cycles(loops, allowed)) is not None
    }


def allowed_cycles(
    mapping: PortMapping, measured: Mapping[Experiment, float]
) -> Callable[[Experiment], float | None]:
    """A function that gives the cycles that ports and slots allow an experiment, with waste among equal
    ports.

    A scheme without µops that alone is nearly as quick as possible needs slots only. The function returns
    None where another scheme has no µops.
    """
    alone: dict[str, float] = {}
    for experiment, cycles in measured.items():
        if len(experiment.terms) == 1:
            scheme, count = experiment.terms[0]
            alone[scheme] = min(alone.get(scheme, inf), cycles / count)
    quickest = min((cycles / experiment.length for experiment, cycles in measured.items()), default=0.0)
    portless = [
        scheme for scheme in alone.keys() - mapping.usage.keys() if alone[scheme] <= _QUICK_RATIO * quickest
    ]
    extended = with_sums(mapping, dict.fromkeys(portless, ()))
    ports = {scheme: uops[0][0] for scheme, uops in mapping.usage.items() if len(uops) == 1}

    def allowed(experiment: Experiment) -> float | None:
        if any(scheme not in extended.usage for scheme in experiment.schemes):
            return None
        bounds = [inverse_throughput(extended, experiment)]
        terms = [(scheme, count) for scheme, count in experiment.terms if scheme in mapping.usage]
        bounds += [count * alone.get(scheme, 0.0) for scheme, count in terms]
        for mask in {ports[scheme] for scheme, _ in terms if scheme in ports}:
            among = [(scheme, count) for scheme, count in terms if not ports.get(scheme, ~mask) & ~mask]
            bounds.append(sum(count * alone.get(scheme, 0.0) for scheme, count in among))
        return max(bounds)

    return allowed


def _common_cycles(
    loops: Sequence[_TimedLoop], allowed: Callable[[Experiment], float | None]
) -> float | None:
    """The whole number of cycles that several loops take, and none less; None without one."""
    times = sorted(loop.cycles for loop in loops)
    least = times[int(_MAX_OUTLIER_SHARE * len(times))]
    common = float(round(least))
    if len(loops) < _MIN_LOOPS or abs(least - common) > _INTEGER_TOLERANCE:
        return None
    unexplained = [
        loop.kind
        for loop in loops
        if abs(loop.cycles - common) <= _INTEGER_TOLERANCE
        and (bound := allowed(loop.experiment)) is not None
        and bound * loop.copies <= _MAX_EXPLAINED_SHARE * common
    ]
    kinds = set(unexplained)
    differ = len(kinds) >= _MIN_KINDS or _PORTLESS_KIND in kinds
    return common if differ and len(unexplained) >= _MIN_LOOPS else None


def code_bounds(
    measured: Mapping[Experiment, float], code_bytes: Mapping[Experiment, float]
) -> dict[Experiment, float]:
    """{experiment: cycles that its code takes at least}, for code of a length that shows a bound.

    Args:
        measured: {experiment: cycles}.
        code_bytes: {experiment: mean bytes per instruction of its loop body}; it may contain further
            experiments whose bounds are needed.
    """
    if len(set(code_bytes.values())) == 1:  # of words, say: the common rate may be that of any ports
        return {}
    schemes = {scheme for experiment in measured for scheme in experiment.schemes}
    classes: defaultdict[int, list[tuple[float, Experiment]]] = defaultdict(list)
    for experiment, cycles in measured.items():
        if experiment in code_bytes:
            classes[_length_class(code_bytes[experiment])].append((cycles / experiment.length, experiment))
    bounds = {
        length: bound
        for length, rates in classes.items()
        if (bound := _bound(rates, len(schemes))) is not None
    }
    return {
        experiment: bounds[_length_class(size)] * experiment.length
        for experiment, size in code_bytes.items()
        if _length_class(size) in bounds
    }


def _length_class(size: float) -> int:
    return int(size / _LENGTH_STEP)


def _bound(rates: list[tuple[float, Experiment]], schemes: int) -> float | None:
    """Cycles per instruction that many experiments of one length take and none falls below; else None."""
    cycles = np.array([rate for rate, _ in rates])
    least = float(np.quantile(cycles, _QUANTILE, method="lower"))
    near = [experiment for rate, experiment in rates if rate <= (1 + _RATE_TOLERANCE) * least]
    if len(near) < max(_MIN_EXPERIMENTS, _MIN_SHARE * len(rates)):
        return None
    occurring = {scheme for experiment in near for scheme in experiment.schemes}
    return least if len(occurring) >= _MIN_SCHEME_SHARE * schemes else None
