"""What follows the search for the fewest µops: as many ports as the data ask for, and times without waste.

All of it goes on from the smaller solution by a few local searches. Schedulers are simulated between them,
never within (`inference.core.waste`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from inference.core.arrays import Floats, Int64s
from inference.core.evaluator import Evaluator
from inference.core.events import Log, PacedReporter
from inference.core.experiment import Experiment
from inference.core.holdout import held_out_experiments
from inference.core.mapping import MAX_PORTS, PortMapping
from inference.core.pmevo.congruence import learnable
from inference.core.pmevo.heartbeat import heartbeat
from inference.core.pmevo.refit.apart import prefer_apart
from inference.core.pmevo.refit.bounded import BoundedSearch
from inference.core.pmevo.refit.front import RefitPoint
from inference.core.pmevo.refit.preferring import COST
from inference.core.pmevo.refit.search_arrays import SearchArrays
from inference.core.pmevo.refit.usage import Usage
from inference.core.pmevo.settings import PMEvoSettings
from inference.core.tables import ExperimentTable
from inference.core.waste import Simulated, WastefulTimes, WasteSource, wasteful_times

_SEARCHES, _PATIENCE = 30, 10
"""Local searches from a solution that only needs to be adapted."""
_STARTS = 8

_FORGIVEN = (0.2, 0.1, 0.3)
"""Shares of measured times that may be wasted, by which mappings are searched that a scheduler may explain:
on a Zen 5, 0.2 tells second µops, which explain more, from what is wasted, which is less."""
_SURE = 8.0
"""Times the price of a µop where waste is possible: it explains three experiments that waste cannot."""
_LEFT = 0.05
"""Share of corrected times that may still be wasted: simulated schedulers are some per cent off."""
_ROUNDS = 3
_JUDGING = 0.1
"""Share of the experiments that rounds do not learn from, which judge them."""
_LEAST_GAIN = 0.1
"""Share of the cost that rounds have to lower."""
_SIMULATED_SECONDS = 120.0
"""For policies under one mapping: the search among them takes some 25 s of one core."""

Stream = Callable[..., np.random.Generator]


@dataclass(frozen=True)
class LearntData:
    """What a search learns from.

    Args:
        times: {experiment: cycles} of all schemes.
        least: {experiment: cycles that it takes on any ports}.
        classes: Of congruent schemes, the representative first.
        alone: Cycles of each representative alone.
        domains: The part of the core that each class is for.
    """

    times: Mapping[Experiment, float]
    least: Mapping[Experiment, float]
    classes: Sequence[Sequence[str]]
    alone: Floats
    domains: Sequence[str | None]

    @property
    def members(self) -> Int64s:
        """How many schemes each representative stands for."""
        return np.array([len(members) for members in self.classes])

    def arrays(self, times: Mapping[Experiment, float], settings: PMEvoSettings) -> SearchArrays:
        """The experiments in `times` over the representatives, on the ports of the settings."""
        experiments, cycles = learnable(times, self.classes, settings)
        table = ExperimentTable.from_experiments(experiments, [members[0] for members in self.classes])
        evaluator = Evaluator(table, settings.n_ports, settings.r_max, least=self.least_of(times, settings))
        return SearchArrays(evaluator, np.array(cycles), self.alone, self.members)

    def least_of(self, times: Mapping[Experiment, float], settings: PMEvoSettings) -> Floats:
        """Bounds of the experiments that are learnt from, in the order of `learnable`."""
        bounds = {experiment: self.least.get(experiment, 0.0) for experiment in times}
        return np.array(learnable(bounds, self.classes, settings)[1])


@dataclass(frozen=True)
class Finished:
    """A mapping on `n_ports` ports; `simulated` makes its waste, where that explains more than ports do.

    `error`, `error_of_ports`: mean relative errors with that and without, on experiments that judge; None
    where no scheduler was simulated.
    """

    point: RefitPoint
    n_ports: int
    simulated: Simulated | None = None
    error: float | None = None
    error_of_ports: float | None = None

    @property
    def cost(self) -> float:
        """What a choice minimises: the error, times the µops that it takes.

        µops that stand for waste predict mixes like those that they were learnt from as well as a scheduler
        does, and others worse: on a Zen 5, pairs 4 % off and mixes of five 12 %.
        """
        assert self.error is not None, "only what was judged is compared"
        return self.error * self.point.usage.uops


class Finishing:
    """Goes on from a mapping; `show` hears of better ones, with their number of ports."""

    def __init__(
        self,
        data: LearntData,
        settings: PMEvoSettings,
        pace: PacedReporter,
        seed: int,
        stream: Stream,
        as_mapping: Callable[[RefitPoint, int], PortMapping],
    ) -> None:
        self._data = data
        self._settings = settings
        self._pace = pace
        self._seed = seed
        self._stream = stream
        self._as_mapping = as_mapping
        self._beat = heartbeat(pace, "schemes re-fitted in further local searches")
        self._searches = 0

    def with_more_ports(self, point: RefitPoint, most_ports: int) -> Finished:
        """Ports are added while one more explains as much as a kind of µop costs; parts get their own."""
        n_ports = self._settings.n_ports
        best, value = self._search(self._data.times, [point], n_ports, point.issue_width)
        while n_ports < most_ports and not self._pace.finishing:
            wider, its_value = self._search(self._data.times, [best], n_ports + 1, best.issue_width)
            gain = self._settings.new_kind_price * self._arrays(n_ports).experiments_per_scheme
            if its_value > value - gain:
                break
            best, value, n_ports = wider, its_value, n_ports + 1
            self._pace.emit(Log("info", f"{n_ports} ports explain more than {n_ports - 1}"))
        return self._apart(best, n_ports, 0.0)

    def without_waste(self, before: Finished, source: WasteSource) -> Finished:
        """Mappings that a scheduler explains, where one does; else the one that there is.

        Mappings are searched by which a share of every time may be wasted. Under each a scheduler is
        inferred, and rounds of correcting times and searching again follow. The best by experiments that
        judge is the result of the first share with which they explain enough.
        """
        judging = held_out_experiments(self._data.times, _JUDGING, self._seed)
        learnt = {
            experiment: cycles for experiment, cycles in self._data.times.items() if experiment not in judging
        }
        judged = {experiment: self._data.times[experiment] for experiment in judging}
        ports = self._times(before, judged, None).error
        self._pace.emit(Log("info", f"{ports:.1%} off with {before.point.usage.uops} µops and no scheduler"))
        if ports < self._settings.spread:
            return before
        judged_before = best = replace(before, error=ports, error_of_ports=ports)
        for forgiven in _FORGIVEN:
            if self._pace.finishing:
                break
            start = self._forgiving(before, learnt, forgiven)
            mapping = self._as_mapping(start.point, start.n_ports)
            simulated = source.simulator(mapping, learnt, self._patience())
            if simulated is None:
                self._pace.emit(Log("info", f"no scheduler explains waste of up to {forgiven:.0%}"))
                continue
            best = self._rounds(start, simulated, learnt, judged, best)
            if best.cost <= (1 - _LEAST_GAIN) * judged_before.cost:
                return best
        return before

    def _rounds(
        self,
        start: Finished,
        simulated: Simulated,
        learnt: Mapping[Experiment, float],
        judged: Mapping[Experiment, float],
        best: Finished,
    ) -> Finished:
        current = start
        for number in range(_ROUNDS + 1):
            times = self._times(current, judged, simulated)
            self._pace.emit(
                Log(
                    "info",
                    f"round {number}: {times.error:.1%} off with the scheduler, {times.error_of_bounds:.1%} "
                    f"without, on {len(judged)} experiments that it did not learn from; "
                    f"{current.point.usage.uops} µops",
                )
            )
            judged_now = replace(
                current, simulated=simulated, error=times.error, error_of_ports=times.error_of_bounds
            )
            if judged_now.cost < best.cost:
                best = judged_now
            if number == _ROUNDS or self._pace.finishing:
                break
            corrected = self._times(current, learnt, simulated).corrected
            point, _ = self._search(
                corrected, [current.point], current.n_ports, current.point.issue_width, _LEFT
            )
            current = self._apart(point, current.n_ports, _LEFT, corrected)
        return best

    def _forgiving(self, before: Finished, learnt: Mapping[Experiment, float], forgiven: float) -> Finished:
        """The best mapping if a share of each time may be waste, from `before` and from nothing."""
        n_ports = before.n_ports
        starts = [before.point]
        arrays = self._arrays(n_ports)
        for number in range(_STARTS - 1):
            usage = Usage.random(self._data.alone, n_ports, self._stream("finish", 0, number))
            starts.append(arrays.point(usage, before.point.issue_width))
        point, _ = self._search(learnt, starts, n_ports, before.point.issue_width, forgiven)
        apart = self._apart(point, n_ports, forgiven, learnt)
        point, _ = self._search(learnt, [apart.point], apart.n_ports, point.issue_width, forgiven)
        return self._apart(point, apart.n_ports, forgiven, learnt)

    def _apart(
        self,
        point: RefitPoint,
        n_ports: int,
        forgiven: float,
        times: Mapping[Experiment, float] | None = None,
    ) -> Finished:
        times = self._data.times if times is None else times
        if not (self._settings.apart and any(self._data.domains)):
            return Finished(point, n_ports)

        def value(usage: Usage, ports: int) -> float:
            self._pace.pulse()
            settings = self._wasteful_settings(ports, point.issue_width, forgiven)
            arrays = self._data.arrays(times, settings)
            search = self._bounded(arrays, [], settings, forgiven)
            return arrays.value(usage, search.objective(point.issue_width), search.prices)

        # Of a part that nothing shows to share ports, each scheme may cost what a preference may.
        alone = COST * self._arrays(n_ports).experiments_per_scheme
        most = alone * len(self._data.domains) ** 0.5
        usage, number = prefer_apart(point.usage, n_ports, self._data.domains, value, most, alone, MAX_PORTS)
        return Finished(self._arrays(number).point(usage, point.issue_width), number)

    def _search(
        self,
        times: Mapping[Experiment, float],
        starts: Sequence[RefitPoint],
        n_ports: int,
        issue_width: float | None,
        forgiven: float = 0.0,
    ) -> tuple[RefitPoint, float]:
        """The best mapping that a few local searches find, and the objective."""
        settings = self._wasteful_settings(n_ports, issue_width, forgiven)
        arrays = self._data.arrays(times, settings)
        search = self._bounded(arrays, starts, settings, forgiven)
        while not (search.ended or (self._pace.finishing and search.state.done)):
            search.advance()
            if self._pace.due("finishing", 5.0):
                text = (
                    f"{n_ports} ports: {search.state.done} local searches, objective {search.state.value:.2f}"
                )
                self._pace.emit(Log("info", text))
        return search.point, search.state.value

    def _bounded(
        self,
        arrays: SearchArrays,
        starts: Sequence[RefitPoint],
        settings: PMEvoSettings,
        forgiven: float,
    ) -> BoundedSearch:
        self._searches += 1
        number = self._searches
        return BoundedSearch(
            arrays,
            starts,
            settings,
            lambda k: self._stream("finish", number, k),
            self._beat,
            forgiven=forgiven,
        )

    def _wasteful_settings(self, n_ports: int, issue_width: float | None, forgiven: float) -> PMEvoSettings:
        price = self._settings.uop_price * (_SURE if forgiven else 1.0)
        return replace(
            self._settings,
            ports=n_ports,
            issue_width=issue_width,
            uop_price=price,
            perturbations=min(_SEARCHES, self._settings.perturbations),
            perturbation_patience=min(_PATIENCE, self._settings.perturbation_patience),
        )

    def _arrays(self, n_ports: int) -> SearchArrays:
        return self._data.arrays(self._data.times, replace(self._settings, ports=n_ports))

    def _times(
        self, finished: Finished, times: Mapping[Experiment, float], simulated: Simulated | None
    ) -> WastefulTimes:
        mapping = self._as_mapping(finished.point, finished.n_ports)
        beat = self._pace.pulse if simulated is None else heartbeat(self._pace, "experiments simulated")
        return wasteful_times(times, mapping, simulated, self._data.least, beat)

    def _patience(self) -> Callable[[], bool]:
        began = self._pace.clock()
        beat = heartbeat(self._pace, "scheduler policies simulated")

        def goes_on() -> bool:
            beat()
            return not self._pace.finishing and self._pace.clock() - began < _SIMULATED_SECONDS

        return goes_on
