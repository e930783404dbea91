"""The blocking instructions of the last stage, found by time or by counters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from inference.core.errors import CoreError, InterruptedRunError
from inference.core.explain.blockers import Improper, blockers_of, class_table
from inference.core.explain.blocking_question import BlockingAnswer
from inference.core.explain.classes import busy_ports
from inference.core.explain.context import ExplainContext
from inference.core.explain.flooding import Blocker, sorted_blockers
from inference.core.explain.improper import improper_schemes
from inference.core.explain.ports import PortSolver, by_hint
from inference.core.explain.problem import BlockingClass, NotCharacterised
from inference.core.explain.run_verdict import RunVerdict, alone_cycles
from inference.core.explain.surplus import usage_from
from inference.core.explain.uop_counts import PORT
from inference.core.mapping import PortMapping, Uops


class BlockingInstructions(Protocol):
    """The blocking instructions, their ports, and further ones from a first run of the last stage."""

    blockers: list[Blocker]
    ports: tuple[str, ...]
    answer: BlockingAnswer | None
    improper: list[Improper]

    def extend(self, context: ExplainContext, verdicts: Mapping[str, RunVerdict]) -> bool:
        """Add improper ones for µops that a first run could not explain; False where there are none."""
        ...

    def choose(self, context: ExplainContext, verdicts: Mapping[str, RunVerdict]) -> bool:
        """Choose among equally good mappings the one that fewest schemes contradict; whether it changed."""
        ...

    def table(self) -> list[BlockingClass]: ...


class BlockersByTime:
    """Blocking instructions from times, with ports from counter-example-guided inference."""

    def __init__(
        self,
        context: ExplainContext,
        solver: PortSolver,
        classes: list[list[str]],
        answer: BlockingAnswer,
        r_max: float | None,
    ) -> None:
        self._widths = context.widths
        self._solver = solver
        self._classes = classes
        self.improper: list[Improper] = []
        self._r_max = r_max
        self.answer: BlockingAnswer | None = None
        self._adopt(answer)

    def _adopt(self, answer: BlockingAnswer) -> None:
        """Use the ports of an answer, without the improper blocking instructions that it dropped."""
        self.answer = answer
        self.ports = answer.mapping.ports
        self.improper = [improper for improper in self.improper if improper.scheme in answer.mapping.usage]
        blockers = blockers_of(self._classes, self.improper, answer.mapping, self._r_max)
        self.blockers = sorted_blockers(blockers)

    def extend(self, context: ExplainContext, verdicts: Mapping[str, RunVerdict]) -> bool:
        """See `BlockingInstructions`; where the ports of all candidates are not found, half are tried."""
        masks = [candidate.mask for candidate in self.blockers]
        heads = {members[0] for members in self._classes}  # a store can be one: it blocks its port already
        candidates = [
            candidate
            for candidate in improper_schemes(context, verdicts, masks, len(self.ports), self._r_max)
            if candidate.scheme not in heads
        ]
        if not candidates:
            return False
        while candidates and not context.reporter.pace.finishing:
            names = "; ".join(candidate.scheme for candidate in candidates)
            context.reporter.log(f"µops that no scheme has alone; blocked with {names}")
            try:
                classes, answer = self._solver.solve(self._classes, candidates, self._certain_masks())
                fitting = self._consistent_answer(context, answer)
            except InterruptedRunError:
                raise
            except CoreError as error:
                context.warn(f"µops that only {names} have stay unknown: {error}")
                candidates = candidates[: len(candidates) // 2]  # each makes the question harder
            else:
                self._classes = classes
                self.improper = candidates
                self._adopt(fitting)
                return True
        return False

    def _certain_masks(self) -> dict[str, int]:
        """Port sets of the blocking instructions of one µop on which all mappings so far agree."""
        assert self.answer is not None, "there is one from the start"
        usages = [mapping.usage for mapping in (self.answer.mapping, *self.answer.alternatives)]
        heads = [members[0] for members in self._classes if members[0] in self.answer.mapping.usage]
        masks = {head: {usage[head] for usage in usages} for head in heads}
        return {head: uops[0][0] for head, (uops, *alternatives) in masks.items() if not alternatives}

    def _consistent_answer(self, context: ExplainContext, answer: BlockingAnswer) -> BlockingAnswer:
        """The answer's mappings that keep the ports found before for the blocking instructions of one µop.

        More data cannot make other ports right. They can contradict these ports, where a scheme has other
        µops than assumed; a search that leaves something unexplained then has all of them wrong.

        Raises:
            CoreError: No mapping keeps these ports.
        """
        assert self.answer is not None, "there is one from the start"
        heads = [members[0] for members in self._classes]
        for before in (self.answer.mapping, *self.answer.alternatives):
            sure = {head: before.usage[head] for head in heads if head in before.usage}
            fitting = by_hint(context, answer, PortMapping(before.ports, sure))
            if fitting is not None:
                return fitting
        raise CoreError("with them, others would have other ports")

    def choose(self, context: ExplainContext, verdicts: Mapping[str, RunVerdict]) -> bool:
        """See `BlockingInstructions`; alternatives that contradict more schemes than the best are dropped."""
        answer = self.answer
        assert answer is not None, "there is one from the start"
        fitting = [answer.mapping, *answer.alternatives]
        counts = [self._count_contradictions(context, verdicts, mapping) for mapping in fitting]
        lowest = min(counts)
        best, *alternatives = [m for m, count in zip(fitting, counts, strict=True) if count == lowest]
        if len(alternatives) < len(answer.alternatives):
            context.reporter.log(
                f"{len(fitting) - len(alternatives) - 1} mappings of the blocking instructions contradict "
                f"schemes with several µops"
            )
        self._adopt(replace(answer, mapping=best, alternatives=tuple(alternatives)))
        return best is not answer.mapping

    def _count_contradictions(
        self, context: ExplainContext, verdicts: Mapping[str, RunVerdict], mapping: PortMapping
    ) -> int:
        """Number of schemes that would be faster than their µops allow under this mapping.

        Schemes that were excluded for other reasons say nothing: their surpluses are not to be trusted.
        """
        blockers = blockers_of(self._classes, self.improper, mapping, self._r_max)
        masks = {blocker.scheme: blocker.mask for blocker in blockers}
        return sum(
            self._is_faster_than_allowed(context, scheme, verdict, masks)
            for scheme, verdict in verdicts.items()
            if verdict.reason in (NotCharacterised.NONE, NotCharacterised.FAST, NotCharacterised.NEGATIVE)
        )

    def _is_faster_than_allowed(
        self, context: ExplainContext, scheme: str, verdict: RunVerdict, masks: Mapping[str, int]
    ) -> bool:
        # A blocking instruction that was not tested has no surplus: a wider one showed no delay.
        usage = usage_from({blocker: verdict.surpluses.get(blocker, 0) for blocker in masks}, masks)
        if usage is None:  # a negative number of µops
            return True
        alone = context.alone[scheme].experiment
        needed = alone_cycles(usage, len(self.ports), self._r_max, alone)
        return context.cycles(scheme) < needed - context.settings.alone_epsilon

    def table(self) -> list[BlockingClass]:
        mapping = None if self.answer is None else self.answer.mapping
        return class_table(self._classes, self.improper, mapping, self._widths)


class BlockersByCounters:
    """Blocking instructions from counters of the ports (Alg. 6.1)."""

    def __init__(self, classes: list[BlockingClass], ports: tuple[str, ...]) -> None:
        self._classes = classes
        self.ports = ports
        self.answer: BlockingAnswer | None = None
        self.improper: list[Improper] = []
        self.blockers = sorted_blockers(
            [Blocker(blocking_class.blocker, blocking_class.mask) for blocking_class in classes]
        )

    def extend(self, context: ExplainContext, verdicts: Mapping[str, RunVerdict]) -> bool:
        """Add schemes of two µops, one of them counted on ports that no blocking instruction has."""
        names = [PORT + port for port in self.ports]
        masks = {blocker.mask for blocker in self.blockers}
        schemes_by_mask: dict[int, tuple[str, Uops]] = {}
        for scheme in sorted(verdicts, key=context.preference):
            verdict = verdicts[scheme]
            if (
                verdict.reason not in (NotCharacterised.MISSING, NotCharacterised.SLOW)
                or context.uops(scheme) != 2
            ):
                continue
            busy = busy_ports(context, scheme, names)
            beside = tuple(uop for uop in verdict.usage if uop[0] & busy == uop[0])
            mask = busy & ~sum(uop[0] for uop in beside)
            if len(beside) == 1 and beside[0][1] == 1 and mask and mask not in masks:
                schemes_by_mask.setdefault(mask, (scheme, beside))
        for mask, (scheme, beside) in schemes_by_mask.items():
            blocker = BlockingClass(scheme, mask.bit_count(), mask, (scheme,), improper=True, beside=beside)
            self._classes.append(blocker)
        improper_blockers = [
            Blocker(scheme, mask, improper=True) for mask, (scheme, _) in schemes_by_mask.items()
        ]
        self.blockers = sorted_blockers([*self.blockers, *improper_blockers])
        return bool(schemes_by_mask)

    def choose(self, context: ExplainContext, verdicts: Mapping[str, RunVerdict]) -> bool:
        """See `BlockingInstructions`: the counters leave no choice."""
        del context, verdicts
        return False

    def table(self) -> list[BlockingClass]:
        return sorted(self._classes, key=lambda row: (row.improper, -row.width, row.mask))
