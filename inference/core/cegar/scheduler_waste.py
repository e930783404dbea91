"""The time that a core's scheduler wastes, and the choice among mappings by it.

Where a scheduler wastes time, ports alone do not distinguish mappings: each explains the measurements with
its own waste. So experiments that reveal schedulers are measured, a scheduler is inferred under each mapping,
and the mapping is chosen whose simulated times are nearest to the measured ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import product

from inference.core.cegar.alternatives import SettledMapping
from inference.core.cegar.problem import Alternative, AmbiguityReason
from inference.core.cegar.search import CegarSearch
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping, Uops, uops_of
from inference.core.throughput import inverse_throughput
from inference.core.waste import SchedulerFit, WasteSource, disjoint_units, few_policies, wasteful_times

_MAX_CANDIDATES = 12
"""Further mappings for which a scheduler is inferred; each takes about a second."""

_MIN_GAIN = 0.1
"""Share by which a mapping must lower the simulation's error to be chosen instead of the settled one: errors
within 10 % of each other count as equal (`inference.core.simulation.inferring.EQUIVALENCE_MARGIN`)."""


class SchedulerWaste:
    """Waste by the scheduler in one search; `source` infers and simulates the scheduler."""

    def __init__(self, search: CegarSearch, source: WasteSource) -> None:
        self._search = search
        self._source = source
        self._scheduler_cycles: dict[Experiment, float] = {}
        self._fits: dict[str, SchedulerFit] = {}
        self._preferred: list[PortMapping] = []  # in an earlier round

    def allow(self, mapping: PortMapping | None) -> bool:
        """Allow each experiment the waste that its code, and the scheduler under `mapping`, explain.

        Returns:
            Whether the share of any measured experiment changed.
        """
        readings, pace, deadline = self._search.readings, self._search.pace, self._search.deadline
        measured = readings.measured
        simulated = None if mapping is None else self._fit(mapping).simulated
        lower_bounds = dict.fromkeys(measured, 0.0) | dict(
            self._source.least_cycles(measured, pulse=pace.pulse)
        )

        def least(experiment: Experiment) -> float:
            if experiment not in lower_bounds:
                cycles = readings.cycles(experiment) or 0.0
                lower_bounds.update({experiment: 0.0} | dict(self._source.least_cycles({experiment: cycles})))
            return lower_bounds[experiment]

        def share(experiment: Experiment) -> float:
            cycles = readings.cycles(experiment) or 1.0
            if cycles <= least(experiment) + self._search.settings.epsilon * experiment.length:
                return 1.0  # registers or code bytes already take as long: it says nothing about ports
            if mapping is None or deadline.is_expired or not mapping.usage.keys() >= {*experiment.schemes}:
                return 0.0
            times = wasteful_times({experiment: cycles}, mapping, simulated, lower_bounds, pace.pulse)
            needed = inverse_throughput(mapping, experiment)
            return max(0.0, 1 - needed / float(times.predicted[0]))

        readings.least_cycles = least
        return readings.allow_waste(share)

    def prefer_by_scheduler(self, settled: SettledMapping) -> SettledMapping:
        """The result with the mapping that the scheduler explains best; the other becomes an alternative.

        Candidates are the alternatives and mappings near the result, then those near the best so far.
        """
        self._measure(settled.mapping)
        if not self._scheduler_cycles:
            return settled
        best, lowest_error = settled.mapping, self._error(settled.mapping)
        largest_error = (1 - _MIN_GAIN) * lowest_error  # that another mapping may have to be chosen
        tried = {self._compared_uops(best)}
        alternatives = [alternative.mapping for alternative in settled.listed]
        waiting = [*self._preferred, *_nearby(best), *alternatives]
        while waiting and len(tried) <= _MAX_CANDIDATES and self._has_time():
            mapping = waiting.pop(0)
            if (uops := self._compared_uops(mapping)) in tried:
                continue
            tried.add(uops)
            if (error := self._error(mapping)) < lowest_error:
                best, lowest_error = mapping, error
                waiting = [*_nearby(best), *waiting]
        if lowest_error > largest_error:
            return settled
        self._preferred = [best]
        return _with_mapping_first(settled, best)

    @property
    def has_preference(self) -> bool:
        """Whether a scheduler has decided between mappings: by ports alone, the result is not unique then."""
        return bool(self._preferred)

    def _compared_uops(self, mapping: PortMapping) -> tuple[Uops, ...]:
        """The µops that the simulated experiments depend on: mappings with equal ones need one simulation."""
        schemes = {scheme for experiment in self._scheduler_cycles for scheme in experiment.schemes}
        return tuple(mapping.usage[scheme] for scheme in sorted(schemes))

    def _measure(self, mapping: PortMapping) -> None:
        """Measure experiments that reveal schedulers under a mapping; ports need not explain them."""
        answers, max_length = self._search.answers, self._search.settings.max_length
        experiments = [
            experiment
            for experiment in self._source.experiments(mapping)
            if answers.has(experiment) and experiment.length <= (max_length or experiment.length)
        ]
        for measured in answers.measure(experiments):
            if measured.usable and measured.cycles is not None:
                self._scheduler_cycles[measured.experiment] = measured.cycles

    def _error(self, mapping: PortMapping) -> float:
        return self._fit(mapping).error

    def _fit(self, mapping: PortMapping) -> SchedulerFit:
        """The scheduler under a mapping, cached by the mapping and the number of experiments."""
        key = f"{mapping.digest} {len(self._scheduler_cycles)}"
        if key not in self._fits:
            measured = self._scheduler_cycles or self._search.readings.measured
            self._fits[key] = self._source.fit(mapping, measured, few_policies(self._has_time))
        return self._fits[key]

    def _has_time(self) -> bool:
        self._search.pace.pulse()
        return not self._search.deadline.is_expired


def _nearby(mapping: PortMapping) -> Iterator[PortMapping]:
    """Mappings with two units on disjoint ports, or a scheme in a unit of one port more or less.

    With many ports, noise hides a single one.
    """
    users = Counter(mask for uops in mapping.usage.values() for mask, _ in uops)
    for moved, instead in disjoint_units(sorted(users, key=lambda mask: (-users[mask], mask))):
        yield _exchange_ports(mapping, mapping.usage, moved, instead)
    for scheme, uops in mapping.usage.items():
        for ports_of_uop, other in product((mask for mask, _ in uops), users):
            if (ports_of_uop ^ other).bit_count() == 1:
                yield _exchange_ports(mapping, [scheme], ports_of_uop, other)


def _exchange_ports(mapping: PortMapping, schemes: Iterable[str], mask: int, instead: int) -> PortMapping:
    """The mapping with the port set `instead` in place of `mask` for some schemes."""
    changed = {
        scheme: uops_of(
            (instead if ports_of_uop == mask else ports_of_uop, count)
            for ports_of_uop, count in mapping.usage[scheme]
        )
        for scheme in schemes
    }
    return replace(mapping, usage={**mapping.usage, **changed})


def _with_mapping_first(settled: SettledMapping, mapping: PortMapping) -> SettledMapping:
    """The result with this mapping; the former one joins the alternatives."""
    alternatives: Mapping[str, tuple[PortMapping, AmbiguityReason]] = {
        alternative.mapping.digest: (alternative.mapping, alternative.hidden)
        for alternative in settled.listed
    } | {settled.mapping.digest: (settled.mapping, AmbiguityReason.SCHEDULER)}
    listed = tuple(
        Alternative(other, tuple(s for s in other.usage if other.usage[s] != mapping.usage[s]), hidden)
        for other, hidden in alternatives.values()
        if other != mapping
    )
    return replace(settled, mapping=mapping, listed=listed)
