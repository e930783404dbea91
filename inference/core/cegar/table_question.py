"""Another three-level mapping that measuring could tell from a given one, where all facts can be listed.

As in `fact_question`, the question falls into "slower somewhere" and "faster somewhere". Most facts that
would make a candidate slower than the first mapping are excluded by a single observation, whatever the
candidate; the solver is asked about the weakest of the few that are left. What it finds impossible stays so
whatever is measured later, and is stated for good.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from inference.core.cegar.encodings import Found
from inference.core.cegar.faster_question import FasterQuestion
from inference.core.cegar.formula import Literal
from inference.core.cegar.profiles import Fact, Profile, facts_of, implies, one_weaker, telling
from inference.core.cegar.shape import Candidate
from inference.core.cegar.tabulated import Tabulated
from inference.core.experiment import Experiment


class TableQuestion:
    """Asks for a second mapping; what was learnt for one first mapping is kept for the next."""

    def __init__(self, encoding: Tabulated, pulse: Callable[[], None]) -> None:
        self._encoding = encoding
        self._shape = encoding.formula.shape
        self._pulse = pulse
        self._faster = FasterQuestion(encoding, _Missing(encoding), pulse)
        self._possible = _Possible(encoding)
        self._first: Candidate | None = None
        self._profile = Profile(self._shape, ())

    def other(self, first: Candidate) -> Found | None:
        """A matrix that explains all observations and can be told from the first, or None: there is none."""
        if first != self._first:
            self._first = first
            self._profile = Profile(self._shape, facts_of(self._shape, first))
            self._possible.all_harm()
        return self._slower() or self._faster.other(self._profile)

    def _slower(self) -> Found | None:
        while facts := self._possible.harmful(self._profile, self._pulse):
            candidate = self._encoding.find(self._encoding.any_of(facts))
            if candidate is not None:
                return candidate, self._where(facts, candidate)
            for fact in facts:
                self._encoding.forbid(fact)
        return None

    def _where(self, facts: Sequence[Fact], candidate: Candidate) -> Experiment | None:
        """An experiment that one of these facts, which the candidate has, makes slower."""
        held = facts_of(self._shape, candidate)
        for fact in facts:
            if any(implies(each, fact) for each in held):
                shares = self._profile.slower(fact)
                if shares is not None:
                    experiment = telling(self._shape, self._profile.facts, held, shares)
                    if experiment is not None:
                        return experiment
        return None


class _Possible:
    """Facts that no observation excludes, and which of them may matter."""

    def __init__(self, encoding: Tabulated) -> None:
        self._encoding = encoding
        shape = encoding.formula.shape
        counts = list(itertools.product(*(range(n + 1) for n in shape.counts)))[1:]
        self._widths = np.repeat(np.arange(1, shape.ports + 1), len(counts))
        self._counts = np.tile(np.array(counts), (shape.ports, 1))
        self._possible = np.ones(len(self._widths), dtype=bool)
        self._open = self._possible.copy()
        self._seen = 0

    def all_harm(self) -> None:
        """Forget which facts were found harmless."""
        self._open = self._possible.copy()

    def harmful(self, profile: Profile, pulse: Callable[[], None]) -> list[Fact]:
        """Some of the weakest facts that would make a candidate slower than this; empty: there is none."""
        self._update()
        at = np.flatnonzero(self._open)
        at = at[profile.slower_somewhere(self._widths[at], self._counts[at])]
        if at.size:
            return self._weakest(at)
        # Linear programs: of the strongest facts first, as what is weaker than a harmless one is harmless.
        while self._open.any():
            pulse()
            strongest = self._strongest()
            if profile.slower(strongest) is None:
                self._open &= ~self._weaker(strongest)
            else:
                return [self._lowered(strongest, profile)]
        return []

    def _update(self) -> None:
        for fact in self._encoding.excluded[self._seen :]:
            stronger = (self._widths <= fact[0]) & (self._counts >= fact[1]).all(axis=1)
            self._possible &= ~stronger
        self._open &= self._possible
        self._seen = len(self._encoding.excluded)

    def _weaker(self, fact: Fact) -> npt.NDArray[np.bool_]:
        return (self._widths >= fact[0]) & (self._counts <= fact[1]).all(axis=1)

    def _strongest(self) -> Fact:
        """A fact that may matter and that no other such fact implies."""
        widths, counts = self._widths, self._counts
        at = np.flatnonzero(self._open)
        while True:
            best = at[np.argmax(counts[at].sum(axis=1) / widths[at])]
            at = at[(at != best) & (widths[at] <= widths[best]) & (counts[at] >= counts[best]).all(axis=1)]
            if not at.size:
                return self._fact(best)

    def _lowered(self, fact: Fact, profile: Profile) -> Fact:
        """The fact with as many ports and as few µops as still do harm."""
        lowered: Fact | None = fact
        while lowered is not None:
            fact = lowered
            weaker = one_weaker(self._encoding.formula.shape.ports, fact)
            lowered = next((each for each in weaker if profile.slower(each) is not None), None)
        return fact

    def _weakest(self, at: npt.NDArray[np.intp]) -> list[Fact]:
        """Those of the facts that imply no other one of them."""
        facts = [self._fact(k) for k in at]
        facts.sort(key=lambda fact: (-fact[0], sum(fact[1])))
        weakest: list[Fact] = []
        for fact in facts:
            if not any(implies(fact, known) for known in weakest):
                weakest.append(fact)
        return weakest

    def _fact(self, k: int) -> Fact:
        return int(self._widths[k]), tuple(int(n) for n in self._counts[k])


class _Missing:
    """Facts that the candidate lacks; the table leaves nothing to be overlooked."""

    def __init__(self, encoding: Tabulated) -> None:
        self._encoding = encoding

    def literal(self, fact: Fact) -> Literal:
        return self._encoding.lacks(fact)

    def refine(self, candidate: Candidate) -> bool:
        return False
