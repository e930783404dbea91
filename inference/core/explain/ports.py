"""Stage 5: the ports of the blocking instructions (§6.2.1, step 4; §6.3.4)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from inference.core.errors import CoreError, InsufficientDataError, InterruptedRunError
from inference.core.experiment import Experiment
from inference.core.explain.blockers import Improper
from inference.core.explain.blocking_question import (
    BlockingAnswer,
    BlockingQuestion,
    BlockingSolver,
    DropReason,
)
from inference.core.explain.context import ExplainContext
from inference.core.explain.flooding import is_wide
from inference.core.explain.problem import NotCharacterised
from inference.core.explain.reporting import QuietReporter
from inference.core.explain.sampling import Medians
from inference.core.explain.soundness import MAX_HEADS, FloodingMembers
from inference.core.explain.units import join_answers, units_of
from inference.core.identity import best_renaming, same_up_to_renaming
from inference.core.mapping import PortMapping
from inference.core.search_clocks import computing_seconds

_SHARE = 4  # the ports may take 1/4 of the time limit, in CPU seconds of this process
_MIN_SECONDS = 5.0  # CPU seconds at least for one question
_NOISES = 10  # standard deviations of a sample that ε must be, where the settings ask for less

_SLOTS = "they take longer beside kinds of all domains, as what is limited by slots does"
_UNSEEN = "as many per cycle as the bottleneck lets through, and of no domain"
_BETWEEN = "of no domain, they may have a µop in each of two parts of the core"

CONFIRMING = 3
"""New samples of an experiment because of which a scheme would be excluded."""


class PortSolver:
    """Finds the ports of classes, replacing representatives that contradict the others."""

    def __init__(
        self, context: ExplainContext, solver: BlockingSolver, seed: int, r_max: float | None
    ) -> None:
        self._context = context
        self._solver = solver
        self._seed = seed
        self._r_max = r_max
        self._medians = Medians(context.sampler, context.settings.samples, context.settings.epsilon / 5)
        self._ends = computing_seconds() + (context.settings.seconds or math.inf) / _SHARE
        self._members = FloodingMembers(context)
        self._looking_at = ""

    @property
    def _epsilon(self) -> float:
        """ε for the question, in cycles per instruction: as small as the noise allows, at least half of ε.

        The setting also covers what a core wastes, but here a larger ε would hide real ports.
        """
        epsilon = self._context.settings.epsilon
        return min(epsilon, max(epsilon / 2, _NOISES * self._context.sampler.noise))

    def solve(
        self,
        classes: Sequence[list[str]],
        improper: Sequence[Improper] = (),
        known_masks: Mapping[str, int] | None = None,
    ) -> tuple[list[list[str]], BlockingAnswer]:
        """The classes whose ports were found, each with its final representative first, and the answer.

        Where the answer drops a representative, another member of its class is tried, up to `MAX_HEADS` of
        them; a class without any is given up. Experiments that contradict others are measured again first,
        once each: a disturbed reading must not cost a class.

        `known_masks`: {representative: port set}, which holds for any other representative of the class.
        """
        solvable = self._members.of(classes)
        masks = {member: (known_masks or {}).get(members[0]) for members in classes for member in members}
        tried = {members[0]: 1 for members in solvable}
        confirmed: set[Experiment] = set()
        while True:
            heads = {members[0] for members in solvable}
            improper = [member for member in improper if member.scheme not in heads]
            answer = self._answer(solvable, improper, masks)
            contradicting = {e for why in answer.dropped.values() for e in why.contradicting} - confirmed
            confirmed |= contradicting
            if self._were_disturbed(sorted(contradicting, key=str)):
                continue
            lost = [members for members in solvable if members[0] in answer.dropped]
            improper = [member for member in improper if member.scheme not in answer.dropped]
            if not lost:
                return self._apply_hint(solvable, improper, answer)
            has_changed = False
            for members in lost:
                why = answer.dropped[members[0]]
                text = why.text
                if not why.unplaced:
                    self._context.exclude(members[0], "blocking", NotCharacterised.CLASH, text)
                number = tried.pop(members[0])
                remaining = self._members.of([members[1:]]) if number < MAX_HEADS else []
                where = solvable.index(members)
                if remaining:
                    (solvable[where],) = remaining
                    tried[solvable[where][0]] = number + 1
                    has_changed = True
                else:
                    del solvable[where]
                    self._give_up(members, why)
            if not has_changed:
                return self._apply_hint(solvable, improper, answer)

    def _answer(
        self,
        classes: Sequence[list[str]],
        improper: Sequence[Improper],
        known_masks: Mapping[str, int | None],
    ) -> BlockingAnswer:
        """The answer for all units of the core, each searched by itself unless the settings fix the ports."""
        problem, settings = self._context.problem, self._context.settings
        if improper:
            return self._solve_question(classes, improper, known_masks)
        is_undivided = settings.ports is not None or problem.hint is not None
        units = {"": list(classes)} if is_undivided else units_of(self._context, classes, self._r_max)
        answers: dict[str, BlockingAnswer] = {}
        placed = [members[0] for unit in units.values() for members in unit]
        unplaced = {
            members[0]: DropReason(self._why_unplaced(members), unplaced=True)
            for members in classes
            if members[0] not in placed
        }
        for number, (unit, members) in enumerate(units.items()):
            self._looking_at = unit
            try:
                answers[unit] = self._answer_for_unit(members, len(units) - number)
            except InsufficientDataError as error:
                if len(units) == 1:
                    raise
                unplaced |= {head: DropReason(str(error), unplaced=True) for head, *_ in members}
        if not answers:
            raise InsufficientDataError("; ".join(f"{head}: {why.text}" for head, why in unplaced.items()))
        answer = join_answers(answers, self._r_max, settings.alternatives)
        return replace(answer, dropped={**answer.dropped, **unplaced})

    def _why_unplaced(self, members: Sequence[str]) -> str:
        """Why a class belongs to no unit, as the end of a sentence about it."""
        if is_wide(self._context.widths[members[0]], self._r_max):
            return _UNSEEN
        return _SLOTS if any(scheme in self._context.problem.domains for scheme in members) else _BETWEEN

    def _answer_for_unit(self, classes: Sequence[list[str]], units: int) -> BlockingAnswer:
        """The answer for as many classes as the solver's limits allow; the smallest classes are dropped.

        `units`: how many units share the remaining time and the alternatives.
        """
        placed = list(classes)
        unplaced: dict[str, DropReason] = {}
        while True:
            # Half of the time for all classes, so that some is left for fewer where that does not suffice.
            seconds = self._seconds_left() / units / (1 if len(placed) == 1 else 2)
            try:
                answer = self._solve_question(placed, (), units=units, limit=max(_MIN_SECONDS, seconds))
            except (InsufficientDataError, InterruptedRunError):
                raise
            except CoreError as error:
                if len(placed) == 1:
                    return replace(self._alone(placed[0][0], str(error)), dropped=unplaced)
                lost = min(placed, key=lambda members: (len(members), self._context.widths[members[0]]))
                placed.remove(lost)
                unplaced[lost[0]] = DropReason(str(error), unplaced=True)
            else:
                return replace(answer, dropped={**answer.dropped, **unplaced})

    def _alone(self, scheme: str, why: str) -> BlockingAnswer:
        """The answer for a single class, which has ports of its own without a search."""
        width = self._context.widths[scheme]
        ports = tuple(map(str, range(self._context.settings.ports or width)))
        mapping = PortMapping(ports, {scheme: (((1 << width) - 1, 1),)}, self._r_max)
        return BlockingAnswer(mapping, verdict=f"one of several kinds, the others have no ports: {why}")

    def _seconds_left(self) -> float:
        return self._ends - computing_seconds()

    def _solve_question(
        self,
        classes: Sequence[list[str]],
        improper: Sequence[Improper],
        known_masks: Mapping[str, int | None] | None = None,
        *,
        units: int = 1,
        limit: float | None = None,
    ) -> BlockingAnswer:
        """Ask the solver for the ports of these classes, within `limit` CPU seconds or what is left."""
        settings, context = self._context.settings, self._context
        heads = [members[0] for members in classes]
        domains = context.problem.domains
        question = BlockingQuestion(
            schemes=(*heads, *(blocker.scheme for blocker in improper)),
            widths={head: context.widths[head] for head in heads},
            improper=tuple(blocker.scheme for blocker in improper),
            ports=settings.ports,
            most_ports=max(
                [settings.most_ports, *map(int.bit_length, filter(None, (known_masks or {}).values()))]
            ),
            r_max=self._r_max,
            epsilon=self._epsilon,
            alternatives=settings.alternatives // units,
            trust={members[0]: len(members) for members in classes},
            domains={head: domains[head] for head in heads if head in domains},
            known={head: mask for head in heads if (mask := (known_masks or {}).get(head)) is not None},
            core=context.problem.core,
        )
        doing = f"looking for the ports of {len(heads)} {self._looking_at} blocking instructions"
        seconds = max(_MIN_SECONDS, self._seconds_left()) if limit is None else limit
        quiet = QuietReporter(context.reporter.pace, doing.replace("  ", " "), seconds)
        return self._solver(question, self._medians, quiet, self._seed)

    def _were_disturbed(self, experiments: Sequence[Experiment]) -> bool:
        """Measure contradicting experiments again; whether the time of any of them changed."""
        sampler, settings = self._context.sampler, self._context.settings
        if not experiments or not sampler.repeats:
            return False
        before = [sampler.reading(experiment).cycles for experiment in experiments]
        sampler.forget(experiments)
        sampler.sample(dict.fromkeys(experiments, max(CONFIRMING, settings.samples)))
        now = [sampler.reading(experiment).cycles for experiment in experiments]
        return any(
            (then is None) != (cycles is None)
            or (
                then is not None
                and cycles is not None
                and abs(then - cycles) > settings.epsilon * experiment.length
            )
            for experiment, then, cycles in zip(experiments, before, now, strict=True)
        )

    def _give_up(self, members: Sequence[str], reason: DropReason) -> None:
        """Give up a class: contradictions exclude its members, limits of the search do not."""
        head, *followers = members
        if reason.unplaced:
            width = self._context.widths[head]
            if not is_wide(width, self._r_max):
                self._context.unplaced[head] = width
            self._context.warn(
                f"the {width} ports of {head} and {len(followers)} schemes like it were not found: "
                f"nothing is blocked with them: {reason.text}"
            )
            return
        for scheme in followers:
            if scheme not in self._context.excluded:
                why = f"its ports are those of {head}, which were not found: {reason.text}"
                self._context.exclude(scheme, "blocking", NotCharacterised.CLASH, why)

    def _apply_hint(
        self, classes: list[list[str]], improper: Sequence[Improper], answer: BlockingAnswer
    ) -> tuple[list[list[str]], BlockingAnswer]:
        """The classes, and the answer with the documented ports, if there is a hint.

        Without counters, a scheme of two µops can look like one of one µop: a store that takes an address
        port and an ALU port ties these together. Where no mapping has the documented ports, such classes are
        removed: starting with the documented schemes, a class is kept if some mapping then has the documented
        ports. The members of the others are tested beside floods like any scheme.
        """
        hint, context = self._context.problem.hint, self._context
        if hint is None:
            return classes, answer
        fitting = by_hint(context, answer, hint)
        if fitting is not None:
            return classes, fitting
        sure = [members for members in classes if members[0] in hint.usage]
        if sure and (hinted_answer := self._answer_fitting_hint(sure, improper, hint)) is not None:
            for members in sorted(classes, key=lambda kind: (-context.widths[kind[0]], -len(kind))):
                if members in sure:
                    continue
                larger = self._answer_fitting_hint([*sure, members], improper, hint)
                if larger is None:
                    context.reporter.log(
                        f"excluded, as no mapping with it has the documented ports: {members[0]}"
                    )
                else:
                    sure, hinted_answer = [*sure, members], larger
            return sure, hinted_answer
        names = "; ".join(sorted(hint.usage.keys() & answer.mapping.usage.keys()))
        context.warn(f"no mapping that explains the measurements has the documented ports of {names}")
        return classes, answer

    def _answer_fitting_hint(
        self, classes: Sequence[list[str]], improper: Sequence[Improper], hint: PortMapping
    ) -> BlockingAnswer | None:
        """The answer for these classes with the documented ports; None where no mapping has them."""
        answer = self._solve_question(classes, improper)
        return None if answer.dropped else by_hint(self._context, answer, hint)


def by_hint(context: ExplainContext, answer: BlockingAnswer, hint: PortMapping) -> BlockingAnswer | None:
    """The answer's mappings that agree with the documented ports, with the documented names of ports.

    Only the documented schemes of the answer count, up to a renaming of ports. None where no mapping agrees.
    """
    hinted = sorted(hint.usage.keys() & answer.mapping.usage.keys())
    if not hinted:
        context.warn("the hint says nothing of the blocking instructions: it decides nothing")
        return answer
    documented = _part(hint, hinted)
    fitting = [m for m in (answer.mapping, *answer.alternatives) if _agree(documented, _part(m, hinted))]
    if not fitting:
        return None
    renamed = [best_renaming(documented, _part(candidate, hinted)).apply(candidate) for candidate in fitting]
    return replace(answer, mapping=renamed[0], alternatives=tuple(renamed[1:]))


def _agree(first: PortMapping, second: PortMapping) -> bool:
    size = max(len(first.ports), len(second.ports))
    names = tuple(str(k) for k in range(size))
    return same_up_to_renaming(PortMapping(names, first.usage), PortMapping(names, second.usage))


def _part(mapping: PortMapping, schemes: Sequence[str]) -> PortMapping:
    return PortMapping(mapping.ports, {scheme: mapping.usage[scheme] for scheme in schemes})
