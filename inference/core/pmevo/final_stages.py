"""Stages after the search for the fewest µops: further ports, and times without a scheduler's waste.

Each starts from the mapping before it, and runs a few local searches. Schedulers are simulated between these,
never within (`inference.core.waste`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from inference.core.events import Log
from inference.core.experiment import Experiment
from inference.core.mapping import MAX_PORTS, PortMapping
from inference.core.pacing import PacedReporter
from inference.core.pmevo.heartbeat import heartbeat
from inference.core.pmevo.refit import separate_ports
from inference.core.pmevo.refit.bounded import BoundedSearch
from inference.core.pmevo.refit.front import RefitPoint
from inference.core.pmevo.refit.preferences import COST, prefer_forms
from inference.core.pmevo.refit.scheduler_starts import (
    two_uop_schemes,
    with_disjoint_units,
    without_second_uops,
)
from inference.core.pmevo.refit.search_arrays import SearchArrays
from inference.core.pmevo.refit.usage import Usage
from inference.core.pmevo.settings import PMEvoSettings
from inference.core.pmevo.training_data import TrainingData
from inference.core.sampling import held_out_experiments
from inference.core.tables import Int64s
from inference.core.waste import Simulated, WastefulTimes, WasteSource, few_policies, wasteful_times

_SEARCHES, _PATIENCE = 30, 10
"""Local searches from a mapping that only needs to be adapted: at most, and in a row without improvement."""

_STARTS = 8
"""Starts of the first search that forgives waste: the mapping before, and random ones."""

_FORGIVEN = (0.2, 0.1, 0.3)
"""Shares of measured times that may be waste, in searches for mappings that a scheduler may explain.

