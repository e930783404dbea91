"""The adaptive plan, which measures schemes with representatives of classes instead of in all pairs.

The paper's plan (§5.1.1) measures every pair of schemes, although most schemes behave alike. Here classes are
found on the way, in rounds, each a list of experiments that may be measured in any order:

1. Every scheme is measured with a scheme of each time alone that there is. Those that differ from all
   representatives found classes; the others join the one that they agree with.
2. All pairs of representatives are measured: this is what the search learns from. Beside that, each member is
   measured with its own representative and some others; and of each class some member with each
   representative that came later, taking turns.
3. Where a member differs from its representative, the difference is measured a second time. If it stays, the
   member leaves, is measured with all representatives, and joins or founds another class; and all members of
   its old class are measured with the representative that showed the difference.

Rounds follow until no scheme is without a class. Experiments: about n · (times alone) +
classes² · (1 + checks) / 2, each with a 1:n experiment for two pairs in three.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from inference.core.experiment import Experiment
from inference.core.pmevo.congruence import Classes, Likeness
from inference.core.pmevo.ledger import Ledger, LedgerExperiment
from inference.core.tables import Int64s

CHECKS = 1
"""Members of a class that are measured with each representative that came later. Eight, at twice the
experiments, found no more of 150 classes of 2,000 simulated schemes with 1 % noise."""

MIN_PARTNERS = 10
"""Representatives with which each scheme is measured at least, if there are so many. Its own is always one of
them: two schemes that take as long together as apart have no port in common."""

FEW = 2
"""Contradictions that may be noise, so that they get a second opinion."""

DOUBTED = 0.03
"""The same as a share of the comparisons, where that is more."""

MIN_COMPARISONS = 2
"""Comparisons that are needed to call schemes congruent."""

Plan = Generator[list[Experiment], Sequence[float], "CongruenceClasses"]
"""Yields what to measure next, is sent the cycles (NaN for none), returns the classes."""


@dataclass(frozen=True)
class CongruenceClasses:
    """The classes, each with its representative first, and how each other member compares with it."""

    classes: Classes
    likeness: Mapping[str, Likeness]
    second_opinions: int


def adaptive(
    alone: Mapping[str, float],
    epsilon: float,
    evidence: float = 0.5,
    checks: int = CHECKS,
    max_questions: int | None = None,
    domains: Mapping[str, str] = MappingProxyType({}),
) -> Plan:
    """The plan for schemes with these times alone, in cycles; the same results make the same plan.

    A scheme is congruent to a representative if exchanging them changes no experiment with a representative
    by epsilon or more, and at least the share `evidence` of its experiments could be compared. Schemes of
    different `domains`, or with and without one, never are.

    Args:
        alone: {scheme: cycles alone}.
        epsilon: Relative difference within which times count as equal.
        evidence: Share of a scheme's experiments that must be comparable.
        checks: Members of a class to measure with each later representative.
        max_questions: Experiments after which the plan ends; None for no limit. Pairs of representatives
            come first in each round; schemes without a class then become classes of their own.
        domains: {scheme: the part of the core that it is for}.
    """
    if not alone:
        return CongruenceClasses((), {}, 0)
    return (yield from _Partition(Ledger(alone, epsilon), evidence, checks, max_questions, domains).rounds())


@dataclass(frozen=True)
class _Verdict:
    """The class of a scheme, None for none so far; `open`: second opinions may change that."""

    home: int | None
    open: bool


class _Partition:
    """The classes so far. A class is named by the slot of the ledger that its representative has."""

    def __init__(
        self,
        ledger: Ledger,
        evidence: float,
        checks: int,
        max_questions: int | None,
        domains: Mapping[str, str],
    ) -> None:
        self._left = max_questions
        self._domains = [domains.get(scheme) for scheme in ledger.schemes]
        self._ledger = ledger
        self._evidence = evidence
        self._checks = checks
        self._class: Int64s = np.full(len(ledger.schemes), -1, dtype=np.int64)
        """The slot of a scheme's representative, -1 while it has none."""
        self._slots: list[int] = []
        """The classes: slots of the ledger whose scheme still stands for one."""
        self._suspected: set[tuple[int, int]] = set()
        """(class, slot): all members of the class are to be measured with the representative in the slot."""
        self._doubts: list[tuple[int, int]] = []  # cells that get a second opinion in the next round
        self._second_opinions = 0
        self._horizon = 0
        """Number of representatives when the last experiments were requested."""

    def rounds(self) -> Plan:
        """The plan, as a generator: see `Plan`. The first representatives are one of each time alone."""
        for row in self._ledger.medians():
            self._add_class(row)
        while questions := self._affordable(self._questions()):
            self._horizon = self._ledger.n_slots
            answers = yield [question.experiment for question in questions]
            self._ledger.answer(questions, answers)
            self._merge()
            self._expel()
            self._place()
        for row in np.flatnonzero(self._class < 0).tolist():
            self._add_class(row)  # only where experiments ran out
        return self._result()

    def _affordable(self, questions: list[LedgerExperiment]) -> list[LedgerExperiment]:
        """As many of the questions as the limit on experiments still allows, the first ones."""
        if self._left is None:
            return questions
        round_questions = questions[: self._left]
        self._left -= len(round_questions)
        return round_questions

    def _add_class(self, row: int) -> None:
        self._class[row] = self._ledger.n_slots
        self._slots.append(self._ledger.n_slots)
        self._ledger.add_representative(row)

    def _questions(self) -> list[LedgerExperiment]:
        """The experiments of the next round, those that matter most first."""
        pairs: list[tuple[int, int]] = []
        requested = self._ledger.requested
        representatives = self._representatives().tolist()
        for row in [*representatives, *np.flatnonzero(self._class < 0).tolist()]:
            pairs += [(row, slot) for slot in self._slots if not requested[row, slot]]
        for class_slot in self._slots:
            pairs += self._member_pairs(class_slot)
        questions: list[LedgerExperiment] = []
        for row, slot in pairs:
            if not requested[row, slot]:  # not yet from the side of the other representative
                questions += self._ledger.pair(row, slot)
        for cell in self._doubts:
            if self._left is not None and len(questions) >= self._left:
                break
            second = self._ledger.second_opinion(*cell)
            if second is not None:
                questions.append(second)
                self._second_opinions += 1
        self._doubts = []
        return questions

    def _member_pairs(self, class_slot: int) -> list[tuple[int, int]]:
        """Pairs (member of the class, slot of a representative) to measure next."""
        members = np.flatnonzero(self._class == class_slot)
        members = members[members != self._ledger.representatives[class_slot]]
        if not len(members):
            return []
        requested = self._ledger.requested[members]
        targets = np.zeros(requested.shape[1], dtype=np.int64)  # members to measure with each representative
        targets[self._slots] = min(self._checks, len(members))
        targets[[slot for k, slot in self._suspected if k == class_slot]] = len(members)
        targets[class_slot] = len(members)
        load = requested.sum(axis=1)  # pairs of each member; those with the fewest take their turn first
        pairs = []
        missing = targets - requested.sum(axis=0)
        for slot in np.flatnonzero(missing > 0).tolist():
            free = np.flatnonzero(~requested[:, slot])
            turn = free[np.argsort(load[free], kind="stable")][: missing[slot]]
            load[turn] += 1
            pairs += [(int(members[k]), slot) for k in turn]
        for k in np.flatnonzero(load < MIN_PARTNERS).tolist():
            unchecked = [slot for slot in self._slots if not requested[k, slot] and missing[slot] <= 0]
            start = int(members[k]) % max(1, len(unchecked))
            turns = (unchecked[start:] + unchecked[:start])[: MIN_PARTNERS - int(load[k])]
            pairs += [(int(members[k]), slot) for slot in turns]
        return pairs

    def _representatives(self) -> Int64s:
        return np.array(self._ledger.representatives)[self._slots]

    def _merge(self) -> None:
        """Dissolve the later of two classes whose representatives agree."""
        for slot in list(self._slots):
            row = self._ledger.representatives[slot]
            verdict = self._judge(row, [other for other in self._slots if other < slot])
            if verdict.home is not None:
                self._slots.remove(slot)
                self._class[self._class == slot] = -1
                self._class[row] = verdict.home

    def _expel(self) -> None:
        """Remove members that differ from their representative, once second opinions confirm that."""
        rows = np.flatnonzero(self._class >= 0)
        theirs = np.array(self._ledger.representatives)[self._class[rows]]
        differs = self._ledger.differences(rows, theirs) >= self._ledger.epsilon
        for k in np.flatnonzero(differs.any(axis=1)).tolist():
            row, columns = int(rows[k]), np.flatnonzero(differs[k])
            if self._doubt(row, int(theirs[k]), columns):
                continue
            class_slot = int(self._class[row])
            # What told this member from the class may tell others from it, too.
            self._suspected |= {(class_slot, (int(column) - 1) // 2) for column in columns if column}
            self._class[row] = -1

    def _place(self) -> None:
        """Put schemes without a class into one, or make them one, once their experiments are measured."""
        for row in np.flatnonzero(self._class < 0).tolist():
            verdict = self._judge(row, self._slots)
            requested = self._ledger.requested[row, [slot for slot in self._slots if slot < self._horizon]]
            if verdict.home is not None:
                self._class[row] = verdict.home
            elif not verdict.open and requested.all():
                self._add_class(row)

    def _judge(self, row: int, slots: Sequence[int]) -> _Verdict:
        """Compare a scheme with the classes of its domain; request second opinions on few differences."""
        rows_by_slot = self._ledger.representatives
        slots = [slot for slot in slots if self._domains[rows_by_slot[slot]] == self._domains[row]]
        if not slots:
            return _Verdict(None, False)
        representatives = np.array(rows_by_slot)[slots]
        differences = self._ledger.differences(np.array([row]), representatives)
        compared = np.count_nonzero(~np.isnan(differences), axis=1)
        differs = differences >= self._ledger.epsilon
        contradictions = np.count_nonzero(differs, axis=1)
        is_known = compared >= max(MIN_COMPARISONS, self._evidence * self._ledger.count_requested(row))
        agreeing = np.flatnonzero(is_known & (contradictions == 0))
        if len(agreeing):
            nearest = np.argmin(np.nanmean(differences[agreeing], axis=1))
            return _Verdict(slots[int(agreeing[nearest])], False)
        few = is_known & (contradictions <= np.maximum(FEW, DOUBTED * compared))
        doubts = [
            self._doubt(row, int(representatives[k]), np.flatnonzero(differs[k]))
            for k in np.flatnonzero(few).tolist()
        ]
        return _Verdict(None, any(doubts))

    def _doubt(self, row: int, other: int, columns: Int64s) -> bool:
        """Request second opinions on these differences; whether any were not requested before."""
        cells = [(r, int(column)) for column in columns for r in (row, other)]
        open_ = [cell for cell in cells if not self._ledger.is_twice(*cell)]
        self._doubts += open_
        return bool(open_)

    def _result(self) -> CongruenceClasses:
        """The classes with the likeness of their members: comparisons, contradictions, largest difference."""
        schemes = self._ledger.schemes
        classes, likeness = [], {}
        for class_slot in self._slots:
            representative = self._ledger.representatives[class_slot]
            members = np.flatnonzero(self._class == class_slot)
            followers = members[members != representative]
            differences = self._ledger.differences(followers, np.full(len(followers), representative))
            for row, row_differences in zip(followers.tolist(), differences, strict=True):
                measured = row_differences[~np.isnan(row_differences)]
                different = int(np.count_nonzero(measured >= self._ledger.epsilon))
                likeness[schemes[row]] = Likeness(len(measured), different, float(measured.max()))
            classes.append((schemes[representative], *sorted(schemes[row] for row in followers)))
        return CongruenceClasses(tuple(sorted(classes)), likeness, self._second_opinions)
