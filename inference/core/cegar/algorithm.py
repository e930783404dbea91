"""Algorithm 4.1 with the extensions of §4.3: ask, measure, exclude, until nothing is left to tell apart."""

from __future__ import annotations

import itertools
from dataclasses import replace

from inference.core.cegar.alternatives import MOST_COPIES, Alternatives, Pool, Settled, matched
from inference.core.cegar.clashing import as_clash, culprit, is_explainable, minimal_clash, to_drop
from inference.core.cegar.encodings import Questions
from inference.core.cegar.events import (
    Candidates,
    CandidatesDecided,
    ClashFound,
    Ports,
    SearchStanding,
    Seeded,
    Undecided,
)
from inference.core.cegar.problem import (
    PHASES,
    Alternative,
    Apart,
    CegarProblem,
    CegarResult,
    Clash,
    ClashError,
    Determinacy,
    Unexplained,
    assumptions,
)
from inference.core.cegar.questions import questions
from inference.core.cegar.readings import AnsweredOnce, Readings
from inference.core.cegar.search_state import from_checkpoint, identity, to_checkpoint
from inference.core.cegar.settings import LEAVE_UNEXPLAINED, STOP
from inference.core.cegar.shape import Candidate, Observation, Shape
from inference.core.cegar.solving import SolverLimitError, version
from inference.core.cegar.telling_apart import ExperimentChooser
from inference.core.cegar.waiving import Waived, least_waiver, reduced
from inference.core.errors import InsufficientDataError
from inference.core.events import Log, PacedReporter, PhaseStarted
from inference.core.experiment import Experiment, Measured
from inference.core.identity import Distinction
from inference.core.mapping import PortMapping
from inference.core.protocols import Checkpoint, Event, Measurer, Reporter
from inference.core.throughput import inverse_throughput

_TOO_MANY = "{} other mappings could be told apart only by experiments that may not or cannot be measured"

_UNEXPLAINED = "left unexplained: {} takes {:.4g} cycles, which no mapping to {} ports explains with the rest"

_TRIFLE = 2  # by which what is left unexplained may weigh more where domains are kept apart

_TOGETHER = "{} and {} schemes share ports: that explains more"

_NO_MAPPING = (
    "no port mapping that explains the measurements was found yet: {}; "
    "allow it more (solver_limit) or ask for fewer schemes"
)


def infer(
    problem: CegarProblem,
    measurer: Measurer,
    reporter: Reporter,
    seed: int,
    resume: Checkpoint | None = None,
) -> CegarResult:
    """The port mapping that explains the measurements, and whether it is the only one.

    The answer depends on the problem, the measurer's answers, the seed and z3's version alone, also when the
    search was interrupted and taken up again. Raises `ClashError` where no mapping explains the measurements
    and none of the schemes may be dropped, `InsufficientDataError` where nothing usable was measured,
    `SolverLimitError` where the solver gave up before it found any mapping (later, the result says that it
    did), `InvalidInputError` for a checkpoint of another search, and lets `InterruptedRunError` from the
    reporter through.
    """
    return _Search(problem, measurer, reporter, seed, resume).run()


def _pairs(problem: CegarProblem) -> Apart:
    """Pairs of domains, those first that are apart on most cores."""
    found = sorted(set(problem.domains.values()), key=lambda domain: (domain != "memory", domain))
    return tuple(itertools.combinations(found, 2))


