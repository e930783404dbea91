"""The state of one search: its measurements, the waived ones, its time limit and checkpoints.

A checkpoint holds the measurements only: the search is deterministic, so a resumed one finds the same
candidates again, and takes the times of their experiments from the checkpoint.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from inference.core.cegar.answers import CachedMeasurer, as_json, from_json
from inference.core.cegar.encoding_choice import open_questions
from inference.core.cegar.encodings import Questions
from inference.core.cegar.events import Ports, Seeded
from inference.core.cegar.experiment_choice import ExperimentChooser
from inference.core.cegar.problem import PHASES, Apart, CegarProblem, Clash, Unexplained
from inference.core.cegar.readings import Readings
from inference.core.cegar.shape import Observation, Shape
from inference.core.cegar.waivers import Waived, reduce_observations
from inference.core.cegar.z3_solver import SolverLimitError
from inference.core.checkpoint import check_same_search, saved_search
from inference.core.errors import InsufficientDataError
from inference.core.events import Event, Log, PhaseStarted
from inference.core.experiment import Experiment, Measured
from inference.core.mapping import PortMapping
from inference.core.pacing import PacedReporter
from inference.core.protocols import Checkpoint, Json, Measurer, Reporter
from inference.core.search_clocks import computing_seconds
from inference.core.throughput import inverse_throughput

REPORT_INTERVAL = 10.0  # seconds
_TIME_LIMIT = "the time limit of {:g} seconds of computing (time_limit) was reached at: {}"


class CegarSearch:
    """State that all parts of a search share; see `inference.core.cegar.algorithm.infer`."""

    def __init__(
        self,
        problem: CegarProblem,
        measurer: Measurer,
        reporter: Reporter,
        seed: int,
        resume: Checkpoint | None,
    ) -> None:
        self.problem = problem
        self.settings = problem.settings
        self.seed = seed
        self.pace = PacedReporter(reporter)
        self.identity = identity(problem, seed)
        earlier, before = ([], 0.0) if resume is None else from_checkpoint(self.identity, resume)
        self.answers = CachedMeasurer(measurer, earlier, self._save)
        self.readings = Readings(self.answers, self.settings)
        self.chooser = ExperimentChooser(self.settings, self.answers, self.readings, self.pulse)
        self.schemes: list[str] = sorted(problem.schemes)
        self.clashes: list[Clash] = []
        self.waived: Waived = frozenset()
        self.weight = 0  # of the waived claims
        self.apart: Apart = ()
        self.lists_alternatives = True  # what measuring cannot tell apart
        self.counter_examples = 0
        self.start = self.pace.clock() - before
        self.searching = 0.0
        self.attempt = "schemes alone"  # for the log
        self.deadline = Deadline(self.settings.time_limit)
        self.pace.due("attempt", REPORT_INTERVAL)

    def pulse(self) -> None:
        """Call the reporter's pulse and log progress every `REPORT_INTERVAL`.

        Raises:
            SolverLimitError: The time limit is reached.
        """
        self.pace.pulse()
        if self.deadline.is_expired:
            raise SolverLimitError(_TIME_LIMIT.format(self.deadline.limit, self.attempt))
        if self.pace.due("attempt", REPORT_INTERVAL):
            remaining = f", {self.deadline.left:.0f} s left" if self.deadline.limit else ""
            n_experiments, waived = len(self.readings), len({experiment for experiment, _ in self.waived})
            self.pace.emit(
                Log(
                    "info",
                    f"{self.attempt}: {n_experiments} experiments, {waived} left unexplained{remaining}",
                )
            )

    def emit(self, event: Event) -> None:
        """Emit an event, unless the interrupted search that this one repeats has emitted it."""
        if not self.answers.is_replaying:
            self.pace.emit(event)

    def observations_to_explain(self, shape: Shape) -> list[Observation]:
        """The observations without the waived claims."""
        return reduce_observations(self.readings.observations(shape), self.waived)

    def questions(self, shape: Shape) -> Questions:
        """A new encoding of the shape with the observations to explain."""
        return open_questions(
            self.settings.encoding,
            shape,
            self.observations_to_explain(shape),
            self.seed,
            self.settings.solver_limit,
            self.pulse,
        )

    def measure_first(self) -> None:
        """Measure every scheme alone, or pairs too; of recorded data, use all but copies of one scheme.

        Raises:
            InsufficientDataError: There is no usable measurement.
        """
        schemes = set(self.schemes)
        experiments = [Experiment.of([scheme]) for scheme in self.schemes]
        if self.answers.offered is not None:
            alone = {e.schemes[0] for e in experiments if e in self.answers.offered}
            experiments = sorted(
                e
                for e in self.answers.offered
                if schemes.issuperset(e.schemes)
                and (len(e.schemes) > 1 or e.is_singleton or e.schemes[0] not in alone)
            )
        elif self.problem.in_pairs:
            experiments += map(Experiment.of, itertools.combinations(self.schemes, 2))
        for measured in self.answers.measure(experiments):
            self.record(measured)
            self.emit(Seeded(measured.experiment, measured.cycles, measured.state))
        measured_schemes = self.readings.schemes
        missing = [scheme for scheme in self.schemes if scheme not in measured_schemes]
        if not measured_schemes:
            raise InsufficientDataError(f"none of {len(experiments)} experiments has a usable measurement")
        if missing:
            names = "; ".join(missing[:5]) + (" …" if len(missing) > 5 else "")
            text = f"{len(missing)} scheme(s) without a usable measurement are excluded: {names}"
            self.emit(Log("warning", text))
            self.schemes = [scheme for scheme in self.schemes if scheme in measured_schemes]
        if self.answers.offered is None and self.settings.ports is None and self.settings.r_max is None:
            self._measure_quick_mix()

    def _measure_quick_mix(self) -> None:
        """Add schemes to the quickest mix, quick ones first, as long as the rate rises.

        The last rate is a first value for R_max: while it is unknown, ports beyond it look like real ones.
        """
        times = {scheme: self.readings.cycles(Experiment.of([scheme])) or 1.0 for scheme in self.schemes}
        mix: dict[str, int] = {}
        highest = 0.0
        for scheme in sorted(self.schemes, key=lambda scheme: (times[scheme], scheme)):
            longer_mix = {**mix, scheme: max(1, round(1 / times[scheme]))}
            experiment = Experiment.of(longer_mix)
            if self.can_measure(experiment):
                self.measure(experiment)
            cycles = self.readings.cycles(experiment)
            if cycles and experiment.length / cycles > highest:
                mix, highest = longer_mix, experiment.length / cycles

    def begin_attempt(self, event: Ports) -> None:
        self.attempt = f"{event.ports} ports: {event.reason}"
        self.emit(event)

    def can_measure(self, experiment: Experiment) -> bool:
        """Whether an experiment is short enough, available, and not measured yet."""
        is_short = experiment.length <= (self.settings.max_length or experiment.length)
        is_new = self.readings.cycles(experiment) is None and experiment not in self.chooser.refused
        return is_short and is_new and self.answers.has(experiment)

    def measure(self, experiment: Experiment) -> None:
        (measured,) = self.answers.measure([experiment])
        self.record(measured)

    def record(self, measured: Measured) -> bool:
        """Record a result; whether it is usable."""
        usable = self.readings.record(measured)
        if usable:
            self.readings.confirm_quickest()
        else:
            self.chooser.refused.add(measured.experiment)
        return usable

    def shape(self, ports: int, *, is_full: bool = False) -> Shape:
        """The shape with so many ports; schemes with many ports come first, which breaks most symmetry."""
        times = {scheme: self.readings.cycles(Experiment.of([scheme])) or 0.0 for scheme in self.schemes}
        order = sorted(self.schemes, key=lambda s: (self.problem.count(s), times[s], s))
        return Shape(
            schemes=tuple(order),
            counts=tuple(self.problem.count(scheme) for scheme in order),
            ports=ports,
            epsilon=self.settings.epsilon,
            r_max=self.readings.r_max,
            widths={s: n for s, n in self.problem.widths.items() if s in self.schemes},
            known={s: mask for s, mask in self.problem.known.items() if s in self.schemes},
            improper=tuple(s for s in self.problem.improper if s in self.schemes),
            apart=tuple((self._schemes_of(first), self._schemes_of(second)) for first, second in self.apart),
            is_full=is_full,
        )

    def unexplained(
        self, mapping: PortMapping, among: Iterable[Experiment] | None = None
    ) -> tuple[Unexplained, ...]:
        """The measurements, of `among` or of all, that a mapping does not explain; the largest excess first.

        A measurement may exceed its prediction by what the core may waste, and ε cycles per instruction.
        """
        failures = []
        selection = None if among is None else frozenset(among)
        for observation in self.readings.observations(self.shape(len(mapping.ports))):
            if selection is not None and observation.experiment not in selection:
                continue
            predicted = inverse_throughput(mapping, observation.experiment)
            off = self.settings.epsilon * observation.experiment.length
            wasted = observation.cycles * self.readings.wasted(observation.experiment)
            if not -off < observation.cycles - predicted < wasted + off:
                failures.append(Unexplained(observation.experiment, observation.cycles, predicted))
        return tuple(sorted(failures, key=lambda failure: (-failure.excess, failure.experiment)))

    def _schemes_of(self, domain: str) -> frozenset[str]:
        """Schemes of a domain with one µop: those of several may belong to several domains."""
        schemes = (
            scheme for scheme, scheme_domain in self.problem.domains.items() if scheme_domain == domain
        )
        return frozenset(scheme for scheme in schemes if self.problem.count(scheme) == 1)

    def enter_phase(self, phase: str) -> None:
        self.emit(PhaseStarted(phase, list(PHASES).index(phase) + 1, tuple(PHASES.values())))
        self.pace.pulse()

    def seconds(self) -> float:
        """Seconds of the search, including those before an interruption.

        `searching` counts from the last resumption only: a resumed search repeats the solver's work.
        """
        return self.pace.clock() - self.start

    def _save(self) -> None:
        """Save a checkpoint; after every new measurement, as measuring costs more than saving."""
        self.pace.save(lambda: to_checkpoint(self.identity, self.answers.known, self.seconds()), now=True)
        self.pace.pulse()


_ENDING = 0.05
"""Share of a part's time reserved for its end: a local search, and renaming alternatives."""


