"""The blocking instructions that the last stage works with, found by time or by counters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from inference.core.errors import CoreError, InterruptedRunError
from inference.core.explain.blockers import Improper, blockers_of, class_table
from inference.core.explain.blocking_question import BlockingAnswer
from inference.core.explain.classes import busy_ports
from inference.core.explain.context import ExplainContext
from inference.core.explain.counting import PORT
from inference.core.explain.flooding import Blocker, sorted_blockers
from inference.core.explain.improper import improper_schemes
from inference.core.explain.judging import RunVerdict, alone_cycles
from inference.core.explain.ports import PortSolver, by_hint
from inference.core.explain.problem import BlockingClass, NotCharacterised
from inference.core.explain.surplus import usage_from
from inference.core.mapping import PortMapping, Uops


class Known(Protocol):
    """The blocking instructions, however they were found."""

    blockers: list[Blocker]
    ports: tuple[str, ...]
    answer: BlockingAnswer | None
    improper: list[Improper]

    def extend(self, context: ExplainContext, verdicts: Mapping[str, RunVerdict]) -> bool:
        """Find more of them in what a first run could not explain; False where there are none."""
        ...

    def choose(self, context: ExplainContext, verdicts: Mapping[str, RunVerdict]) -> bool:
        """Of mappings of them that fit equally, take what all schemes fit best; whether that is another."""
        ...

    def table(self) -> list[BlockingClass]:
        """All of them with their classes."""
        ...


class ByTime:
    """Found by time alone, their ports by counter-examples."""

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
        self._take(answer)

    def _take(self, answer: BlockingAnswer) -> None:
        self.answer = answer
        self.ports = answer.mapping.ports
        self.improper = [each for each in self.improper if each.scheme in answer.mapping.usage]
        found = blockers_of(self._classes, self.improper, answer.mapping, self._r_max)
        self.blockers = sorted_blockers(found)

    def extend(self, context: ExplainContext, verdicts: Mapping[str, RunVerdict]) -> bool:
        known = [each.mask for each in self.blockers]
        heads = {members[0] for members in self._classes}  # a store can be one: it blocks its port already
        found = [
            each
            for each in improper_schemes(context, verdicts, known, len(self.ports), self._r_max)
            if each.scheme not in heads
        ]
        if not found:
            return False
        while found and not context.teller.pace.finishing:
            names = "; ".join(each.scheme for each in found)
            context.teller.log(f"µops that no scheme has alone; blocked with {names}")
            try:
                classes, answer = self._solver.solve(self._classes, found, self._sure())
                fitting = self._as_before(context, answer)
            except InterruptedRunError:
                raise
            except CoreError as error:
                context.warn(f"µops that only {names} have stay unknown: {error}")
                found = found[: len(found) // 2]  # each makes the question harder
            else:
                self._classes = classes
                self.improper = found
                self._take(fitting)
                return True
        return False

    def _sure(self) -> dict[str, int]:
        """Port sets of the blocking instructions of one µop that all mappings found so far agree about."""
        assert self.answer is not None, "there is one from the start"
        usages = [each.usage for each in (self.answer.mapping, *self.answer.alternatives)]
        heads = [members[0] for members in self._classes if members[0] in self.answer.mapping.usage]
        masks = {head: {usage[head] for usage in usages} for head in heads}
        return {head: uops[0][0] for head, (uops, *others) in masks.items() if not others}

    def _as_before(self, context: ExplainContext, answer: BlockingAnswer) -> BlockingAnswer:
        """Its mappings in which the blocking instructions of one µop have ports that were found before.

        More data cannot make others right. It can contradict these, where a scheme has other µops than it
        was taken to have; then a search that leaves something unexplained has all of them wrong.
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
        """See `Known`; the alternatives that contradict more schemes than the best one are none."""
        answer = self.answer
        assert answer is not None, "there is one from the start"
        fitting = [answer.mapping, *answer.alternatives]
        counts = [self._contradicted(context, verdicts, mapping) for mapping in fitting]
        least = min(counts)
        best, *others = [m for m, count in zip(fitting, counts, strict=True) if count == least]
        if len(others) < len(answer.alternatives):
            context.teller.log(
                f"{len(fitting) - len(others) - 1} mappings of the blocking instructions are contradicted by "
                f"schemes with several µops"
            )
        self._take(replace(answer, mapping=best, alternatives=tuple(others)))
        return best is not answer.mapping

    def _contradicted(
        self, context: ExplainContext, verdicts: Mapping[str, RunVerdict], mapping: PortMapping
    ) -> int:
        """How many schemes would be faster than their µops allow, if this were the mapping."""
        found = blockers_of(self._classes, self.improper, mapping, self._r_max)
        masks = {each.scheme: each.mask for each in found}
        return sum(
            self._is_impossible(context, scheme, verdict, masks)
            for scheme, verdict in verdicts.items()
            if verdict.reason in (NotCharacterised.NONE, NotCharacterised.FAST, NotCharacterised.NEGATIVE)
        )

    def _is_impossible(
        self, context: ExplainContext, scheme: str, verdict: RunVerdict, masks: Mapping[str, int]
    ) -> bool:
        usage = usage_from({blocker: verdict.surpluses.get(blocker, 0) for blocker in masks}, masks)
        if usage is None:
            return True
        alone = context.alone[scheme].experiment
        needed = alone_cycles(usage, len(self.ports), self._r_max, alone)
        return context.cycles(scheme) < needed - context.settings.alone_epsilon

    def table(self) -> list[BlockingClass]:
        mapping = None if self.answer is None else self.answer.mapping
        return class_table(self._classes, self.improper, mapping, self._widths)


class ByCounters:
    """Found by counters of the ports (Alg. 6.1)."""

    def __init__(self, classes: list[BlockingClass], ports: tuple[str, ...]) -> None:
        self._classes = classes
        self.ports = ports
        self.answer: BlockingAnswer | None = None
        self.improper: list[Improper] = []
        self.blockers = sorted_blockers([Blocker(each.blocker, each.mask) for each in classes])

    def extend(self, context: ExplainContext, verdicts: Mapping[str, RunVerdict]) -> bool:
        """The ports on which the one µop is counted that no blocking instruction accounts for."""
        names = [PORT + port for port in self.ports]
        known = {each.mask for each in self.blockers}
        found: dict[int, tuple[str, Uops]] = {}
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
            if len(beside) == 1 and beside[0][1] == 1 and mask and mask not in known:
                found.setdefault(mask, (scheme, beside))
        for mask, (scheme, beside) in found.items():
            each = BlockingClass(scheme, mask.bit_count(), mask, (scheme,), improper=True, beside=beside)
            self._classes.append(each)
        more = [Blocker(scheme, mask, improper=True) for mask, (scheme, _) in found.items()]
        self.blockers = sorted_blockers([*self.blockers, *more])
        return bool(found)

    def choose(self, context: ExplainContext, verdicts: Mapping[str, RunVerdict]) -> bool:
        """See `Known`: the counters leave no choice."""
        del context, verdicts
        return False

    def table(self) -> list[BlockingClass]:
        return sorted(self._classes, key=lambda each: (each.improper, -each.width, each.mask))
