"""One search by counter-examples: what was asked and measured so far, and what of it is to be explained."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from inference.core.cegar.answers import AnsweredOnce
from inference.core.cegar.deadline import Deadline
from inference.core.cegar.encoding_choice import questions
from inference.core.cegar.encodings import Questions
from inference.core.cegar.events import Ports, Seeded
from inference.core.cegar.problem import (
    PHASES,
    Apart,
    CegarProblem,
    Clash,
    Unexplained,
)
from inference.core.cegar.readings import Readings
from inference.core.cegar.search_state import from_checkpoint, identity, to_checkpoint
from inference.core.cegar.shape import Observation, Shape
from inference.core.cegar.solving import SolverLimitError
from inference.core.cegar.telling_apart import ExperimentChooser
from inference.core.cegar.waiving import Waived, reduced
from inference.core.errors import InsufficientDataError
from inference.core.events import Event, Log, PhaseStarted
from inference.core.experiment import Experiment, Measured
from inference.core.mapping import PortMapping
from inference.core.pacing import PacedReporter
from inference.core.protocols import Checkpoint, Measurer, Reporter
from inference.core.throughput import inverse_throughput

TELL_EVERY = 10.0  # seconds
_TIME_LIMIT = "the time limit of {:g} seconds of computing (time_limit) was reached at: {}"


class CegarSearch:
    """What all parts of a search have in common; see `inference.core.cegar.algorithm.infer`."""

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
        self.whose = identity(problem, seed)
        earlier, before = ([], 0.0) if resume is None else from_checkpoint(self.whose, resume)
        self.answers = AnsweredOnce(measurer, earlier, self._save)
        self.readings = Readings(self.answers, self.settings)
        self.judge = ExperimentChooser(self.settings, self.answers, self.readings, self.pulse)
        self.schemes: list[str] = sorted(problem.schemes)
        self.clashes: list[Clash] = []
        self.waived: Waived = frozenset()
        self.weight = 0  # of what is waived
        self.apart: Apart = ()
        self.listing = True  # what measuring cannot tell apart
        self.counter_examples = 0
        self.start = self.pace.clock() - before
        self.searching = 0.0
        self.attempt = "schemes alone"  # what is tried at the moment
        self.deadline = Deadline(self.settings.time_limit)
        self.pace.due("attempt", TELL_EVERY)

    def pulse(self) -> None:
        """Listen, say what is tried every few seconds; raises `SolverLimitError` when time is up."""
        self.pace.pulse()
        if self.deadline.is_over:
            raise SolverLimitError(_TIME_LIMIT.format(self.deadline.limit, self.attempt))
        if self.pace.due("attempt", TELL_EVERY):
            left = f", {self.deadline.left:.0f} s left" if self.deadline.limit else ""
            asked, waived = len(self.readings), len({experiment for experiment, _ in self.waived})
            self.pace.emit(
                Log("info", f"{self.attempt}: {asked} experiments, {waived} left unexplained{left}")
            )

    def tell(self, event: Event) -> None:
        """Emit, unless an earlier attempt has said the same before it was interrupted."""
        if not self.answers.replaying:
            self.pace.emit(event)

    def to_explain(self, shape: Shape) -> list[Observation]:
        """What was measured, but for what was waived."""
        return reduced(self.readings.observations(shape), self.waived)

    def questions(self, shape: Shape) -> Questions:
        """A fresh encoding of everything known."""
        return questions(
            self.settings.encoding,
            shape,
            self.to_explain(shape),
            self.seed,
            self.settings.solver_limit,
            self.pulse,
        )

    def measure_first(self) -> None:
        """Every scheme alone, or in pairs too; of recorded data, everything but for copies of one scheme."""
        wanted = set(self.schemes)
        asked = [Experiment.of([scheme]) for scheme in self.schemes]
        if self.answers.offered is not None:
            alone = {e.schemes[0] for e in asked if e in self.answers.offered}
            asked = sorted(
                e
                for e in self.answers.offered
                if wanted.issuperset(e.schemes)
                and (len(e.schemes) > 1 or e.is_singleton or e.schemes[0] not in alone)
            )
        elif self.problem.in_pairs:
            asked += map(Experiment.of, itertools.combinations(self.schemes, 2))
        for measured in self.answers.measure(asked):
            self.take(measured)
            self.tell(Seeded(measured.experiment, measured.cycles, measured.state))
        seen = self.readings.schemes
        missing = [scheme for scheme in self.schemes if scheme not in seen]
        if not seen:
            raise InsufficientDataError(f"none of {len(asked)} experiments has a usable measurement")
        if missing:
            shown = "; ".join(missing[:5]) + (" …" if len(missing) > 5 else "")
            text = f"{len(missing)} scheme(s) without a usable measurement are left out: {shown}"
            self.tell(Log("warning", text))
            self.schemes = [scheme for scheme in self.schemes if scheme in seen]
        if self.answers.offered is None and self.settings.ports is None and self.settings.r_max is None:
            self._measure_quick_mix()

    def _measure_quick_mix(self) -> None:
        """Add one scheme after another to the quickest as long as more instructions run per cycle."""
        times = {scheme: self.readings.cycles(Experiment.of([scheme])) or 1.0 for scheme in self.schemes}
        mix: dict[str, int] = {}
        highest = 0.0
        for scheme in sorted(self.schemes, key=lambda scheme: (times[scheme], scheme)):
            more = {**mix, scheme: max(1, round(1 / times[scheme]))}
            experiment = Experiment.of(more)
            if self.may_ask(experiment):
                self.ask(experiment)
            cycles = self.readings.cycles(experiment)
            if cycles and experiment.length / cycles > highest:
                mix, highest = more, experiment.length / cycles

    def begin(self, event: Ports) -> None:
        """Tell what is tried from here on."""
        self.attempt = f"{event.ports} ports: {event.reason}"
        self.tell(event)

    def may_ask(self, experiment: Experiment) -> bool:
        """Whether it was not asked yet, and can be."""
        is_short = experiment.length <= (self.settings.max_length or experiment.length)
        is_new = self.readings.cycles(experiment) is None and experiment not in self.judge.refused
        return is_short and is_new and self.answers.has(experiment)

    def ask(self, experiment: Experiment) -> None:
        """Measure it and keep the answer."""
        (measured,) = self.answers.measure([experiment])
        self.take(measured)

    def take(self, measured: Measured) -> bool:
        """Keep an answer; whether it is a usable one."""
        usable = self.readings.take(measured)
        if usable:
            self.readings.confirm_quickest()
        else:
            self.judge.refused.add(measured.experiment)
        return usable

    def shape(self, ports: int, *, is_full: bool = False) -> Shape:
        """Schemes with many ports first: they leave little symmetry to the rows below."""
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
            apart=tuple((self._of(first), self._of(second)) for first, second in self.apart),
            is_full=is_full,
        )

    def unexplained(
        self, mapping: PortMapping, among: Iterable[Experiment] | None = None
    ) -> tuple[Unexplained, ...]:
        """Measurements that the mapping does not explain, those first that exceed it most."""
        found = []
        chosen = None if among is None else frozenset(among)
        for observation in self.readings.observations(self.shape(len(mapping.ports))):
            if chosen is not None and observation.experiment not in chosen:
                continue
            predicted = inverse_throughput(mapping, observation.experiment)
            off = self.settings.epsilon * observation.experiment.length
            wasted = observation.cycles * self.readings.wasted(observation.experiment)
            if not -off < observation.cycles - predicted < wasted + off:
                found.append(Unexplained(observation.experiment, observation.cycles, predicted))
        return tuple(sorted(found, key=lambda each: (-each.excess, each.experiment)))

    def _of(self, domain: str) -> frozenset[str]:
        """Schemes of a domain: a scheme of several µops may be of several."""
        found = (scheme for scheme, its in self.problem.domains.items() if its == domain)
        return frozenset(scheme for scheme in found if self.problem.count(scheme) == 1)

    def enter(self, phase: str) -> None:
        """Tell that a stage begins."""
        self.tell(PhaseStarted(phase, list(PHASES).index(phase) + 1, tuple(PHASES.values())))
        self.pace.pulse()

    def seconds(self) -> float:
        """Over all attempts. What of them was searching, an attempt finds out anew by repeating it."""
        return self.pace.clock() - self.start

    def _save(self) -> None:
        """After every new answer: measuring costs more than writing it down."""
        self.pace.save(lambda: to_checkpoint(self.whose, self.answers.known, self.seconds()), now=True)
        self.pace.pulse()