What a core wastes follows from its ports and its scheduler, which are not known yet, so several shares are
tried. On a recorded Zen 5, 0.2 and 0.25 tell second µops, which explain more, from what is wasted, which is
less: the eleven documented operations get their ports. With 0.05, 0.1, 0.15 or 0.3 `imul` does not. Nine of
ten experiments take up to 19 % longer than the right ports allow, and up to 16 to 27 % longer than the others
do: no quantile of what the mapping at hand leaves unexplained tells these shares apart.
"""

_SURE = 8.0
"""Factor on the price of a µop where times may be waste: it has to explain three experiments beyond waste."""

_ROUNDS = 3
"""Rounds at most; each simulates all experiments and runs up to `_SEARCHES` local searches."""

_JUDGING = 0.1
"""Share of the experiments that rounds do not learn from, but are compared by."""

_MIN_GAIN = 0.1
"""Share by which rounds must lower the cost."""

_MAX_DOUBTING = 100
"""Experiments that are simulated to decide about second µops."""

_MAX_DISJOINT = 3
"""Further mappings, with two units on disjoint ports, for which a scheduler is inferred."""

Stream = Callable[..., np.random.Generator]


@dataclass(frozen=True)
class _Times:
    """What a search learns from.

    Args:
        cycles: {experiment: cycles}, measured or corrected.
        forgiven: The share of each that may be waste.
    """

    cycles: Mapping[Experiment, float]
    forgiven: float


@dataclass(frozen=True)
class FinalMapping:
    """A mapping on `n_ports` ports, with a scheduler's simulator where that explains more than ports do.

    `error`, `error_of_ports`: mean relative errors with the scheduler and without, on experiments not learnt
    from; None before they were compared.
    """

    point: RefitPoint
    n_ports: int
    simulated: Simulated | None = None
    error: float | None = None
    error_of_ports: float | None = None

    @property
    def cost(self) -> float:
        """What a choice minimises: the error times the number of µops.

        µops that stand for waste predict mixes like those learnt from as well as a scheduler does, and others
        worse: on a Zen 5, the error was 4 % on pairs and 12 % on mixes of five.
        """
        assert self.error is not None, "only what was judged is compared"
        return self.error * self.point.usage.uops

    @property
    def text(self) -> str:
        """E.g. `2.1% off with the scheduler, 6.3% without; 48 µops on 15 ports`."""
        size = f"{self.point.usage.uops} µops on {self.n_ports} ports"
        if self.simulated is None:
            return f"{self.error:.1%} off; {size}"
        return f"{self.error:.1%} off with the scheduler, {self.error_of_ports:.1%} without; {size}"


class FinalStages:
    """Improves a mapping after the main search.

    Args:
        data: The measurements, with the classes and domains of the schemes.
        settings: Prices and limits, as of the main search.
        pace: Reports, and says when the run shall finish.
        seed: Seed of the choice of experiments to judge by.
        stream: `stream(name, *numbers)` is an independent random stream.
        as_mapping: Makes a port mapping of a point and its number of ports.
    """

    def __init__(
        self,
        data: TrainingData,
        settings: PMEvoSettings,
        pace: PacedReporter,
        seed: int,
        stream: Stream,
        as_mapping: Callable[[RefitPoint, int], PortMapping],
    ) -> None:
        self._data = data
        self._settings = settings
        self._pace = pace
        self._stream = stream
        self._as_mapping = as_mapping
        self._beat = heartbeat(pace, "schemes re-fitted in further local searches")
        self._searches = 0
        judging = held_out_experiments(data.times, _JUDGING, seed)
        self._judging = {mix: cycles for mix, cycles in data.times.items() if mix in judging}
        self._learnt = {mix: cycles for mix, cycles in data.times.items() if mix not in judging}

    def with_more_ports(self, before: FinalMapping, most_ports: int) -> FinalMapping:
        """Add ports while one more explains as much as a kind of µop costs, and separate parts of the core.

        With a scheduler, times are corrected by its waste, which would otherwise require ports that do not
        exist.
        """
        times = self._measured_times if before.simulated is None else self._corrected_times(before)
        apart = before.simulated is not None and self._settings.apart
        best, value = self._search(times, [before.point], before.n_ports, apart=apart)
        best, value, n_ports = self._with_own_units(best, value, before.n_ports, times, most_ports)
        min_gain = self._settings.new_kind_price * self._arrays(n_ports).experiments_per_scheme
        while n_ports < most_ports and not self._pace.finishing:
            wider, wider_value = self._search(times, [best], n_ports + 1, apart=apart)
            if wider_value > value - min_gain:
                break
            best, value, n_ports = wider, wider_value, n_ports + 1
            self._pace.emit(Log("info", f"{n_ports} ports explain more than {n_ports - 1}"))
        point, n_ports = self._separate_parts(best, n_ports, times)
        after = replace(before, point=point, n_ports=n_ports)
        if after.simulated is not None:
            after = self._evaluate(self._remove_doubtful_uops(after))
            self._pace.emit(Log("info", f"with more ports {after.text}"))
            after = after if after.cost <= before.cost else before
        return self._clean_up(after, times)

    def _with_own_units(
        self, point: RefitPoint, value: float, n_ports: int, times: _Times, most_ports: int
    ) -> tuple[RefitPoint, float, int]:
        """The mapping, its objective and number of ports, with units for schemes that have no µops."""
        objective = self._bounded_search([], n_ports, point.issue_width, times).objective(point.issue_width)
        schemes = np.flatnonzero(self._arrays(n_ports).without_ports(point.usage, objective)).tolist()
        data, before = self._data, point.usage
        usage, ports = separate_ports.with_own_units(before, n_ports, schemes, data.alone, data.domains)
        if not n_ports < ports <= most_ports or self._pace.finishing:
            return point, value, n_ports
        wider, wider_value = self._search(times, [self._arrays(ports).point(usage, point.issue_width)], ports)
        return (wider, wider_value, ports) if wider_value < value else (point, value, n_ports)

    def _clean_up(self, finished: FinalMapping, times: _Times) -> FinalMapping:
        """The mapping with regular forms, where the settings prefer them, and without unused ports."""
        usage = finished.point.usage
        if self._settings.regular_forms:
            value = self._value(finished.point, finished.n_ports, times)
            usage = prefer_forms(usage, self._data.forms, value, self._preference)
        usage, n_ports = separate_ports.without_unused_ports(usage)
        point = self._arrays(n_ports).point(usage, finished.point.issue_width)
        finished = replace(finished, point=point, n_ports=n_ports)
        return finished if finished.simulated is None else self._evaluate(finished)

    def without_waste(self, before: FinalMapping, source: WasteSource) -> FinalMapping:
        """A mapping whose times a scheduler explains better, or else the mapping before.

        For each share of times that may be waste, a mapping is searched and a scheduler inferred under it;
        then rounds correct the times by the scheduler's waste and search again. The first share whose rounds
        lower the cost by `_MIN_GAIN` gives the result.
        """
        of_ports = self._evaluate(before)
        self._pace.emit(Log("info", f"without a scheduler {of_ports.text}"))
        assert of_ports.error is not None, "it was judged"
        starts = [before]
        for forgiven in _FORGIVEN if of_ports.error >= self._settings.spread else ():
            if self._pace.finishing:
                break
            starts.append(self._search_forgiving(starts, forgiven))
            start = self._best_with_scheduler(starts[-1], source)
            if start is None:
                self._pace.emit(Log("info", f"no scheduler explains waste of up to {forgiven:.0%}"))
                continue
            best = self._run_rounds(start)
            if best.cost <= (1 - _MIN_GAIN) * of_ports.cost:
                return best
        return before

    def _run_rounds(self, start: FinalMapping) -> FinalMapping:
        """The mapping after rounds of corrected times, as long as each lowers the cost."""
        best = start
        self._pace.emit(Log("info", f"before any round {best.text}"))
        for number in range(1, _ROUNDS + 1):
            if self._pace.finishing:
                break
            times = self._corrected_times(best)
            point, _ = self._search(times, [best.point], best.n_ports, apart=self._settings.apart)
            point, n_ports = self._separate_parts(point, best.n_ports, times)
            current = self._evaluate(self._remove_doubtful_uops(replace(best, point=point, n_ports=n_ports)))
            self._pace.emit(Log("info", f"round {number}: {current.text}"))
            if current.cost >= best.cost:
                break
            best = current
        return best

    def _best_with_scheduler(self, start: FinalMapping, source: WasteSource) -> FinalMapping | None:
        """The mapping, or one with two units on disjoint ports, that a scheduler explains best, if any."""
        usages = [start.point.usage, *islice(with_disjoint_units(start.point.usage), _MAX_DISJOINT)]
        candidates: list[FinalMapping] = []
        for usage in usages:
            if self._pace.finishing:
                break
            point = self._arrays(start.n_ports).point(usage, start.point.issue_width)
            mapping = self._as_mapping(point, start.n_ports)
            simulated = source.simulator(mapping, self._learnt, self._should_continue())
            if simulated is not None:
                candidates.append(self._evaluate(replace(start, point=point, simulated=simulated)))
                self._pace.emit(Log("info", f"with a scheduler of its own {candidates[-1].text}"))
        return min(candidates, key=lambda candidate: candidate.cost, default=None)

    def _search_forgiving(self, before: Sequence[FinalMapping], forgiven: float) -> FinalMapping:
        """The best mapping if a share of each time may be waste, from `before`.

        Random mappings are added as starts where `before` has none for another share.
        """
        n_ports, width = max(start.n_ports for start in before), before[0].point.issue_width
        times = _Times(self._learnt, forgiven)
        starts = [start.point for start in before]
        arrays = self._arrays(n_ports)
        for number in range(_STARTS - 1 if len(before) == 1 else 0):
            usage = Usage.random(self._data.alone, n_ports, self._stream("finish", 0, number))
            starts.append(arrays.point(usage, width))
        point, n_ports = self._separate_parts(self._search(times, starts, n_ports)[0], n_ports, times)
        value = self._value(point, n_ports, times)
        usage = without_second_uops(point.usage, self._data.domains, value, keep=False)
        return FinalMapping(self._arrays(n_ports).point(usage, width), n_ports)

    def _remove_doubtful_uops(self, finished: FinalMapping) -> FinalMapping:
        """The mapping without second µops that do not lower the simulation's error."""
        domains, point = self._data.domains, finished.point
        schemes = {
            member
            for scheme in two_uop_schemes(point.usage, domains)
            for member in self._data.classes[scheme]
        }
        mixes = islice((mix for mix in self._learnt if schemes & set(mix.schemes)), _MAX_DOUBTING)
        times = {mix: self._learnt[mix] for mix in mixes}
        if not times:
            return finished

        def error(usage: Usage) -> float:
            tried = replace(point, usage=usage)
            return self._times(replace(finished, point=tried), times).error

        usage = without_second_uops(point.usage, domains, error, keep=True)
        return replace(finished, point=self._arrays(finished.n_ports).point(usage, point.issue_width))

    def _corrected_times(self, finished: FinalMapping) -> _Times:
        """Times without the scheduler's waste; as much as the simulation is off may still be waste."""
        assert finished.error is not None, "it was judged"
        off = max(self._settings.spread, finished.error)
        return _Times(self._times(finished, self._learnt).corrected, off)

    def _separate_parts(self, point: RefitPoint, n_ports: int, times: _Times) -> tuple[RefitPoint, int]:
        """The mapping, and its number of ports, with parts apart that no time shows to share ports."""
        if not (self._settings.apart and any(self._data.domains)):
            return point, n_ports
        # Each scheme of a separated part may raise the objective by as much as a preference may.
        alone = self._preference
        max_price = alone * len(self._data.domains) ** 0.5
        usage, number = separate_ports.prefer_apart(
            point.usage,
            n_ports,
            self._data.domains,
            lambda usage, ports: self._value(point, ports, times)(usage),
            max_price,
            alone,
            MAX_PORTS,
        )
        return self._arrays(number).point(usage, point.issue_width), number

    def _value(self, point: RefitPoint, n_ports: int, times: _Times) -> Callable[[Usage], float]:
        """The objective, as a function, of mappings on so many ports."""
        return self._bounded_search([], n_ports, point.issue_width, times).value

    @property
    def _preference(self) -> float:
        """By how much the objective may grow for a preference that measurements hardly decide."""
        return COST * self._arrays(self._settings.n_ports).experiments_per_scheme

    @property
    def _measured_times(self) -> _Times:
        return _Times(self._data.times, 0.0)

    def _search(
        self, times: _Times, starts: Sequence[RefitPoint], n_ports: int, *, apart: bool = False
    ) -> tuple[RefitPoint, float]:
        """The best mapping of a few local searches, and its objective.

        `apart`: schemes may not use ports that only other parts of the core use in the first start.
        """
        first = starts[0]
        allowed = separate_ports.own_ports(first.usage, n_ports, self._data.domains) if apart else None
        search = self._bounded_search(starts, n_ports, first.issue_width, times, allowed)
        while not (search.ended or (self._pace.finishing and search.state.done)):
            search.advance()
            if self._pace.due("finishing", 5.0):
                text = (
                    f"{n_ports} ports: {search.state.done} local searches, objective {search.state.value:.2f}"
                )
                self._pace.emit(Log("info", text))
        return search.point, search.state.value

    def _bounded_search(
        self,
        starts: Sequence[RefitPoint],
        n_ports: int,
        issue_width: float | None,
        times: _Times,
        allowed: Int64s | None = None,
    ) -> BoundedSearch:
        """A short search; each has a random stream of its own, by the number of searches before it."""
        settings = replace(
            self._settings,
            ports=n_ports,
            issue_width=issue_width,
            uop_price=self._settings.uop_price * (_SURE if times.forgiven else 1.0),
            perturbations=min(_SEARCHES, self._settings.perturbations),
            perturbation_patience=min(_PATIENCE, self._settings.perturbation_patience),
        )
        self._searches += 1
        number = self._searches
        return BoundedSearch(
            self._data.arrays(times.cycles, settings, times.forgiven),
            starts,
            settings,
            lambda k: self._stream("finish", number, k),
            self._beat,
            forgiven=times.forgiven,
            allowed=allowed,
        )

    def _arrays(self, n_ports: int) -> SearchArrays:
        return self._data.arrays(self._data.times, replace(self._settings, ports=n_ports))

    def _evaluate(self, finished: FinalMapping) -> FinalMapping:
        """The mapping with its errors on the experiments that are not learnt from."""
        times = self._times(finished, self._judging)
        return replace(finished, error=times.error, error_of_ports=times.error_of_bounds)

    def _times(self, finished: FinalMapping, times: Mapping[Experiment, float]) -> WastefulTimes:
        mapping = self._as_mapping(finished.point, finished.n_ports)
        beat = heartbeat(self._pace, "experiments simulated")
        return wasteful_times(times, mapping, finished.simulated, self._data.least, beat)

    def _should_continue(self) -> Callable[[], bool]:
        """A function that says whether to simulate another policy: a few, unless the run shall finish."""
        beat = heartbeat(self._pace, "scheduler policies simulated")

        def goes_on() -> bool:
            beat()
            return not self._pace.finishing

        return few_policies(goes_on)
