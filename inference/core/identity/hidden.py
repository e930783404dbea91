"""How far two mappings agree up to what no judged experiment can show.

A µop is hidden in a scheme where leaving it out of that scheme changes no prediction of the judged
experiments by more than the noise: one that can use as many ports as the core issues slots, or the address
of a store, which its data outlasts. Two mappings agree on a scheme up to what is hidden if their µops are
equal once the hidden ones of each are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from inference.core.experiment import Experiment
from inference.core.identity.renaming import best_renaming
from inference.core.mapping import PortMapping, Uops
from inference.core.throughput import inverse_throughput, issue_bound, port_bound, work_of

NOISE = 0.02
"""Relative difference of two predictions that no measurement would tell apart."""


def agreement_up_to_hidden(a: PortMapping, b: PortMapping, judged: Iterable[Experiment]) -> float | None:
    """The share of schemes, 0 to 1, that agree up to what is hidden, under the best renaming of b's ports.

    Of the schemes that occur in `judged`, experiments of schemes that both describe; others are passed over,
    and None is the answer where none are left. The limits of `a` and its slots hold for both: what a
    documented mapping says of ports is compared, not its silence on the rest.
    """
    common = sorted(a.usage.keys() & b.usage.keys())
    first, second = a.restricted(common), b.restricted(common)
    known = [each for each in dict.fromkeys(judged) if all(s in first.usage for s in each.schemes)]
    if not known:
        return None
    renamed = best_renaming(first, second).apply(second)
    seen, other = (
        visible(mapping, known)
        for mapping in (first, replace(first, ports=renamed.ports, usage=renamed.usage))
    )
    return sum(seen[scheme] == other[scheme] for scheme in seen) / len(seen)


def visible(mapping: PortMapping, judged: Sequence[Experiment], noise: float = NOISE) -> dict[str, Uops]:
    """{scheme: its µops without those that the judged experiments do not show}, of the schemes in these.

    Kinds are left out one after the other, wide ones first, as long as nothing changes: of two that hide each
    other one stays.
    """
    containing: dict[str, list[tuple[Experiment, float]]] = {}
    for experiment in sorted(judged, key=lambda each: each.length):  # short ones show most
        cycles = inverse_throughput(mapping, experiment)
        for scheme in experiment.schemes:
            containing.setdefault(scheme, []).append((experiment, cycles))
    found: dict[str, Uops] = {}
    for scheme, experiments in containing.items():
        left = mapping.usage[scheme]
        for uop in sorted(left, key=lambda uop: (-uop[0].bit_count(), uop[0])):
            tried = tuple(each for each in left if each != uop)
            if all(
                abs(_with(mapping, experiment, scheme, tried) - cycles) <= noise * cycles
                for experiment, cycles in experiments
            ):
                left = tried
        found[scheme] = left
    return found


def _with(mapping: PortMapping, experiment: Experiment, scheme: str, uops: Uops) -> float:
    """Cycles of an experiment if one of its schemes had these of its µops alone."""
    work = work_of(mapping, experiment)
    repeats = dict(experiment.terms)[scheme]
    for mask, count in set(mapping.usage[scheme]) - set(uops):
        work[mask] -= count * repeats
    return max(port_bound(work), issue_bound(mapping, experiment))