class Deadline:
    """Shares `limit` CPU seconds among the parts of a search; a limit of 0 is none."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self._began = computing_seconds()
        self.share(1)

    def share(self, parts: int) -> None:
        """Give the part that begins an equal share of the time left for so many parts."""
        elapsed = self._elapsed_seconds
        seconds = max(0.0, self.limit - elapsed) / parts
        self._end = elapsed + seconds  # of the part
        self._until = elapsed + seconds * (1 - _ENDING)  # when its search is interrupted

    def end(self) -> None:
        """Give the interrupted part the time reserved for its end."""
        self._until = self._end

    @property
    def left(self) -> float:
        """Seconds until the part is interrupted."""
        return self._until - self._elapsed_seconds

    @property
    def is_expired(self) -> bool:
        return self.limit > 0 and self.left <= 0

    @property
    def _elapsed_seconds(self) -> float:
        return computing_seconds() - self._began


FORMAT = 2
"""Version of a checkpoint's content; see `from_checkpoint` for the earlier one."""


def identity(problem: CegarProblem, seed: int) -> Json:
    """What a checkpoint must agree on: with any of it changed, the search would have another result."""
    return {
        "algorithm": "cegar",
        "format": FORMAT,
        "seed": seed,
        "settings": problem.settings.as_json(),
        "schemes": list(problem.schemes),
        "uops": dict(sorted(problem.uops.items())),
        "widths": dict(sorted(problem.widths.items())),
        "improper": list(problem.improper),
        "domains": dict(sorted(problem.domains.items())),
        # Absent where empty, so that checkpoints from before these fields existed still agree.
        **({"known": dict(sorted(problem.known.items()))} if problem.known else {}),
        **({"in_pairs": True} if problem.in_pairs else {}),
    }


def to_checkpoint(identity: Json, answers: Iterable[Measured], seconds: float) -> Checkpoint:
    """A checkpoint with the measurements as JSON and the seconds so far."""
    return Checkpoint({"search": identity, "answers": as_json(answers), "seconds": seconds})


def from_checkpoint(identity: Json, checkpoint: Checkpoint) -> tuple[list[Measured], float]:
    """The saved measurements and seconds.

    Raises:
        InvalidInputError: The checkpoint belongs to another search.
    """
    saved = saved_search(checkpoint, identity, "CEGAR")
    if saved.get("format") != 1:  # format 1 lacks later settings, but its measurements are valid
        check_same_search(saved, identity, "CEGAR search")
    return from_json(checkpoint.meta["answers"]), checkpoint.meta.get("seconds", 0.0)
