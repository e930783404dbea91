"""How far two mappings agree up to what no judged experiment can show.

A µop is hidden in a scheme where leaving it out of that scheme changes no prediction of the judged
experiments by more than the noise: one that can use as many ports as the core issues slots, or the address
of a store, which its data outlasts. Two mappings agree on a scheme up to what is hidden if their µops are
equal once the hidden ones of each are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from inference.core.evaluator import Evaluator, Floats
from inference.core.experiment import Experiment
from inference.core.identity.renaming import best_renaming
from inference.core.mapping import PortMapping, Uops
from inference.core.tables import ExperimentTable

NOISE = 0.02
"""Relative difference of two predictions that no measurement would tell apart."""


@dataclass(frozen=True)
class Agreement:
    """Shares of the schemes that both describe, from 0 to 1; None where there are none.

    `exact`: the same µops, after the renaming of ports. `up_to_hidden`: of the schemes that occur in
    experiments to judge by, None without any. `same_number`: as many µops.
    """

    schemes: int
    exact: float | None
    up_to_hidden: float | None
    same_number: float | None


def agreement(a: PortMapping, b: PortMapping, judged: Sequence[Experiment] = ()) -> Agreement:
    """How many schemes mean the same in both, under the best renaming of b's ports.

    `judged`: experiments by which hidden µops are told; those with schemes that not both describe are passed
    over. The limits of `a` and its slots hold for both: what a documented mapping says of ports is compared,
    not its silence on the rest.
    """
    common = sorted(a.usage.keys() & b.usage.keys())
    if not common:
        return Agreement(0, None, None, None)
    first = a.restricted(common)
    renamed = best_renaming(first, b.restricted(common)).apply(b.restricted(common))
    second = replace(first, ports=renamed.ports, usage=renamed.usage)
    exact = sum(first.usage[scheme] == second.usage[scheme] for scheme in common)
    number = sum(_count(first.usage[scheme]) == _count(second.usage[scheme]) for scheme in common)
    known = [each for each in dict.fromkeys(judged) if all(s in first.usage for s in each.schemes)]
    share = None
    if known:
        seen = [visible(mapping, known) for mapping in (first, second)]
        occurring = {scheme for experiment in known for scheme in experiment.schemes}
        share = sum(seen[0][scheme] == seen[1][scheme] for scheme in occurring) / len(occurring)
    return Agreement(len(common), exact / len(common), share, number / len(common))


def visible(mapping: PortMapping, judged: Sequence[Experiment], noise: float = NOISE) -> dict[str, Uops]:
    """{scheme: its µops without those that the judged experiments do not show}.

    Kinds are left out one after the other, wide ones first, as long as nothing changes: of two that hide each
    other one stays.
    """
    table = ExperimentTable.from_experiments(judged, list(mapping.usage))
    evaluator = Evaluator(table, len(mapping.ports))
    before = evaluator.cycles_one(mapping)
    found: dict[str, Uops] = {}
    for number, scheme in enumerate(mapping.usage):
        which = table.containing(number)
        experiments = [judged[k] for k in which.tolist()]
        left = mapping.usage[scheme]
        for uop in sorted(left, key=lambda uop: (-uop[0].bit_count(), uop[0])):
            tried = tuple(each for each in left if each != uop)
            if not _changes(mapping, scheme, tried, experiments, before[which], noise):
                left = tried
        found[scheme] = left
    return found


def _changes(
    mapping: PortMapping,
    scheme: str,
    uops: Uops,
    experiments: Sequence[Experiment],
    before: Floats,
    noise: float,
) -> bool:
    """Whether any of the experiments with the scheme takes another time if it has these µops."""
    if not experiments:
        return False
    schemes = sorted({name for experiment in experiments for name in experiment.schemes})
    usage: Mapping[str, Uops] = {**mapping.restricted(schemes).usage, scheme: uops}
    changed = replace(mapping.restricted(schemes), usage=usage)
    table = ExperimentTable.from_experiments(experiments, schemes)
    after = Evaluator(table, len(mapping.ports)).cycles_one(changed)
    return bool(np.any(np.abs(after - before) > noise * before))


def _count(uops: Uops) -> int:
    return sum(count for _, count in uops)
