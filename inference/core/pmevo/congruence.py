"""Congruence filtering (§5.1.2): schemes that the measured experiments cannot tell apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from inference.core.experiment import Experiment
from inference.core.pmevo.plan import relative_difference


def congruence_classes(
    schemes: Sequence[str],
    times: Mapping[Experiment, float],
    epsilon: float,
    evidence: float = 1.0,
    pulse: Callable[[], None] = lambda: None,
) -> tuple[tuple[str, ...], ...]:
    """Partition `schemes` into congruence classes, in order of their first members, the representatives.

    Two schemes are congruent when no measured experiment changes by more than epsilon where one is exchanged
    for the other, and when that was measured for at least the share `evidence` of the experiments that have
    either. On PMEvo's exhaustive plan, measured without a failure, this is the paper's definition whatever
    the share. In recorded data, where many a counterpart was never measured, the share says how much absence
    of evidence is too much to call schemes alike. Equality within epsilon is not transitive, so a scheme
    joins the first class whose members are all congruent to it.
    """
    containing: dict[str, list[Experiment]] = {scheme: [] for scheme in schemes}
    for experiment in times:
        for scheme in experiment.schemes:
            if scheme in containing:
                containing[scheme].append(experiment)
    classes: list[list[str]] = []
    for scheme in sorted(containing):
        pulse()
        home = next(
            (
                members
                for members in classes
                if all(_congruent(scheme, member, containing, times, epsilon, evidence) for member in members)
            ),
            None,
        )
        if home is None:
            classes.append([scheme])
        else:
            home.append(scheme)
    return tuple(tuple(members) for members in classes)


def _congruent(
    a: str,
    b: str,
    containing: Mapping[str, Sequence[Experiment]],
    times: Mapping[Experiment, float],
    epsilon: float,
    evidence: float,
) -> bool:
    # The exchange pairs experiments of one with experiments of the other, one to one.
    wanted = evidence * (len(containing[a]) + len(containing[b])) / 2
    if min(len(containing[a]), len(containing[b])) < wanted:
        return False
    compared = 0
    for experiment in containing[a]:
        counterpart = times.get(_exchanged(experiment, a, b))
        if counterpart is None:
            continue
        if relative_difference(times[experiment], counterpart) >= epsilon:
            return False
        compared += 1
    return compared > 0 and compared >= wanted


def _exchanged(experiment: Experiment, a: str, b: str) -> Experiment:
    other = {a: b, b: a}
    return Experiment(tuple(sorted((other.get(scheme, scheme), count) for scheme, count in experiment.terms)))
