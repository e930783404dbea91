"""The adapted algorithm of ch. 6, stage by stage, and uops.info's where there are counters of the ports."""

from __future__ import annotations

from collections.abc import Sequence

from inference.core.bottleneck import measure_bottleneck, reached_width, recorded_bottleneck
from inference.core.errors import InsufficientDataError
from inference.core.explain.alone import find_candidates, measure_alone
from inference.core.explain.blockers import blockers_of, class_table
from inference.core.explain.blocking_question import BlockingAnswer, BlockingSolver
from inference.core.explain.checkpoint import told_before
from inference.core.explain.classes import classes_by_counters, classes_by_time
from inference.core.explain.composite import single_classes
from inference.core.explain.concluding import concluded, nothing_characterised
from inference.core.explain.context import ExplainContext
from inference.core.explain.events import BottleneckFound
from inference.core.explain.joint_rate import joint_rate, limited
from inference.core.explain.known import ByCounters, ByTime
from inference.core.explain.ports import PortSolver
from inference.core.explain.problem import ExplainProblem, ExplainResult, SchemeFate
from inference.core.explain.remaining import Conclusion, Remaining
from inference.core.explain.sampling import MeasurementSampler, Medians
from inference.core.explain.settings import PORT_COUNTERS, THROUGHPUT
from inference.core.explain.telling import ExplainTeller, Quiet
from inference.core.pacing import PacedReporter
from inference.core.protocols import Checkpoint, Measurer, Reporter


def infer(
    problem: ExplainProblem,
    measurer: Measurer,
    reporter: Reporter,
    seed: int,
    resume: Checkpoint | None,
    solver: BlockingSolver,
) -> ExplainResult:
    """The port mapping of the schemes, each µop with its witnesses, and why the others have none.

    The answer depends on the problem, the measurer's answers and the seed alone, also when the search was
    interrupted: it is deterministic, and asks the measurer everything again. Raises `InsufficientDataError`
    where no blocking instruction is found or no scheme could be characterised, `InvalidInputError` for a
    checkpoint of another search, and lets `InterruptedRunError` from the reporter through.
    """
    pace = PacedReporter(reporter)
    if problem.settings.seconds is not None:
        pace.limit(problem.settings.seconds)
    teller = ExplainTeller(pace, problem, seed, *told_before(problem, seed, resume))
    sampler = MeasurementSampler(measurer, pace, problem.settings.samples_at_most)
    return _Search(ExplainContext(problem, sampler, teller), seed, solver).run()


class _Search:
    def __init__(self, context: ExplainContext, seed: int, solver: BlockingSolver) -> None:
        self.context = context
        self.seed = seed
        self.solver = solver
        self.r_max = context.settings.r_max
        self.highest = 0.0

    def run(self) -> ExplainResult:
        context = self.context
        context.teller.enter("alone")
        measure_alone(context)
        context.teller.funnel("alone", len(context.left))
        context.teller.enter("candidates")
        find_candidates(context)
        context.teller.funnel("candidates", len(context.left))
        if not context.widths:
            raise InsufficientDataError(
                "none of the schemes can be a single µop: there is nothing to block with"
            )
        counting = context.settings.evidence == PORT_COUNTERS
        conclusion = self._by_counters() if counting else self._by_time()
        result = concluded(context, conclusion, self.r_max, context.teller.seconds())
        if not result.outcomes[SchemeFate.CHARACTERISED]:
            raise InsufficientDataError(nothing_characterised(result))
        return result

    def _by_counters(self) -> Conclusion:
        context = self.context
        context.teller.enter("classes")
        classes, ports = classes_by_counters(context)
        if not classes:
            raise InsufficientDataError("no counters of the ports: choose evidence=cycles")
        context.teller.classes(classes, ports)
        context.teller.funnel("classes", len(context.left))
        self._find_bottleneck([each.blocker for each in classes])
        context.teller.enter("blocking")
        context.teller.funnel("blocking", len(context.left))
        context.teller.enter("remaining")
        return Remaining(context, ByCounters(classes, ports), self.r_max).run()

    def _by_time(self) -> Conclusion:
        context = self.context
        context.teller.enter("classes")
        classes = classes_by_time(context)
        context.teller.classes(class_table(classes, (), None, context.widths), ())
        context.teller.funnel("classes", len(context.left))
        self._find_bottleneck([members[0] for members in classes])
        context.teller.enter("blocking")
        if context.counts_from == THROUGHPUT:
            classes = single_classes(context, classes, self.r_max)
        solver = PortSolver(context, self.solver, self.seed, self.r_max)
        classes, answer = solver.solve(classes)
        rate = joint_rate(context, answer.mapping, self.r_max, self.highest)
        if context.settings.r_max is None and rate is not None:
            context.teller.log(f"bottleneck: {rate:g} instructions per cycle, with all ports in use")
            context.teller.tell(BottleneckFound(rate))
            self.r_max, answer = rate, limited(answer, rate)
            solver = PortSolver(context, self.solver, self.seed, self.r_max)
        self._told(classes, answer)
        context.teller.funnel("blocking", len(context.left))
        context.teller.enter("remaining")
        return Remaining(context, ByTime(context, solver, classes, answer, self.r_max), self.r_max).run()

    def _told(self, classes: Sequence[list[str]], answer: BlockingAnswer) -> None:
        context = self.context
        table = class_table(classes, (), answer.mapping, context.widths)
        context.teller.classes(table, answer.mapping.ports)
        context.teller.log(f"{len(classes)} blocking instructions: {answer.verdict}")
        for each in answer.unexplained:
            context.teller.log(f"left unexplained: {each}", "warning")
        wide = [b.scheme for b in blockers_of(classes, (), answer.mapping, self.r_max) if b.wide]
        if wide:
            context.warn(
                f"{'; '.join(wide)}: as many ports as instructions pass the bottleneck per cycle. Whether "
                "other µops can use ports outside that set cannot be seen (§6.2.3), so nothing is claimed "
                "about it"
            )

    def _find_bottleneck(self, heads: Sequence[str]) -> None:
        context = self.context
        context.teller.enter("bottleneck")
        if self.r_max is None:
            settings = context.settings
            medians = Medians(context.sampler, settings.samples, settings.epsilon / 8)
            # What is of no part of the core, like NOPs, may pass in pairs: on a Zen 4, 12 per cycle beside 6.
            domains = context.problem.domains
            executed = [head for head in heads if head in domains]
            found = measure_bottleneck(
                executed or heads, medians, Quiet(context.teller.pace, "looking for the bottleneck rate")
            )
            self.highest = found.highest
            self.r_max = found.r_max or recorded_bottleneck(context.sampler.recorded())
            core = context.problem.core
            width = reached_width(found.highest, None if core is None else core.width)
            if found.r_max is not None:
                context.teller.log(
                    f"bottleneck: {found.r_max:g} instructions per cycle, in {found.experiment}"
                )
            elif self.r_max is not None:
                context.teller.log(
                    f"bottleneck: nothing recorded exceeds {self.r_max:g} instructions per cycle"
                )
            elif width is not None:
                self.r_max = width
                context.teller.log(f"bottleneck: the core's {width:g} slots per cycle, which mixes reach")
            else:
                context.teller.log(
                    f"no bottleneck beside the ports was seen: {found.highest:.2f} instructions per cycle"
                )
            if found.warning:
                context.warn(found.warning)
        context.teller.tell(BottleneckFound(self.r_max))
        context.teller.funnel("bottleneck", len(context.left))
