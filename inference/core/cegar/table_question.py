"""The search for a second three-level mapping where all facts can be listed.

As in `fact_question`, the question falls into "slower somewhere" and "faster somewhere". A single observation
excludes most facts that would make a candidate slower than the first mapping, whatever the candidate. The
solver is asked about the weakest of the others. Facts that it finds impossible stay so with more
observations, and are excluded permanently.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from inference.core.cegar.encodings import SecondCandidate
from inference.core.cegar.fact_table import FactTable
from inference.core.cegar.faster_question import FasterQuestion
from inference.core.cegar.formula import Literal
from inference.core.cegar.profiles import Fact, Profile, deciding_experiment, facts_of, implies, weaker_facts
from inference.core.cegar.shape import Candidate
from inference.core.experiment import Experiment


class TableQuestion:
    """Finds a second mapping; impossible facts are kept from one first mapping to the next."""

    def __init__(self, encoding: FactTable, pulse: Callable[[], None]) -> None:
        self._encoding = encoding
        self._shape = encoding.formula.shape
        self._pulse = pulse
        self._faster = FasterQuestion(encoding, _Missing(encoding), pulse)
        self._possible = _Possible(encoding)
        self._first: Candidate | None = None
        self._profile = Profile(self._shape, ())

    def find_second(self, first: Candidate) -> SecondCandidate | None:
        """A matrix that explains all observations and can be distinguished from the first; None for none."""
        if first != self._first:
            self._first = first
            self._profile = Profile(self._shape, facts_of(self._shape, first))
            self._possible.all_harm()
        return self._slower() or self._faster.find_second(self._profile)

    def _slower(self) -> SecondCandidate | None:
        while facts := self._possible.harmful(self._profile, self._pulse):
            candidate = self._encoding.find(self._encoding.any_of(facts))
            if candidate is not None:
                return candidate, self._where(facts, candidate)
            for fact in facts:
                self._encoding.forbid(fact)
        return None

    def _where(self, facts: Sequence[Fact], candidate: Candidate) -> Experiment | None:
        """An experiment that the candidate's fact among these makes slower; None for none."""
        candidate_facts = facts_of(self._shape, candidate)
        for fact in facts:
            if any(implies(stronger, fact) for stronger in candidate_facts):
                shares = self._profile.slower(fact)
                if shares is not None:
                    experiment = deciding_experiment(
                        self._shape, self._profile.facts, candidate_facts, shares
                    )
                    if experiment is not None:
                        return experiment
        return None


class _Possible:
    """Facts that no observation excludes, and which of them may make a candidate slower."""

    def __init__(self, encoding: FactTable) -> None:
        self._encoding = encoding
        shape = encoding.formula.shape
        counts = list(itertools.product(*(range(n + 1) for n in shape.counts)))[1:]  # without "no µop"
        self._widths = np.repeat(np.arange(1, shape.ports + 1), len(counts))
        self._counts = np.tile(np.array(counts), (shape.ports, 1))
        self._possible = np.ones(len(self._widths), dtype=bool)
        self._open = self._possible.copy()  # possible and, as far as was tested, harmful
        self._n_excluded = 0  # of the encoding's excluded facts, those taken into account

    def all_harm(self) -> None:
        """Forget which facts are harmless: another first mapping follows."""
        self._open = self._possible.copy()

    def harmful(self, profile: Profile, pulse: Callable[[], None]) -> list[Fact]:
        """Some of the weakest facts that would make a candidate slower than the profile; empty for none."""
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
                return [self._weaken(strongest, profile)]
        return []

    def _update(self) -> None:
        """Close the facts that imply one excluded since the last call."""
        for fact in self._encoding.excluded[self._n_excluded :]:
            stronger = (self._widths <= fact[0]) & (self._counts >= fact[1]).all(axis=1)
            self._possible &= ~stronger
        self._open &= self._possible
        self._n_excluded = len(self._encoding.excluded)

    def _weaker(self, fact: Fact) -> npt.NDArray[np.bool_]:
        """bool[facts]: those that the fact implies, itself included."""
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

    def _weaken(self, fact: Fact, profile: Profile) -> Fact:
        """The fact with more ports and fewer µops, as far as it stays harmful."""
        lowered: Fact | None = fact
        while lowered is not None:
            fact = lowered
            weaker = weaker_facts(self._encoding.formula.shape.ports, fact)
            lowered = next((w for w in weaker if profile.slower(w) is not None), None)
        return fact

    def _weakest(self, at: npt.NDArray[np.intp]) -> list[Fact]:
        """The facts that imply no other fact."""
        facts = [self._fact(k) for k in at]
        facts.sort(key=lambda fact: (-fact[0], sum(fact[1])))
        weakest: list[Fact] = []
        for fact in facts:
            if not any(implies(fact, weaker) for weaker in weakest):
                weakest.append(fact)
        return weakest

    def _fact(self, k: int) -> Fact:
        return int(self._widths[k]), tuple(int(n) for n in self._counts[k])


class _Missing:
    """Facts that the candidate shall lack; the table states them completely."""

    def __init__(self, encoding: FactTable) -> None:
        self._encoding = encoding

    def literal(self, fact: Fact) -> Literal:
        return self._encoding.lacks(fact)

    def refine(self, candidate: Candidate) -> bool:
        return False
