"""The experiments that a search learns from: the measured ones, rewritten to representatives of classes."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence

from inference.core.experiment import Experiment
from inference.core.pmevo.settings import PMEvoSettings


def learnable(
    times: Mapping[Experiment, float], classes: Sequence[Sequence[str]], settings: PMEvoSettings
) -> tuple[list[Experiment], list[float]]:
    """Experiments of representatives, the first member of each class, and their cycles."""
    choose = of_classes if settings.learn_from == "classes" else of_representatives
    learnt = choose(times, classes)
    return list(learnt), list(learnt.values())


def of_representatives(
    times: Mapping[Experiment, float], classes: Sequence[Sequence[str]]
) -> dict[Experiment, float]:
    """{experiment: cycles} of those that consist of representatives alone, as in the paper."""
    representatives = {members[0] for members in classes}
    return {e: cycles for e, cycles in times.items() if representatives.issuperset(e.schemes)}


def of_classes(
    times: Mapping[Experiment, float], classes: Sequence[Sequence[str]]
) -> dict[Experiment, float]:
    """{experiment: median cycles} of all experiments, with every scheme replaced by its representative.

    Schemes of a class count as the same instruction, so that an experiment has as many independent
    measurements as there are ways to write it with members. In the throughput model k copies of an experiment
    take k times as long (§3.1), so multiplicities are divided by their greatest common divisor: second
    opinions and members of one class side by side count, too. Experiments with a scheme of no class are
    skipped.
    """
    home = {scheme: members[0] for members in classes for scheme in members}
    answers: defaultdict[tuple[tuple[str, int], ...], list[float]] = defaultdict(list)
    for experiment, cycles in times.items():
        if not all(scheme in home for scheme, _ in experiment.terms):
            continue
        counts: dict[str, int] = {}
        for scheme, count in experiment.terms:
            counts[home[scheme]] = counts.get(home[scheme], 0) + count
        copies = math.gcd(*counts.values())
        terms = tuple(sorted((scheme, count // copies) for scheme, count in counts.items()))
        answers[terms].append(cycles / copies)
    return {Experiment(terms): statistics.median(samples) for terms, samples in answers.items()}
