"""Loops that fetching holds up: what they take by their number of instructions and bytes alone.

How many instructions a core fetches together depends on how they lie in the lines of its caches, by rules
that differ from core to core and that few vendors tell. The bodies of experiments are loops, of many sizes.
Each iteration is fetched anew behind a taken branch, so that a loop which fetching holds up takes whole
cycles, whatever its instructions are. On a Zen 5, loops of 102 instructions in 374 bytes take 18 cycles or
more, those in 408 bytes 15, where ports and slots allow 13.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from random import Random

from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping, Uops, with_sums
from inference.core.throughput import inverse_throughput
from inference.isa.machine_bodies import CannotMeasureError, LoopSize

LoopCode = Mapping[tuple[int, int], float]
"""{(instructions, bytes): cycles of an iteration} of loop bodies; what closes the loop is not counted."""

MOST_EXPERIMENTS = 20_000
"""To assemble one takes a millisecond."""
_WHOLE = 0.1
"""Cycles by which a whole number is missed in repeated measurements."""
_OUTLIERS = 0.01
"""Share of the experiments of one size that may have been measured wrong."""
_ALLOWED = 0.97
"""Share of the cycles up to which ports and slots do not explain them."""
_SLOWEST = 0.5
"""Of the most instructions per cycle in any loop: what takes longer than at this rate waits for results."""
_QUICK = 1.25
"""Times the cycles of an instruction at the best rate, up to which a scheme runs at it."""
_FEWEST = 3
"""Unexplained experiments that agree. Of 211 blocks on a recorded Zen 5 that such sizes decide, 3 are quicker
by more than 3 %; of 15 more that two experiments would decide, 5 are."""
_FEWEST_KINDS = 2
"""By the µops of their schemes, lest it be what the core wastes on some µops beside each other."""
_NO_PORT: frozenset[Uops] = frozenset({()})
"""Of experiments that need no port, on which it can waste nothing."""


@dataclass(frozen=True, slots=True)
class _TimedLoop:
    """So many `copies` of an experiment in a loop of so many `cycles`. `kind`: µops of its schemes."""

    experiment: Experiment
    copies: int
    cycles: float
    kind: frozenset[Uops]


def measured_loop_code(
    measured: Mapping[Experiment, float],
    size_of: Callable[[Experiment], LoopSize],
    mapping: PortMapping,
) -> dict[tuple[int, int], float]:
    """The sizes of loop bodies at which fetching holds them up.

    Args:
        measured: {experiment: cycles}; of more than `MOST_EXPERIMENTS`, a random sample counts.
        size_of: The loop body of an experiment. Raises `CannotMeasureError` for those measured elsewhere.
        mapping: What ports and slots allow.
    """
    most = max((experiment.length / cycles for experiment, cycles in measured.items()), default=0.0)
    quick = [mix for mix, cycles in measured.items() if mix.length >= _SLOWEST * most * cycles]
    if len(quick) > MOST_EXPERIMENTS:
        quick = Random(0).sample(quick, MOST_EXPERIMENTS)  # noqa: S311  no secret
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
    """What ports and slots allow experiments, with what operations of the same ports waste alone.

    A scheme without µops that alone is nearly as quick as can be needs slots only. None where another scheme
    has no µops.
    """
    alone: dict[str, float] = {}
    for experiment, cycles in measured.items():
        if len(experiment.terms) == 1:
            scheme, count = experiment.terms[0]
            alone[scheme] = min(alone.get(scheme, inf), cycles / count)
    quickest = min((cycles / experiment.length for experiment, cycles in measured.items()), default=0.0)
    portless = [
        scheme for scheme in alone.keys() - mapping.usage.keys() if alone[scheme] <= _QUICK * quickest
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


def closing_slots(pairs: Sequence[str], fused: Collection[str] | None) -> int:
    """Of the decrement and the jump that close a loop of copies; 0 where no pair stands for these.

    One where it is not known what the core fuses.
    """
    apart = fused is not None and not any(pair in fused for pair in pairs)
    return 1 + apart if pairs else 0


def time_of_code(code: LoopCode, body: LoopSize) -> tuple[float, str] | None:
    """Cycles per copy of a loop body of this size, and why; None where it was not found to be held up."""
    cycles = code.get((body.instructions, body.size))
    if cycles is None:
        return None
    why = f"loops of {body.instructions} instructions in {body.size} bytes take {cycles:g} cycles"
    return cycles / body.copies, why


def may_be_held_up(code: LoopCode, body: LoopSize, cycles: float) -> bool:
    """Whether a loop of a size that was not measured may take longer than the `cycles` per copy of other
    bounds: loops of instructions as long on average were held up, by more."""
    if not code or (body.instructions, body.size) in code:
        return False
    lengths = [size / instructions for instructions, size in code]
    worst = max(cycles / instructions for (instructions, _), cycles in code.items())
    mean, rate = body.size / body.instructions, cycles * body.copies / body.instructions
    return min(lengths) <= mean <= max(lengths) and rate < worst


def _common_cycles(
    loops: Sequence[_TimedLoop], allowed: Callable[[Experiment], float | None]
) -> float | None:
    """The whole number of cycles that several loops take, and none less; None without one."""
    times = sorted(loop.cycles for loop in loops)
    least = times[int(_OUTLIERS * len(times))]
    common = float(round(least))
    if len(loops) < _FEWEST or abs(least - common) > _WHOLE:
        return None
    unexplained = [
        loop.kind
        for loop in loops
        if abs(loop.cycles - common) <= _WHOLE
        and (bound := allowed(loop.experiment)) is not None
        and bound * loop.copies <= _ALLOWED * common
    ]
    kinds = set(unexplained)
    differ = len(kinds) >= _FEWEST_KINDS or _NO_PORT in kinds
    return common if differ and len(unexplained) >= _FEWEST else None
