"""The adapted algorithm of ch. 6, stage by stage, and uops.info's where there are counters of the ports."""

from __future__ import annotations

from collections.abc import Sequence

from inference.core.bottleneck import measure_bottleneck, recorded_bottleneck, width_if_reached
from inference.core.errors import InsufficientDataError
from inference.core.explain.alone import find_candidates, measure_alone
from inference.core.explain.blockers import blockers_of, class_table
from inference.core.explain.blocking_instructions import BlockersByCounters, BlockersByTime
from inference.core.explain.blocking_question import BlockingAnswer, BlockingSolver
from inference.core.explain.characterising import build_result, no_result_text
from inference.core.explain.checkpoint import previous_progress
from inference.core.explain.classes import classes_by_counters, classes_by_time
from inference.core.explain.composite import single_classes
from inference.core.explain.context import ExplainContext
from inference.core.explain.events import BottleneckEvent
from inference.core.explain.joint_rate import joint_rate, with_r_max
from inference.core.explain.ports import PortSolver
from inference.core.explain.problem import ExplainProblem, ExplainResult, SchemeFate
from inference.core.explain.remaining import Conclusion, Remaining
from inference.core.explain.reporting import ExplainReporter, QuietReporter
from inference.core.explain.sampling import MeasurementSampler, Medians
from inference.core.explain.settings import PORT_COUNTERS, THROUGHPUT
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
    """Infer µops with witnesses for as many schemes as possible, and reasons for the others.

    The result depends only on the problem, the measurer's answers and the seed, also after an interruption:
    the search is deterministic, and a resumed one asks the measurer for everything again.

    Args:
        problem: Schemes, settings, and what is known of the schemes beforehand.
        measurer: Measures experiments, or offers recorded ones.
        reporter: Receives events and checkpoints, and may interrupt the search.
        seed: Seed of the solver.
        resume: A checkpoint of the same search; None to start one.
        solver: Finds the ports of the blocking instructions.

    Raises:
        InsufficientDataError: There is no blocking instruction, or no scheme could be characterised.
        InvalidInputError: The checkpoint belongs to another search.
        InterruptedRunError: From the reporter.
    """
    pace = PacedReporter(reporter)
    if problem.settings.seconds is not None:
        pace.limit(problem.settings.seconds)
    progress = ExplainReporter(pace, problem, seed, *previous_progress(problem, seed, resume))
    sampler = MeasurementSampler(measurer, pace, problem.settings.samples_at_most)
    return _Search(ExplainContext(problem, sampler, progress), seed, solver).run()


