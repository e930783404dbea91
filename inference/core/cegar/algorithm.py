"""Algorithm 4.1 with the extensions of §4.3: ask, measure, exclude, until nothing is left to tell apart."""

from __future__ import annotations

import itertools
from dataclasses import replace

from inference.core.cegar.alternatives import Settled
from inference.core.cegar.deciding import Decider
from inference.core.cegar.events import Ports
from inference.core.cegar.port_choice import PortChoice
from inference.core.cegar.problem import (
    Apart,
    CegarProblem,
    CegarResult,
    Determinacy,
    Unexplained,
    assumptions,
)
from inference.core.cegar.search import CegarSearch
from inference.core.cegar.solving import SolverLimitError, version
from inference.core.events import Log
from inference.core.protocols import Checkpoint, Measurer, Reporter

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
    return _Algorithm(CegarSearch(problem, measurer, reporter, seed, resume)).run()


def contradictions(
    problem: CegarProblem, measurer: Measurer, reporter: Reporter, seed: int
) -> tuple[Unexplained, ...]:
    """What no mapping to as many ports as may be explains, of all schemes alone and in pairs.

    That takes seconds, where a search to its end may take minutes. Raises what `infer` raises.
    """
    search = CegarSearch(replace(problem, in_pairs=True), measurer, reporter, seed, None)
    search.measure_first()
    ports = PortChoice(search).enough(search.settings.most_ports)
    asked = search.questions(shape := search.shape(ports))
    try:
        found = asked.another()
    finally:
        asked.close()
    return () if found is None else search.unexplained(shape.mapping(found))


def _pairs(problem: CegarProblem) -> Apart:
    """Pairs of domains, those first that are apart on most cores."""
    found = sorted(set(problem.domains.values()), key=lambda domain: (domain != "memory", domain))
    return tuple(itertools.combinations(found, 2))


class _Algorithm:
    def __init__(self, search: CegarSearch) -> None:
        self._search = search
        self._decider = Decider(search)
        self._ports = PortChoice(search)

    def run(self) -> CegarResult:
        search = self._search
        search.enter("seeding")
        search.measure_first()
        search.enter("deciding")
        try:
            self._prefer(_pairs(search.problem) if search.settings.apart else ())
            settled = self._settle()
        except SolverLimitError as error:
            raise SolverLimitError(_NO_MAPPING.format(error)) from error
        verdict = Determinacy.AMBIGUOUS if settled.listed or settled.more else Determinacy.UNIQUE
        return CegarResult(
            mapping=settled.mapping,
            verdict=Determinacy.UNPROVEN if settled.limit else verdict,
            alternatives=settled.listed,
            more_alternatives=settled.more,
            experiments=search.answers.used,
            clashes=tuple(search.clashes),
            unexplained=search.unexplained(settled.mapping),
            assumptions=assumptions(search.problem, search.apart),
            counter_examples=search.counter_examples,
            solver=version(),
            limit=settled.limit,
            seconds=search.seconds(),
            searching_seconds=search.searching,
            apart=search.apart,
        )

    def _prefer(self, pairs: Apart) -> None:
        """Keep domains apart as far as that explains as much, and as no experiment speaks against it.

        The mappings found with and without it are told apart by measuring, until nothing tells them apart. Of
        recorded data, everything has been asked.
        """
        search = self._search
        if search.answers.offered is not None:
            search.apart = pairs
            return
        search.listing = False
        try:
            while pairs:
                search.apart = ()
                plain = self._settle().mapping
                search.apart = pairs
                apart = self._settle().mapping
                pairs = search.apart
                told = search.judge.between(plain, apart, None) if pairs else None
                if told is None:
                    break
                (measured,) = search.answers.measure([told.experiment])
                search.take(measured)
        except SolverLimitError as error:
            search.tell(
                Log("warning", f"nothing is assumed of which schemes have ports of their own: {error}")
            )
            search.apart = ()
        search.listing = True

    def _settle(self) -> Settled:
        """Go on with more ports, or fewer schemes, whenever no mapping explains the measurements.

        Where the number of ports is searched for, mappings with one port more are asked for too: what is
        measured because of them may be what fewer ports do not explain.
        """
        search = self._search
        ports = self._ports.first()
        given = search.settings.ports is not None
        while True:
            search.tell(Ports(ports, "given" if given else "the fewest for what is measured so far"))
            last = given or ports >= search.settings.most_ports
            settled = self._decider.decide(search.shape(ports), listing=last and search.listing)
            if settled is None:
                ports = self._ports.after_contradiction(ports)
            elif last or settled.limit:
                return settled
            else:
                known = len(search.readings)
                try:
                    search.tell(Ports(ports + 1, "would one port more explain something else?"))
                    more = self._decider.decide(search.shape(ports + 1), listing=False)
                    if more is not None and len(search.readings) == known:
                        if not more.limit:
                            search.tell(Ports(ports, "one port more adds nothing"))
                        listed = self._decider.decide(search.shape(ports), listing=search.listing) or settled
                        return replace(listed, limit=listed.limit or more.limit)
                    ports = self._ports.enough(ports)
                except SolverLimitError as error:
                    return replace(settled, limit=str(error))
