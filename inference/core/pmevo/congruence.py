"""Congruence filtering (§5.1.2): classes of schemes that the measured experiments cannot distinguish."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from inference.core.experiment import Experiment
from inference.core.pmevo.settings import PMEvoSettings
from inference.core.tables import ExperimentTable

if TYPE_CHECKING:
    from inference.core.pmevo.exchange_kernels import Arrays


Classes = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Likeness:
    """Comparison of a scheme with the representative of its class.

    Attributes:
        compared: Number of experiments compared.
        different: Number of experiments that nevertheless differ by epsilon or more.
        largest: The largest symmetric relative difference.
    """

    compared: int
    different: int
    largest: float


Likenesses = Mapping[str, Likeness]
"""By the scheme that is like its representative."""


def congruent_schemes(
    schemes: Sequence[str],
    times: Mapping[Experiment, float],
    settings: PMEvoSettings,
    pulse: Callable[[], None],
    domains: Mapping[str, str] = MappingProxyType({}),
) -> tuple[Classes, dict[str, Likeness]]:
    """Congruence classes, the representative first, and how each other member compares with it.

    Two schemes are congruent when no measured experiment changes by `congruence_epsilon` or more where one is
    exchanged for the other, and when that was measured for at least the share `congruence_evidence` of the
    experiments that have either. On PMEvo's exhaustive plan, measured without a failure, this is the paper's
    definition whatever the share. In recorded data, where many a counterpart was never measured, the share
    says how much absence of evidence is too much to call schemes alike. Equality within epsilon is not
    transitive, so a scheme joins the first class whose members are all congruent to it.

    Args:
        schemes: The schemes to divide.
        times: {experiment: cycles}.
        settings: Epsilon and share of evidence; `congruence_outliers` is the share of the compared
            experiments
            that may change by epsilon or more nevertheless. 0 is the paper's; with hundreds of comparisons
            per
            pair of schemes, noise alone exceeds any epsilon somewhere.
        pulse: Called between steps; what it raises ends the work.
        domains: {scheme: kind of ports}. Schemes of different domains, or with and without one, are not
            alike,
            whatever was measured.
    """
    from inference.core.pmevo import exchange_kernels  # loads numba

    epsilon, evidence = settings.congruence_epsilon, settings.congruence_evidence
    table = _Table.of(schemes, times)
    classes = tuple(
        sorted(
            members
            for comparable in _by_domain(schemes, domains)
            for members in _partition(
                table, comparable, epsilon, evidence, pulse, settings.congruence_outliers
            )
        )
    )
    likeness = {}
    for representative, *followers in classes:
        pulse()
        for scheme in followers:
            compared, different, largest = exchange_kernels.compare_exchange(
                table.numbers[scheme], table.numbers[representative], epsilon, np.inf, table.arrays
            )
            likeness[scheme] = Likeness(int(compared), int(different), float(largest))
    return classes, likeness


def _by_domain(schemes: Iterable[str], domains: Mapping[str, str]) -> Iterable[list[str]]:
    """Lists of the schemes of each domain, and of those without one."""
    schemes_by_domain: dict[str | None, list[str]] = defaultdict(list)
    for scheme in sorted(schemes):
        schemes_by_domain[domains.get(scheme)].append(scheme)
    return schemes_by_domain.values()


def _partition(
    table: _Table,
    schemes: Sequence[str],
    epsilon: float,
    evidence: float,
    pulse: Callable[[], None],
    outliers: float,
) -> Classes:
    """Classes of congruent schemes; each scheme joins the first class whose members are all congruent to it.

    `schemes`: sorted, and all of the table's numbered ones or some of them. The members of a class are a
    linked list for the compiled loop: its first scheme, and for each scheme the one that joined after it.
    """
    from inference.core.pmevo import exchange_kernels  # loads numba

    first = np.empty(len(schemes), dtype=np.int64)
    following = np.full(len(table.numbers), -1, dtype=np.int64)
    classes: list[list[str]] = []
    for scheme in schemes:
        pulse()
        number = table.numbers[scheme]
        home = exchange_kernels.home(
            number, len(classes), first, following, epsilon, evidence, outliers, table.arrays
        )
        if home < 0:
            first[len(classes)] = number
            classes.append([scheme])
        else:
            following[table.numbers[classes[home][-1]]] = number
            classes[home].append(scheme)
    return tuple(tuple(members) for members in classes)


@dataclass(frozen=True)
class _Table:
    """Experiments by the schemes that they contain; `numbers` counts the given schemes in their order first.

    `arrays` are what the compiled loops work on.
    """

    numbers: Mapping[str, int]
    arrays: Arrays

    @classmethod
    def of(cls, schemes: Sequence[str], times: Mapping[Experiment, float]) -> _Table:
        from inference.core.pmevo import exchange_kernels  # loads numba

        other_schemes = {scheme for experiment in times for scheme, _ in experiment.terms} - set(schemes)
        listed = [*sorted(schemes), *sorted(other_schemes)]
        table = ExperimentTable.from_experiments(times, listed)
        terms = np.column_stack([table.scheme, table.count]).astype(np.int64)
        # Two experiments are exchanges of one scheme for another where the hashes of their other terms, their
        # contexts, are equal. Terms are sorted by scheme and context, to find these by a merge.
        sums = np.empty(len(table), dtype=np.uint64)
        contexts = np.empty(len(terms), dtype=np.uint64)
        exchange_kernels.fill_sums(table.offsets, terms, len(listed), sums, contexts)
        rows = np.lexsort((contexts, terms[:, 0]))
        offsets = np.searchsorted(terms[rows, 0], np.arange(len(listed) + 1))
        owners = np.repeat(np.arange(len(table)), np.diff(table.offsets))[rows]
        order = np.argsort(sums)
        cycles = np.fromiter(times.values(), dtype=np.float64, count=len(times))
        arrays = exchange_kernels.Arrays(
            offsets, contexts[rows], owners, terms[rows, 1],
            table.offsets, terms, sums, sums[order], order, cycles,
        )  # fmt: skip
        return cls({scheme: k for k, scheme in enumerate(listed)}, arrays)