class _Search:
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
        self.readings = Readings(self.answers, self.settings.max_length)
        self.judge = ExperimentChooser(self.settings, self.answers, self.readings)
        self.schemes: list[str] = sorted(problem.schemes)
        self.clashes: list[Clash] = []
        self.waived: Waived = frozenset()
        self.weight = 0  # of what is waived
        self.apart: Apart = ()
        self.listing = True  # what measuring cannot tell apart
        self.counter_examples = 0
        self.start = self.pace.clock() - before
        self.searching = 0.0

    def run(self) -> CegarResult:
        self._enter("seeding")
        self._seed()
        self._enter("deciding")
        try:
            self._prefer(_pairs(self.problem) if self.settings.apart else ())
            settled = self._settle()
        except SolverLimitError as error:
            raise SolverLimitError(_NO_MAPPING.format(error)) from error
        verdict = Determinacy.AMBIGUOUS if settled.listed or settled.more else Determinacy.UNIQUE
        return CegarResult(
            mapping=settled.mapping,
            verdict=Determinacy.UNPROVEN if settled.limit else verdict,
            alternatives=settled.listed,
            more_alternatives=settled.more,
            experiments=self.answers.used,
            clashes=tuple(self.clashes),
            unexplained=self._unexplained(settled.mapping),
            assumptions=assumptions(self.problem, self.apart),
            counter_examples=self.counter_examples,
            solver=version(),
            limit=settled.limit,
            seconds=self._seconds(),
            searching_seconds=self.searching,
            apart=self.apart,
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
            self.pace.pulse,
        )

    def _seed(self) -> None:
        """Every scheme alone; of recorded data, everything there is but for copies of one scheme."""
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
        for measured in self.answers.measure(asked):
            self._take(measured)
            self.tell(Seeded(measured))
        seen = self.readings.schemes
        missing = [scheme for scheme in self.schemes if scheme not in seen]
        if not seen:
            raise InsufficientDataError(f"none of {len(asked)} experiments has a usable measurement")
        if missing:
            shown = "; ".join(missing[:5]) + (" …" if len(missing) > 5 else "")
            text = f"{len(missing)} scheme(s) without a usable measurement are left out: {shown}"
            self.tell(Log("warning", text))
            self.schemes = [scheme for scheme in self.schemes if scheme in seen]

    def _take(self, measured: Measured) -> bool:
        usable = self.readings.take(measured)
        if not usable:
            self.judge.refused.add(measured.experiment)
        return usable

    def _shape(self, ports: int) -> Shape:
        """Schemes with many ports first: they leave little symmetry to the rows below."""
        times = {scheme: self.readings.cycles(Experiment.of([scheme])) or 0.0 for scheme in self.schemes}
        order = sorted(self.schemes, key=lambda s: (self.problem.count(s), times[s], s))
        return Shape(
            schemes=tuple(order),
            counts=tuple(self.problem.count(scheme) for scheme in order),
            ports=ports,
            epsilon=self.settings.epsilon,
            r_max=self.settings.r_max,
            widths={s: n for s, n in self.problem.widths.items() if s in self.schemes},
            improper=tuple(s for s in self.problem.improper if s in self.schemes),
            apart=tuple((self._of(first), self._of(second)) for first, second in self.apart),
        )

    def _of(self, domain: str) -> frozenset[str]:
        """Schemes of a domain: a scheme of several µops may be of several."""
        found = (scheme for scheme, its in self.problem.domains.items() if its == domain)
        return frozenset(scheme for scheme in found if self.problem.count(scheme) == 1)

    def _prefer(self, pairs: Apart) -> None:
        """Keep domains apart as far as that explains as much, and as no experiment speaks against it.

        The mappings found with and without it are told apart by measuring, until nothing tells them apart. Of
        recorded data, everything has been asked.
        """
        if self.answers.offered is not None:
            self.apart = pairs
            return
        self.listing = False
        try:
            while pairs:
                self.apart = ()
                plain = self._settle().mapping
                self.apart = pairs
                apart = self._settle().mapping
                pairs = self.apart
                told = self.judge.between(plain, apart, None) if pairs else None
                if told is None:
                    break
                (measured,) = self.answers.measure([told.experiment])
                self._take(measured)
        except SolverLimitError as error:
            self.tell(Log("warning", f"nothing is assumed of which schemes have ports of their own: {error}"))
            self.apart = ()
        self.listing = True

    def _settle(self) -> Settled:
        """Go on with more ports, or fewer schemes, whenever no mapping explains the measurements.

        Where the number of ports is searched for, mappings with one port more are asked for too: what is
        measured because of them may be what fewer ports do not explain.
        """
        ports = self._first_ports()
        given = self.settings.ports is not None
        while True:
            self.tell(Ports(ports, "given" if given else "the fewest that explain everything so far"))
            last = given or ports >= self.settings.most_ports
            settled = self._decide(self._shape(ports), listing=last and self.listing)
            if settled is None:
                ports = self._after_contradiction(ports)
            elif last or settled.limit:
                return settled
            else:
                known = len(self.readings)
                try:
                    self.tell(Ports(ports + 1, "would one port more explain something else?"))
                    more = self._decide(self._shape(ports + 1), listing=False)
                    if more is not None and len(self.readings) == known:
                        if not more.limit:
                            self.tell(Ports(ports, "one port more adds nothing"))
                        listed = self._decide(self._shape(ports), listing=self.listing) or settled
                        return replace(listed, limit=listed.limit or more.limit)
                    ports = self._enough_ports(ports)
                except SolverLimitError as error:
                    return replace(settled, limit=str(error))

    def _first_ports(self) -> int:
        return self.settings.ports or self._enough_ports(max([1, *self.problem.widths.values()]))

    def _after_contradiction(self, ports: int) -> int:
        """How many ports to go on with when `ports` explain no more."""
        self._together(self.settings.ports or self.settings.most_ports)
        if self.settings.ports is None:
            return self._enough_ports(ports if self.settings.on_clash == LEAVE_UNEXPLAINED else ports + 1)
        if self.settings.on_clash == LEAVE_UNEXPLAINED:
            self._waive(ports)
        else:
            self._leave_out()
        return ports

    def _waive(self, ports: int, most: int | None = None) -> bool:
        """Waive as little as so many ports need; False where that weighs more than `most`.

        What contradicts one another however much is waived is measured again first: it may have been one bad
        reading.
        """
        shape = self._shape(ports)
        limit, pulse = self.settings.solver_limit, self.pace.pulse
        while True:
            waiver = least_waiver(shape, self.readings.observations(shape), self.seed, limit, pulse, most)
            if most is not None or not self.readings.repeat(sorted(waiver.clashing)):
                break
        if waiver.waived is None:
            return False
        for experiment in sorted({each for each, _ in waiver.waived - self.waived}):
            cycles = self.readings.cycles(experiment)
            self.tell(Log("warning", _UNEXPLAINED.format(experiment, cycles, ports)))
        self.waived, self.weight = waiver.waived, waiver.weight
        return True

    def _together(self, ports: int) -> None:
        """Let domains share ports, as few pairs of them as that takes, if it explains more."""
        if not self.apart or self._explainable(ports):
            return
        pairs, self.apart = self.apart, ()
        least = self._least_weight(ports) or 0
        for pair in pairs:
            self.apart = (*self.apart, pair)
            if self._least_weight(ports, least + _TRIFLE) is None:
                self.apart = self.apart[:-1]
                self.tell(Log("info", _TOGETHER.format(*pair)))

    def _least_weight(self, ports: int, most: int | None = None) -> int | None:
        """Of what so many ports leave unexplained; None where it is more than `most`."""
        shape, (limit, pulse) = self._shape(ports), (self.settings.solver_limit, self.pace.pulse)
        observations = self.readings.observations(shape)
        waiver = least_waiver(shape, observations, self.seed, limit, pulse, most)
        return None if waiver.waived is None else waiver.weight

    def _enough_ports(self, ports: int) -> int:
        """The smallest number of ports from there on that explains everything so far."""
        most = self.settings.most_ports
        self._together(most)
        if self.settings.on_clash == LEAVE_UNEXPLAINED:
            if not self._explainable(most):
                self._waive(most)
            least = self.weight
            while ports < most and not self._explainable(ports) and not (least and self._waive(ports, least)):
                ports += 1
            return min(ports, most)
        while not self._explainable(most):
            self._leave_out()
        while ports < most and not self._explainable(ports):
            ports += 1
        return min(ports, most)

    def _explainable(self, ports: int) -> bool:
        shape = self._shape(ports)
        found = self.to_explain(shape)
        return is_explainable(shape, found, self.seed, self.settings.solver_limit, self.pace.pulse)

    def _leave_out(self) -> None:
        """Drop schemes because of measurements that contradict; raises `ClashError` if that is not wanted."""
        shape = self._shape(self.settings.ports or self.settings.most_ports)
        seen = self.readings.observations(shape)
        found = minimal_clash(shape, seen, self.seed, self.settings.solver_limit, self.pace.pulse)
        clash = as_clash(found, seen, shape.ports)
        if self.settings.on_clash != STOP:
            dropped = to_drop(culprit(found, seen), self.schemes, self.settings.on_clash)
            clash = replace(clash, dropped=dropped)
            self.schemes = [scheme for scheme in self.schemes if scheme not in dropped]
        self.clashes.append(clash)
        self.tell(ClashFound(clash))
        if self.settings.on_clash == STOP or not self.schemes:
            raise ClashError(clash)

    def _decide(self, shape: Shape, *, listing: bool) -> Settled | None:
        """The loop of Algorithm 4.1; None where no mapping of this shape explains the measurements."""
        asked = self.questions(shape)
        pool: Pool | None = None
        try:
            pool = self._begin(asked)
            while pool is not None:
                new = not pool.waiting
                second, known, exhausted = self._next(asked, pool)
                if second is None and pool.lengthen():
                    continue
                if second is None:
                    return self._settled(shape, asked, pool, exhausted=exhausted, listing=listing)
                distinction = self.judge.experiment(shape, pool.first, second, known)
                if distinction is None:
                    pool.aside.append(second)
                    pool.fresh += new
                    if pool.fresh > asked.patience + self.settings.alternatives:
                        return self._gave_up(shape, pool, _TOO_MANY.format(pool.fresh))
                    continue
                if pool.postpone(second, distinction.experiment.length):
                    continue
                observation, decision = self._measure(shape, pool.first, second, distinction)
                if observation is None:
                    pool.aside.append(second)
                else:
                    asked.add(observation)
                    if not pool.keep(observation, second):
                        pool = self._begin(asked)
                self._tell_decision(decision, shape)
            return None
        except SolverLimitError as error:
            if pool is None:
                raise
            return self._gave_up(shape, pool, str(error))
        finally:
            asked.close()

    def _begin(self, asked: Questions) -> Pool | None:
        first = self._find(asked)
        return None if first is None else Pool(first)

    def _find(self, asked: Questions) -> Candidate | None:
        """A candidate that is not found again."""
        found = asked.another()
        if found is not None:
            asked.exclude(found)
        return found

    def _next(self, asked: Questions, pool: Pool) -> tuple[Candidate | None, Experiment | None, bool]:
        """Another mapping, an experiment that tells it apart if one is known, whether none is left at all.

        Just any other one is tried first, which is quicker while most of them differ.
        """
        if pool.waiting or (pool.fresh >= asked.patience and pool.lengthen()):
            return pool.waiting.pop(0), None, False
        began = self.pace.clock()
        try:
            if pool.fresh < asked.patience:
                second = self._find(asked)
                return second, None, second is None
            found = asked.other(pool.first)
            if found is None:
                return None, None, False
            asked.exclude(found[0])
            return found[0], found[1], False
        finally:
            self.searching += self.pace.clock() - began

    def _settled(
        self, shape: Shape, asked: Questions, pool: Pool, *, exhausted: bool, listing: bool
    ) -> Settled:
        """Nothing is left to decide; what else explains the measurements is gathered up to the limit."""
        if not listing:
            return Settled(shape.mapping(pool.first), (), more=True, limit="")
        self._enter("alternatives")
        found = self._gathered(shape, pool)
        tries, limit = 0, ""
        try:
            while not (exhausted or found.full or tries > MOST_COPIES * (self.settings.alternatives + 1)):
                other = self._find(asked)
                tries += 1
                exhausted = other is None
                if other is not None:
                    found.add(shape.mapping(other))
        except SolverLimitError as error:
            limit = str(error)
        return self._described(found, more=found.full or not exhausted, limit=limit)

    def _gave_up(self, shape: Shape, pool: Pool, limit: str) -> Settled:
        return self._described(self._gathered(shape, pool), more=True, limit=limit)

    def _gathered(self, shape: Shape, pool: Pool) -> Alternatives:
        found = Alternatives(shape.mapping(pool.first), self.settings.alternatives)
        for other in (*pool.aside, *pool.waiting):
            found.add(shape.mapping(other))
        return found

    def _described(self, found: Alternatives, *, more: bool, limit: str) -> Settled:
        """The alternatives with their ports named to match, and why each is one."""
        listed = []
        for other, differing in matched(found.mapping, found.listed, self.pace.pulse):
            listed.append(Alternative(other, differing, self.judge.hidden(found.mapping, other)))
            self.tell(Undecided(len(listed), listed[-1]))
        return Settled(found.mapping, tuple(listed), more, limit)

    def _measure(
        self, shape: Shape, first: Candidate, second: Candidate, distinction: Distinction
    ) -> tuple[Observation | None, CandidatesDecided]:
        self.counter_examples += 1
        self.tell(
            Candidates(
                number=self.counter_examples,
                first=shape.mapping(first),
                second=shape.mapping(second),
                experiment=distinction.experiment,
                first_cycles=distinction.first,
                second_cycles=distinction.second,
            )
        )
        (measured,) = self.answers.measure([distinction.experiment])
        observation = None
        survivor = "open"
        if self._take(measured) and measured.cycles is not None:
            observation = Observation.of(shape, measured.experiment, measured.cycles)
            holds = [name for name, one in (("first", first), ("second", second)) if observation.holds(one)]
            survivor = holds[0] if holds else "neither"
        return observation, CandidatesDecided(self.counter_examples, measured, survivor)

    def _tell_decision(self, decision: CandidatesDecided, shape: Shape) -> None:
        self.tell(decision)
        seconds = max(self._seconds(), 1e-9)
        share = round(min(1.0, self.searching / seconds), 4)
        self.tell(
            SearchStanding(
                len(self.answers.used), self.counter_examples, shape.ports, round(seconds, 3), share
            )
        )

    def _enter(self, phase: str) -> None:
        self.tell(PhaseStarted(phase, list(PHASES).index(phase) + 1, tuple(PHASES.values())))
        self.pace.pulse()

    def _unexplained(self, mapping: PortMapping) -> tuple[Unexplained, ...]:
        """Measurements that the mapping does not explain, those first that exceed it most."""
        found = []
        for observation in self.readings.observations(self._shape(len(mapping.ports))):
            predicted = inverse_throughput(mapping, observation.experiment)
            if abs(observation.cycles - predicted) >= self.settings.epsilon * observation.experiment.length:
                found.append(Unexplained(observation.experiment, observation.cycles, predicted))
        return tuple(sorted(found, key=lambda each: (-each.excess, each.experiment)))

    def _seconds(self) -> float:
        """Over all attempts. What of them was searching, an attempt finds out anew by repeating it."""
        return self.pace.clock() - self.start

    def _save(self) -> None:
        """After every new answer: measuring costs more than writing it down."""
        self.pace.save(lambda: to_checkpoint(self.whose, self.answers.known, self._seconds()), now=True)
        self.pace.pulse()
