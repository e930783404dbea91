"""How far two mappings agree up to what no judged experiment can show.

A µop is hidden in a scheme where having it there or not changes no prediction of the judged experiments by
more than the noise: one that can use as many ports as the core issues slots, or the address of a store, which
its data outlasts. Two mappings agree on a scheme up to what is hidden if what each has beside the other is
hidden.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from inference.core.experiment import Experiment
from inference.core.identity.renaming import best_renaming
from inference.core.mapping import PortMapping, Uops
from inference.core.throughput import inverse_throughput, issue_bound, port_bound, work_of

NOISE = 0.02
"""Relative difference of two predictions that no measurement would tell apart."""


def agreement_up_to_hidden(a: PortMapping, b: PortMapping, judged: Iterable[Experiment]) -> float | None:
    """The share of schemes, 0 to 1, that agree up to what is hidden, under the best renaming of b's ports.

    Of the schemes that occur in `judged`, experiments of schemes that both describe; others are passed over,
    and None is the answer where none are left. It is `a` that is judged: its predictions, with its limits and
    slots, show what is hidden.
    """
    common = sorted(a.usage.keys() & b.usage.keys())
    first, second = a.restricted(common), b.restricted(common)
    known = [each for each in dict.fromkeys(judged) if all(s in first.usage for s in each.schemes)]
    if not known:
        return None
    other = best_renaming(first, second).apply(second).usage
    containing = _containing(first, known)
    agreeing = sum(
        all(
            is_hidden(first, scheme, beside, containing[scheme])
            for beside in _beside(first.usage[scheme], other[scheme])
        )
        for scheme in containing
    )
    return agreeing / len(containing)


def is_hidden(
    mapping: PortMapping,
    scheme: str,
    change: Counter[int],
    judged: Sequence[tuple[Experiment, float]],
    noise: float = NOISE,
) -> bool:
    """Whether so many more, or fewer, µops of a scheme change no prediction of experiments with it.

    `change`: {port mask: µops more}. `judged`: the experiments with what the mapping predicts.
    """
    return not change or all(
        abs(_with(mapping, experiment, scheme, change) - cycles) <= noise * cycles
        for experiment, cycles in judged
    )


def _containing(
    mapping: PortMapping, judged: Sequence[Experiment]
) -> dict[str, list[tuple[Experiment, float]]]:
    """{scheme: the experiments that have it, with their predictions}; short ones, which show most, first."""
    found: dict[str, list[tuple[Experiment, float]]] = {}
    for experiment in sorted(judged, key=lambda each: each.length):
        cycles = inverse_throughput(mapping, experiment)
        for scheme in experiment.schemes:
            found.setdefault(scheme, []).append((experiment, cycles))
    return found


def _beside(first: Uops, second: Uops) -> tuple[Counter[int], Counter[int]]:
    """The changes that take from the first what the second lacks, and that give it what it lacks."""
    own, other = Counter(dict(first)), Counter(dict(second))
    return Counter({mask: -count for mask, count in (own - other).items()}), other - own


def _with(mapping: PortMapping, experiment: Experiment, scheme: str, change: Counter[int]) -> float:
    """Cycles of an experiment if one of its schemes had so many µops more."""
    work = work_of(mapping, experiment)
    repeats = dict(experiment.terms)[scheme]
    for mask, count in change.items():
        work[mask] = work.get(mask, 0) + count * repeats
    return max(port_bound(work), issue_bound(mapping, experiment))
