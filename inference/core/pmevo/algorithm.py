"""PMEvo from end to end (§5.1, Figure 5.1): measure, filter, evolve, climb."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from inference.core.errors import InterruptedRunError
from inference.core.evaluator import Evaluator
from inference.core.events import Log, PhaseStarted, Progress
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping
from inference.core.pacing import SHOW_EVERY, Pace
from inference.core.pmevo.climb import climbed
from inference.core.pmevo.congruence import congruence_classes
from inference.core.pmevo.events import Congruence, Snapshot
from inference.core.pmevo.evolution import Evolved, evolve
from inference.core.pmevo.fitness import Judge
from inference.core.pmevo.observing import Observations, Observer
from inference.core.pmevo.population import chosen, joined
from inference.core.pmevo.problem import PMEvoProblem, PMEvoResult
from inference.core.pmevo.search_state import (
    SearchState,
    from_checkpoint,
    identity,
    to_checkpoint,
)
from inference.core.protocols import Checkpoint, Measurer, Reporter
from inference.core.tables import ExperimentTable, Population

PHASES = {
    "measuring": "Measure the experiments",
    "congruence": "Find schemes that behave alike",
    "evolution": "Evolve port mappings",
    "climb": "Climb to the nearest optimum",
}
"""{stage: label}, in order."""


def infer(
    problem: PMEvoProblem,
    measurer: Measurer,
    reporter: Reporter,
    seed: int,
    resume: Checkpoint | None = None,
) -> PMEvoResult:
    """The port mapping that PMEvo finds for the measurer's processor.

    The answer depends on the problem, the measurer's answers and the seed alone: not on threads, nor on
    where a search was interrupted and taken up again. Raises `InsufficientDataError` where nothing usable
    was measured, `InvalidInputError` for a checkpoint of another search, and lets `InterruptedRunError`
    from the reporter through.
    """
    return _Search(problem, measurer, reporter, seed, resume).run()


class _Search:
    def __init__(
        self,
        problem: PMEvoProblem,
        measurer: Measurer,
        reporter: Reporter,
        seed: int,
        resume: Checkpoint | None,
    ) -> None:
        self.problem = problem
        self.settings = problem.settings
        self.measurer = measurer
        self.seed = seed
        self.pace = Pace(reporter)
        self.whose = identity(problem, seed, measurer.offers())
        self.state = (
            SearchState(np.empty(0))
            if resume is None
            else from_checkpoint(self.whose, resume, self.settings.ports)
        )
        self._current: Callable[[], SearchState] = lambda: self.state

    def run(self) -> PMEvoResult:
        try:
            return self._run()
        except InterruptedRunError:
            self._save(now=True)
            raise

    def _run(self) -> PMEvoResult:
        seen = self._observe()
        classes = self._filter(seen)
        representatives = tuple(members[0] for members in classes)
        learnt = {e: t for e, t in seen.times.items() if set(representatives).issuperset(e.schemes)}
        judge = Judge(list(learnt), list(learnt.values()), representatives, self.settings, self.pace)
        viewer = _Viewer(self, classes, judge)
        evolved = self._evolve(judge, seen, viewer)
        best, error = self._climb(judge, evolved)
        viewer.show(best, 0, now=True)
        return PMEvoResult(
            mapping=viewer.mapping(best, 0),
            congruence_classes=classes,
            generations=evolved.generation,
            final_error=error,
            experiments=len(seen.times),
        )

    def _observe(self) -> Observations:
        self._enter("measuring")

        observer = Observer(self.measurer, self.pace, self.state.answers, self._save)
        self._current = lambda: replace(self.state, answers=observer.answers)
        seen = observer.observe(self.problem)
        self._keep(self._current(), now=self.state.evolved is None)
        return seen

    def _filter(self, seen: Observations) -> tuple[tuple[str, ...], ...]:
        self._enter("congruence")
        classes = congruence_classes(
            sorted(seen.scheme_times),
            seen.times,
            self.settings.congruence_epsilon,
            self.settings.congruence_evidence,
            self.pace.pulse,
        )
        self.pace.emit(Congruence(len(seen.scheme_times), len(classes)))
        return classes

    def _evolve(self, judge: Judge, seen: Observations, viewer: _Viewer) -> Evolved:
        self._enter("evolution")
        state = self.state.evolved
        if state is not None and self.state.climbed is not None:
            return state

        def listen(generation: Evolved) -> None:
            self._keep(replace(self.state, evolved=generation))
            viewer.show(generation.population, 0)

        times = [seen.scheme_times[scheme] for scheme in judge.table.schemes]
        evolved = evolve(judge, times, self.seed, state, listen)
        converged = evolved.converged(self.settings.convergence)
        self.pace.emit(
            Log("info", f"{'converged' if converged else 'stopped'} after {evolved.generation} generations")
        )
        return evolved

    def _climb(self, judge: Judge, evolved: Evolved) -> tuple[Population, float]:
        """Climb from the fittest mappings; equal ones only once."""
        self._enter("climb")
        starts = evolved
        if self.state.climbed is None:
            wanted = max(1, math.ceil(self.settings.climb_share * evolved.population.n_mappings))
            starts = _without_repeats(evolved, wanted)
            self._keep(SearchState(self.state.answers, starts, climbed=0), now=True)
        begin = self.pace.clock()
        already = self.state.climbed or 0
        for k in range(already, starts.population.n_mappings):
            better, error = climbed(judge, starts.population, k, evolved.slopes)
            starts = _with(starts, k, better, error)
            self._keep(SearchState(self.state.answers, starts, climbed=k + 1))
            self._tell_climb(k + 1, starts.population.n_mappings, (k + 1 - already), begin)
        best = int(np.argmin(evolved.slopes.fitness(starts.errors, starts.volumes)))
        return chosen(starts.population, np.array([best])), float(starts.errors[best])

    def _tell_climb(self, done: int, total: int, fresh: int, begin: float) -> None:
        if self.pace.due("climb") or done == total:
            rate = fresh / max(self.pace.clock() - begin, 1e-9)
            self.pace.emit(Progress("climb", done, total, rate, "mappings", (total - done) / rate))

    def _enter(self, phase: str) -> None:
        names = list(PHASES)
        self.pace.emit(PhaseStarted(phase, names.index(phase) + 1, tuple(PHASES.values())))
        self.pace.pulse()

    def _keep(self, state: SearchState, *, now: bool = False) -> None:
        self.state = state
        self._current = lambda: state
        self._save(now=now)

    def _save(self, *, now: bool = False) -> None:
        self.pace.save(lambda: to_checkpoint(self.whose, self._current()), now=now)


class _Viewer:
    """Shows the fittest mapping: on held-out results, or where there are none on those learnt from."""

    def __init__(self, search: _Search, classes: Sequence[Sequence[str]], judge: Judge) -> None:
        self._classes = classes
        self._settings = search.settings
        self._pace = search.pace
        known = {scheme for members in classes for scheme in members}
        held_out: dict[Experiment, float] = {
            result.experiment: result.cycles
            for result in search.problem.held_out
            if result.usable and result.cycles is not None and known.issuperset(result.experiment.schemes)
        }
        self._on = "held-out" if held_out else "training"
        table = ExperimentTable.from_experiments(held_out, sorted(known)) if held_out else judge.table
        self._measured = np.array(list(held_out.values())) if held_out else judge.measured
        self._evaluator = Evaluator(table, self._settings.ports)

    def mapping(self, population: Population, index: int) -> PortMapping:
        """One of a population over the representatives as a mapping of all schemes."""
        usage = {
            scheme: population.row(index, k) for k, members in enumerate(self._classes) for scheme in members
        }
        ports = tuple(str(k) for k in range(self._settings.ports))
        return PortMapping(ports, dict(sorted(usage.items())), self._settings.r_max)

    def show(self, population: Population, index: int, *, now: bool = False) -> None:
        """Emit a snapshot, at most every two seconds unless `now`."""
        if not (self._pace.due("snapshot", SHOW_EVERY) or now):
            return
        mapping = self.mapping(population, index)
        table = self._evaluator.table
        self._pace.emit(
            Snapshot(mapping, self._measured, self._evaluator.cycles_one(mapping), table.lengths, self._on)
        )


def _without_repeats(evolved: Evolved, wanted: int) -> Evolved:
    """The first mappings that differ from all before them, at most `wanted`; the input is fittest first."""
    population = evolved.population
    ends = population.offsets[:: population.n_schemes]
    lengths = np.diff(population.offsets)
    seen: set[bytes] = set()
    picks: list[int] = []
    for m in range(population.n_mappings):
        span = slice(int(ends[m]), int(ends[m + 1]))
        rows = lengths[m * population.n_schemes : (m + 1) * population.n_schemes]
        content = b"|".join(
            array.tobytes() for array in (rows, population.masks[span], population.counts[span])
        )
        if content not in seen:
            seen.add(content)
            picks.append(m)
        if len(picks) == wanted:
            break
    which = np.array(picks)
    return replace(
        evolved,
        population=chosen(population, which),
        errors=evolved.errors[which],
        volumes=evolved.volumes[which],
    )


def _with(evolved: Evolved, index: int, mapping: Population, error: float) -> Evolved:
    """The same with one mapping replaced."""
    n = evolved.population.n_mappings
    both = joined([evolved.population, mapping])
    picks = np.arange(n)
    picks[index] = n
    errors, volumes = evolved.errors.copy(), evolved.volumes.copy()
    errors[index], volumes[index] = error, mapping.volumes()[0]
    return replace(evolved, population=chosen(both, picks), errors=errors, volumes=volumes)