class _Search:
    """The stages in order; `highest`: most instructions per cycle that any mix for the bottleneck reached."""

    def __init__(self, context: ExplainContext, seed: int, solver: BlockingSolver) -> None:
        self.context = context
        self.seed = seed
        self.solver = solver
        self.r_max = context.settings.r_max
        self.highest = 0.0

    def run(self) -> ExplainResult:
        context = self.context
        context.reporter.enter_stage("alone")
        measure_alone(context)
        context.reporter.funnel("alone", len(context.left))
        context.reporter.enter_stage("candidates")
        find_candidates(context)
        context.reporter.funnel("candidates", len(context.left))
        if not context.widths:
            raise InsufficientDataError(
                "none of the schemes can be a single µop: there is nothing to block with"
            )
        counting = context.settings.evidence == PORT_COUNTERS
        conclusion = self._by_counters() if counting else self._by_time()
        result = build_result(context, conclusion, self.r_max, context.reporter.seconds())
        if not result.outcomes[SchemeFate.CHARACTERISED]:
            raise InsufficientDataError(no_result_text(result))
        return result

    def _by_counters(self) -> Conclusion:
        """The stages from 3 on with counters of the ports, as uops.info runs them (§6.1)."""
        context = self.context
        context.reporter.enter_stage("classes")
        classes, ports = classes_by_counters(context)
        if not classes:
            raise InsufficientDataError("no counters of the ports: choose evidence=cycles")
        context.reporter.classes(classes, ports)
        context.reporter.funnel("classes", len(context.left))
        self._find_bottleneck([blocking_class.blocker for blocking_class in classes])
        context.reporter.enter_stage("blocking")
        context.reporter.funnel("blocking", len(context.left))
        context.reporter.enter_stage("remaining")
        return Remaining(context, BlockersByCounters(classes, ports), self.r_max).run()

    def _by_time(self) -> Conclusion:
        """The stages from 3 on with times alone (§6.2).

        Once the ports of all classes are known, a mix that uses all of them can show a lower R_max than the
        mixes that looked for it before. The mapping stays; later questions are solved with the new R_max.
        """
        context = self.context
        context.reporter.enter_stage("classes")
        classes = classes_by_time(context)
        context.reporter.classes(class_table(classes, (), None, context.widths), ())
        context.reporter.funnel("classes", len(context.left))
        self._find_bottleneck([members[0] for members in classes])
        context.reporter.enter_stage("blocking")
        if context.counts_from == THROUGHPUT:
            classes = single_classes(context, classes, self.r_max)
        solver = PortSolver(context, self.solver, self.seed, self.r_max)
        classes, answer = solver.solve(classes)
        rate = joint_rate(context, answer.mapping, self.r_max, self.highest)
        if context.settings.r_max is None and rate is not None:
            context.reporter.log(f"bottleneck: {rate:g} instructions per cycle, with all ports in use")
            context.reporter.emit(BottleneckEvent(rate))
            self.r_max, answer = rate, with_r_max(answer, rate)
            solver = PortSolver(context, self.solver, self.seed, self.r_max)
        self._report_blocking(classes, answer)
        context.reporter.funnel("blocking", len(context.left))
        context.reporter.enter_stage("remaining")
        blocking = BlockersByTime(context, solver, classes, answer, self.r_max)
        return Remaining(context, blocking, self.r_max).run()

    def _report_blocking(self, classes: Sequence[list[str]], answer: BlockingAnswer) -> None:
        context = self.context
        table = class_table(classes, (), answer.mapping, context.widths)
        context.reporter.classes(table, answer.mapping.ports)
        context.reporter.log(f"{len(classes)} blocking instructions: {answer.verdict}")
        for experiment in answer.unexplained:
            context.reporter.log(f"left unexplained: {experiment}", "warning")
        wide = [b.scheme for b in blockers_of(classes, (), answer.mapping, self.r_max) if b.wide]
        if wide:
            context.warn(
                f"{'; '.join(wide)}: as many ports as instructions pass the bottleneck per cycle. Whether "
                "other µops can use ports outside that set cannot be seen (§6.2.3), so nothing is claimed "
                "about it"
            )

    def _find_bottleneck(self, heads: Sequence[str]) -> None:
        """Set R_max, unless the settings have it; `heads`: a scheme of each class."""
        context = self.context
        context.reporter.enter_stage("bottleneck")
        if self.r_max is None:
            self._measure_bottleneck(heads)
        context.reporter.emit(BottleneckEvent(self.r_max))
        context.reporter.funnel("bottleneck", len(context.left))

    def _measure_bottleneck(self, heads: Sequence[str]) -> None:
        """Find R_max: as the rate that no mix exceeds, measured or recorded, or as the core's width."""
        context, settings = self.context, self.context.settings
        # ε / 8: R_max is a rate of many instructions, and all later experiments are compared with it.
        medians = Medians(context.sampler, settings.samples, settings.epsilon / 8)
        # Schemes without a domain, like NOPs, may issue in pairs: on a Zen 4, 12 per cycle instead of 6.
        executed = [head for head in heads if head in context.problem.domains]
        quiet = QuietReporter(context.reporter.pace, "looking for the bottleneck rate")
        bottleneck = measure_bottleneck(executed or heads, medians, quiet)
        self.highest = bottleneck.highest
        self.r_max = bottleneck.r_max or recorded_bottleneck(context.sampler.recorded())
        core = context.problem.core
        width = width_if_reached(bottleneck.highest, None if core is None else core.width)
        if bottleneck.r_max is not None:
            text = f"bottleneck: {bottleneck.r_max:g} instructions per cycle, in {bottleneck.experiment}"
        elif self.r_max is not None:
            text = f"bottleneck: nothing recorded exceeds {self.r_max:g} instructions per cycle"
        elif width is not None:
            self.r_max = width
            text = f"bottleneck: the core's {width:g} slots per cycle, which mixes reach"
        else:
            text = f"no bottleneck beside the ports was seen: {bottleneck.highest:.2f} instructions per cycle"
        context.reporter.log(text)
        if bottleneck.warning:
            context.warn(bottleneck.warning)
