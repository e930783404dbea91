"""The stages of PMEvo (§5.1, Figure 5.1): measure, filter, evolve, climb; beyond the paper, re-fit."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from inference.core.errors import InterruptedRunError
from inference.core.events import Log, PhaseStarted, Progress
from inference.core.mapping import MAX_PORTS, PortMapping
from inference.core.pacing import Executor, PacedReporter
from inference.core.pmevo.breeding import Evolution
from inference.core.pmevo.climb import Climb, distinct_mappings
from inference.core.pmevo.congruence import congruent_schemes
from inference.core.pmevo.events import Congruence, phases
from inference.core.pmevo.evolution import evolve
from inference.core.pmevo.final_stages import FinalMapping, FinalStages
from inference.core.pmevo.fitness import FitnessGate
from inference.core.pmevo.heartbeat import heartbeat
from inference.core.pmevo.observer import Observations, Observer
from inference.core.pmevo.plan import first_ports
from inference.core.pmevo.population import select
from inference.core.pmevo.problem import EXCESS, FrontPoint, PMEvoProblem, PMEvoResult
from inference.core.pmevo.refit.best_known import best_known_first
from inference.core.pmevo.refit.bounded import BoundedSearch
from inference.core.pmevo.refit.front import RefitPoint, cheapest, force_point
from inference.core.pmevo.refit.preferences import FormPair
from inference.core.pmevo.refit.search import Refit
from inference.core.pmevo.refit.search_arrays import SearchArrays
from inference.core.pmevo.refit.usage import Usage
from inference.core.pmevo.representatives import learnable
from inference.core.pmevo.search_state import SearchState, from_checkpoint, identity, to_checkpoint
from inference.core.pmevo.settings import PMEvoSettings
from inference.core.pmevo.snapshots import Snapshots
from inference.core.pmevo.training_data import TrainingData
from inference.core.protocols import Checkpoint, Measurer, Reporter
from inference.core.tables import Floats, Int64s, Population

_BEFORE_CORRECTION = 0.5
"""Share of the time limit after which times are corrected at the latest; busy computers had no time left."""


def infer(
    problem: PMEvoProblem,
    measurer: Measurer,
    reporter: Reporter,
    seed: int,
    resume: Checkpoint | None = None,
    executor: Executor | None = None,
) -> PMEvoResult:
    """Search for the port mapping of the measurer's processor.

    The result depends only on the problem, the measurer's answers and the seed: not on threads, nor on
    interruptions. If the run shall finish early, the search ends with the best mapping so far, once all
    experiments are measured.

    Args:
        problem: Schemes, settings, and what is known of the schemes beforehand.
        measurer: Measures experiments, or offers recorded ones.
        reporter: Receives events and checkpoints, and may interrupt the search.
        seed: Seed of all random streams.
        resume: A checkpoint of the same search; None to start one.
        executor: Breeds islands; None for threads of this process.

    Raises:
        InsufficientDataError: There is no usable measurement.
        InvalidInputError: The checkpoint belongs to another search.
        InterruptedRunError: From the reporter.
    """
    return _Search(problem, measurer, reporter, seed, resume, executor).run()


class _Search:
    """One run. `state` is what its checkpoints hold; `_current` adds the progress of the running stage."""

    def __init__(
        self,
        problem: PMEvoProblem,
        measurer: Measurer,
        reporter: Reporter,
        seed: int,
        resume: Checkpoint | None,
        executor: Executor | None,
    ) -> None:
        self.executor = executor
        self.problem = problem
        self.settings = problem.settings
        self.measurer = measurer
        self.seed = seed
        self.pace = PacedReporter(reporter)
        self.identity = identity(problem, seed, measurer.offers())
        self.state = (
            SearchState(np.empty(0))
            if resume is None
            else from_checkpoint(self.identity, resume, self.settings.ports or MAX_PORTS)
        )
        self._current: Callable[[], SearchState] = lambda: self.state
        self.pace.may_finish = self.state.evolved is not None or self.state.refit is not None

    def run(self) -> PMEvoResult:
        try:
            return self._run()
        except InterruptedRunError:
            self._save(now=True)
            raise

    def _run(self) -> PMEvoResult:
        """The stages in order; those that a checkpoint has the results of return at once."""
        observations = self._observe()
        classes = self._filter(observations)
        self.settings = self._with_limits(observations)
        self.pace.may_finish = True  # from here on, each stage has a mapping before it can be ended
        if self.settings.seconds is not None:
            self.pace.limit(self.settings.seconds)
        representatives = tuple(members[0] for members in classes)
        data = self._data(observations, classes)
        judge = FitnessGate(
            *learnable(observations.times, classes, self.settings),
            representatives,
            self.settings,
            self.pace,
            data.least_of(observations.times, self.settings) if data.least else None,
        )
        viewer = Snapshots(classes, judge, self.problem.held_out)
        times = data.alone
        finished: FinalMapping | None = None
        front: tuple[FrontPoint, ...] = ()
        evolved = None if self.settings.search == "refit" else self._evolve(judge, times, viewer)
        if evolved is not None and self.settings.search == "evolution":
            best, error = self._climb(judge, evolved)
            mapping = viewer.mapping(best, 0)
        else:
            point, front = self._refit(judge, times, data.members, evolved, viewer)
            finished = self._run_final_stages(data, point, viewer)
            mapping, error = self._mapping_of(viewer, finished.point, finished.n_ports), finished.point.error
        viewer.show(lambda: mapping, now=True)
        return PMEvoResult(
            mapping=mapping,
            congruence_classes=classes,
            generations=0 if evolved is None else evolved.generation,
            final_error=error,
            experiments=len(observations.times),
            front=front,
            exhaustive=observations.exhaustive,
            excess=int(np.count_nonzero(judge.measured > (1 + EXCESS) * judge.cycles_of(mapping))),
            simulated=None if finished is None else finished.simulated,
            scheduled_error=None if finished is None else finished.error,
            unscheduled_error=None if finished is None else finished.error_of_ports,
        )

    def _data(self, observations: Observations, classes: Sequence[Sequence[str]]) -> TrainingData:
        """The measurements for the final stages, with what the code of each takes on any ports."""
        core = self.problem.core
        beat = heartbeat(self.pace, "loop bodies searched for limits besides ports")
        return TrainingData(
            observations.times,
            core.least_cycles(observations.times, pulse=beat)
            if core is not None and self.settings.waste
            else {},
            classes,
            np.array([observations.scheme_times[members[0]] for members in classes]),
            self._domains(classes),
            self._forms([members[0] for members in classes]),
        )

    def _run_final_stages(self, data: TrainingData, point: RefitPoint, viewer: Snapshots) -> FinalMapping:
        """The mapping with as many ports as the data require, and without waste that a scheduler explains."""
        finished = FinalMapping(point, self.settings.n_ports)
        if self.settings.objective != "bounded" or self.pace.finishing:
            return finished
        finishing = FinalStages(
            data,
            self.settings,
            self.pace,
            self.seed,
            partial(_stream, self.seed),
            partial(self._mapping_of, viewer),
        )
        if self.problem.core is not None and self.settings.waste:
            finished = finishing.without_waste(finished, self.problem.core)
        if self.problem.settings.ports is None:
            finished = finishing.with_more_ports(finished, self.settings.most_ports)
        return finished

    def _mapping_of(self, viewer: Snapshots, point: RefitPoint, n_ports: int) -> PortMapping:
        slots = point.usage.slots.tolist() if point.issue_width is not None else ()
        return viewer.mapping(point.usage.population(n_ports), 0, point.issue_width, slots)

    def _observe(self) -> Observations:
        self._enter_phase("measuring")
        observer = Observer(
            self.measurer, self.pace, self.seed, self.state.answers, self.state.unusable, self._save
        )
        self._current = lambda: replace(self.state, answers=observer.answers, unusable=observer.unusable)
        observations = observer.observe(self.problem)
        self._set_state(self._current(), now=self.state.evolved is None and self.state.refit is None)
        return observations

    def _filter(self, observations: Observations) -> tuple[tuple[str, ...], ...]:
        """The congruence classes (§5.1.2), which the adaptive plan has found while it measured."""
        self._enter_phase("congruence")
        classes, likeness = observations.classes, observations.likeness
        if classes is None:
            classes, likeness = congruent_schemes(
                sorted(observations.scheme_times),
                observations.times,
                self.settings,
                self.pace.pulse,
                self.problem.apart,
            )
        self.pace.emit(Congruence(len(observations.scheme_times), len(classes), classes, likeness))
        return classes

    def _with_limits(self, observations: Observations) -> PMEvoSettings:
        """The settings with the number of ports to begin with, the issue width and R_max filled in."""
        settings = replace(self.settings, issue_width=self.problem.width)
        if settings.ports is None:
            ports = first_ports(observations.scheme_times, self.problem.domains, settings.most_ports)
            settings = replace(settings, ports=ports)
        if observations.ceiling is None:
            return settings
        searched = observations.exhaustive is not None and settings.plan == "adaptive"
        how = "a search for more found none" if searched else "quicker mixes may not have been measured"
        text = f"R_max = {observations.ceiling:.3f}: many experiments reach this rate, and {how}"
        self.pace.emit(Log("info", text))
        return replace(settings, r_max=observations.ceiling)

    def _evolve(self, judge: FitnessGate, times: Floats, viewer: Snapshots) -> Evolution:
        """The last generation; an evolution that a later stage has built on is not continued."""
        self._enter_phase("evolution")
        state = self.state.evolved
        if state is not None and (self.state.climbed is not None or self.state.refit is not None):
            return state

        def listen(generation: Evolution) -> None:
            self._set_state(replace(self.state, evolved=generation))
            viewer.show(lambda: viewer.mapping(generation.population, 0))

        evolved = evolve(judge, times.tolist(), self.seed, state, listen, self.executor)
        converged = evolved.converged(self.settings.convergence)
        self.pace.emit(
            Log("info", f"{'converged' if converged else 'stopped'} after {evolved.generation} generations")
        )
        return evolved

    def _refit(
        self, judge: FitnessGate, times: Floats, members: Int64s, evolved: Evolution | None, viewer: Snapshots
    ) -> tuple[RefitPoint, tuple[FrontPoint, ...]]:
        """Re-fit from the evolved mappings, or from random ones; returns the chosen point and the front."""
        self._enter_phase("refit")
        stream = partial(_stream, self.seed)
        refit = Refit(judge, times, members, self._starts(times, evolved), stream, self.state.refit)
        self._current = lambda: replace(self.state, refit=refit.states())

        def as_mapping(point: RefitPoint) -> PortMapping:
            return self._mapping_of(viewer, point, self.settings.n_ports)

        def listen(best: RefitPoint | None) -> None:
            self._save()
            if best is not None:
                viewer.show(lambda: as_mapping(best))

        front = refit.run(listen)
        self._set_state(replace(self.state, refit=refit.states()))
        best = cheapest(front)
        if self.settings.objective == "bounded" and not (self.pace.finishing and self.state.bounded is None):
            best = self._search_fewest_uops(
                judge,
                times,
                members,
                front,
                self._domains(viewer.classes),
                lambda point: viewer.show(lambda: as_mapping(point)),
            )
            front = force_point(front, best)
        points = tuple(FrontPoint(*point.objectives, as_mapping(point)) for point in front)
        return best, points

    def _search_fewest_uops(
        self,
        judge: FitnessGate,
        times: Floats,
        members: Int64s,
        front: tuple[RefitPoint, ...],
        domains: list[str | None],
        show: Callable[[RefitPoint], None],
    ) -> RefitPoint:
        """Search for the mapping with the fewest µops and slots that no measurement contradicts."""
        self._enter_phase("bounded")
        arrays = SearchArrays(judge.evaluator, judge.measured, times, members)
        beat = heartbeat(self.pace, "schemes re-fitted in local searches")
        search = BoundedSearch(
            arrays,
            front,
            self.settings,
            partial(_stream, self.seed, "bounded"),
            beat,
            self.state.bounded,
            partial(best_known_first, arrays, self.settings, partial(_stream, self.seed, "known"), beat),
        )
        began, already = self.pace.clock(), search.state.done
        while not (search.ended or (self._must_go_on() and search.state.done)):
            search.advance()
            self._set_state(replace(self.state, bounded=search.state))
            show(search.point)
            if self.pace.due("bounded") or search.ended:
                done = search.state.done
                rate = (done - already) / max(self.pace.clock() - began, 1e-9)
                seconds_left = (search.most - done) / rate
                self.pace.emit(Progress("bounded", done, search.most, rate, "searches", seconds_left))
        return search.apply_preferences(self._forms(judge.table.schemes), domains)

    def _must_go_on(self) -> bool:
        """Whether the bounded search shall end early, to finish the run or to begin correcting times."""
        corrects = self.problem.core is not None and self.settings.waste
        return self.pace.finishing or (corrects and self.pace.elapsed > _BEFORE_CORRECTION)

    def _domains(self, classes: Sequence[Sequence[str]]) -> list[str | None]:
        """The domain of each class; None where its members have several or none."""
        domain_sets = [{self.problem.domains.get(scheme) for scheme in members} for members in classes]
        return [domains.pop() if len(domains) == 1 else None for domains in domain_sets]

    def _forms(self, representatives: Sequence[str]) -> list[FormPair]:
        """The memory forms among the representatives whose register form is a representative, too."""
        index = {scheme: k for k, scheme in enumerate(representatives)}
        return [
            FormPair(index[scheme], index[register], access)
            for scheme, (register, access) in sorted(self.problem.forms.items())
            if scheme in index and register in index
        ]

    def _starts(self, times: Floats, evolved: Evolution | None) -> list[Usage]:
        n_starts = self.settings.starts
        if evolved is None:
            return [
                Usage.random(times, self.settings.n_ports, _stream(self.seed, "start", index))
                for index in range(n_starts)
            ]
        fittest = distinct_mappings(evolved, n_starts).population
        return [Usage.of(fittest, index % fittest.n_mappings) for index in range(n_starts)]

    def _climb(self, judge: FitnessGate, evolved: Evolution) -> tuple[Population, float]:
        """Climb from the fittest mappings, equal ones once; returns the best and its D_avg."""
        self._enter_phase("climb")
        starts, done = evolved, self.state.climbed
        if done is None:
            n_starts = max(1, math.ceil(self.settings.climb_share * evolved.population.n_mappings))
            starts, done = distinct_mappings(evolved, n_starts), 0
            self._set_state(replace(self.state, evolved=starts, climbed=0), now=True)
        begin, already = self.pace.clock(), done
        climb = Climb(judge, starts, done)
        self._current = lambda: replace(self.state, evolved=climb.state(), climbed=climb.done)
        while climb.done < climb.total and not self.pace.finishing:
            climb.go_on()
            self._save()
            self._report_climb(climb.done, climb.total, climb.done - already, begin)
        ended = climb.state()
        self._set_state(replace(self.state, evolved=ended, climbed=climb.done))
        best = int(np.argmin(ended.slopes.fitness(ended.errors, ended.volumes)))
        fittest = select(ended.population, np.array([best]))
        return fittest, float(judge.evaluator.mean_relative_error(fittest, judge.measured)[0])

    def _report_climb(self, done: int, total: int, fresh: int, begin: float) -> None:
        if self.pace.due("climb") or done == total:
            rate = fresh / max(self.pace.clock() - begin, 1e-9)
            self.pace.emit(Progress("climb", done, total, rate, "mappings", (total - done) / rate))

    def _enter_phase(self, phase: str) -> None:
        labels = phases(self.settings)
        self.pace.emit(PhaseStarted(phase, list(labels).index(phase) + 1, tuple(labels.values())))
        self.pace.pulse()

    def _set_state(self, state: SearchState, *, now: bool = False) -> None:
        self.state = state
        self._current = lambda: state
        self._save(now=now)

    def _save(self, *, now: bool = False) -> None:
        self.pace.save(
            lambda: to_checkpoint(self.identity, self._current(), self.settings.ports or MAX_PORTS), now=now
        )


_STREAMS = {"chain": 3, "start": 4, "bounded": 5, "known": 6, "finish": 7}  # 0 to 2 are the evolution's


def _stream(seed: int, name: str, *number: int) -> np.random.Generator:
    """The random stream of this name and number, independent of all others."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(_STREAMS[name], *number)))
